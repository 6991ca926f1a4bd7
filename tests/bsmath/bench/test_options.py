"""What the harness refuses before PyTorch loads, and what a machine must have installed for it."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
WITHOUT = "import sys; sys.modules[{!r}] = None; from bsmath.bench.__main__ import main; main(sys.argv[1:])"
WITHOUT_TORCH = WITHOUT.format("torch")


def python(code: str, *arguments: str) -> subprocess.CompletedProcess:
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize(
    "arguments, message",
    [
        ((), "the following arguments are required: throughput|convergence|noise|branch|router"),
        (
            ("loss",),
            "argument throughput|convergence|noise|branch|router: invalid choice: 'loss' (choose from 'throughput', "
            "'convergence', 'noise', 'branch', 'router')",
        ),
        (("throughput", "--steps", "ten"), "argument --steps: must be a whole number, got 'ten'"),
        (
            ("throughput", "--global-batch-sizes", "1,,2"),
            "argument --global-batch-sizes: must be a whole number, got ''",
        ),
        (("convergence", "--learning-rates", "1e-3,x"), "argument --learning-rates: must be a number, got 'x'"),
        (("throughput", "--batch", "8"), "unrecognized arguments: --batch 8"),
        (("throughput", "--micro-batch-size", "8"), "unrecognized arguments: --micro-batch-size 8"),
        (("throughput", "--seq-len", "0"), "seq_len must be a whole number from 1 to 1.04858e+06, got 0"),
        (
            ("convergence", "--global-batch-sizes", "8,12", "--micro-batch-size", "8"),
            "global_batch_size must be a multiple of micro_batch_size (8), got 12",
        ),
    ],
)
def test_a_wrong_argument_is_refused_in_one_line_before_pytorch_loads(arguments, message):
    done = python(WITHOUT_TORCH, *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.splitlines() == [done.stderr.strip()] and done.stderr.strip().endswith(f": {message}")


@pytest.mark.parametrize("module, name", [("torch", "PyTorch"), ("numpy", "numpy")])
def test_without_what_it_needs_one_sentence_says_how_to_install_it(module, name):
    done = python(WITHOUT.format(module), "throughput")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.strip().endswith(
        f": the harness needs {name}: make bench-install, then .venv/bin/python -m bsmath.bench; or pip install -r requirements-bench.txt"
    )
    assert len(done.stderr.splitlines()) == 1


def test_no_module_outside_the_harness_loads_pytorch():
    """Nor do those of the harness that read arguments, write files and time a loop."""
    outside = [
        path for path in (ROOT / "bsmath").rglob("*.py") if "bench" not in path.parts and path.stem != "__init__"
    ]
    names = [".".join(path.relative_to(ROOT).with_suffix("").parts) for path in outside]
    names += [f"bsmath.bench.{name}" for name in "__main__ options settings record corpus device peak timing".split()]
    code = f"import importlib, sys; [importlib.import_module(n) for n in {names}]; sys.exit('torch' in sys.modules)"
    done = python(code)
    assert len(names) > 40 and (done.returncode, done.stderr) == (0, "")


def test_the_harness_installs_what_it_needs_in_the_versions_of_the_dashboard():
    def pins(name: str) -> dict[str, str]:
        lines = [line.partition("#")[0].strip() for line in (ROOT / name).read_text().splitlines()]
        return dict(line.split("==") for line in lines if "==" in line)

    harness, dashboard = pins("requirements-bench.txt"), pins("requirements.txt")
    assert set(harness) == {"numpy", "scipy", "pandas", "torch"}
    assert {name: harness[name] for name in harness if name != "torch"}.items() <= dashboard.items()
    assert "torch" not in dashboard


@pytest.mark.parametrize("target, installs", [("test", True), ("bench-install", True), ("run", False)])
def test_the_tests_run_the_harness_and_the_dashboard_never_installs_it(tmp_path, target, installs):
    """What make would do in a folder that has no virtual environment yet."""
    if not shutil.which("make"):
        pytest.skip("needs make")
    done = subprocess.run(
        ["make", "--dry-run", f"VENV={tmp_path / 'venv'}", target], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert ("-r requirements-bench.txt" in done.stdout) == installs


def test_help_names_units_and_defaults():
    shown = python(WITHOUT_TORCH, "throughput", "--help").stdout
    assert "[sequences]" in shown and "[tokens]" in shown and "1,2,4,8,16,32,64,128,256" in shown
