# make run: the dashboard on port 8501.   make test: every test.   Both install what they need, once.
PYTHON ?= python3
PORT ?= 8501
VENV := .venv
BIN := $(VENV)/bin

.PHONY: run test lint audit licences bench-install screenshots clean

run: $(VENV)/.run
	$(BIN)/streamlit run app.py --server.port $(PORT)

test: $(VENV)/.dev $(VENV)/.bench $(VENV)/.chromium $(VENV)/.nginx
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/python -m pytest

lint: $(VENV)/.dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# Known vulnerabilities of the run-time packages; says which of them no service could be asked about.
audit: $(VENV)/.dev
	$(BIN)/python -m tests.audit

# Writes docs/licences.md; needed after a change of requirements.txt.
licences: $(VENV)/.dev
	$(BIN)/python -m tests.licences

# The harness without the dashboard: python -m bsmath.bench. It needs PyTorch, which `make run` never installs.
bench-install: $(VENV)/.bench

screenshots: $(VENV)/.dev $(VENV)/.chromium
	$(BIN)/python -m tests.browser.screenshots

$(VENV)/.made:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed, this is " + sys.version.split()[0])'
	$(PYTHON) -m venv $(VENV)
	touch $@

$(VENV)/.run: $(VENV)/.made requirements.txt $(wildcard chart_component/*.* chart_component/bsmath_chart/*.* chart_component/bsmath_chart/frontend/*)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.txt
	touch $@

$(VENV)/.dev: $(VENV)/.run requirements-dev.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements-dev.txt
	touch $@

$(VENV)/.bench: $(VENV)/.made requirements-bench.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements-bench.txt
	touch $@

# A Chromium on the machine if there is one, Debian's where we may install it, else Playwright's own.
$(VENV)/.chromium: $(VENV)/.dev
	command -v chromium chromium-browser google-chrome >/dev/null \
	|| { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && apt-get update -qq && apt-get install -y -qq chromium >/dev/null; } \
	|| $(BIN)/python -m playwright install chromium
	touch $@

# An nginx on the machine if there is one, Debian's where we may install it (RUNLEVEL=1: without starting it).
# Without nginx the tests of hosting say that they are skipped.
$(VENV)/.nginx: $(VENV)/.dev
	{ command -v nginx >/dev/null || [ -x /usr/sbin/nginx ] \
	|| { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && apt-get update -qq \
	  && RUNLEVEL=1 apt-get install -y -qq --no-install-recommends nginx-light >/dev/null; }; } \
	&& touch $@ || echo "nginx could not be installed: tests/deploy/test_replicas.py will be skipped"

clean:
	rm -rf $(VENV)
