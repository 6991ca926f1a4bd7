"""The code of docs/api.ipynb runs, cell after cell, and needs nothing of the dashboard."""

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
NOTEBOOK = json.loads((ROOT / "docs" / "api.ipynb").read_text(encoding="utf-8"))
CODE = ["".join(cell["source"]) for cell in NOTEBOOK["cells"] if cell["cell_type"] == "code"]


def test_every_cell_runs_and_prints_without_the_dashboard():
    check = "import sys\nassert not {'streamlit', 'plotly'} & set(sys.modules)\n"
    separated = "\nprint('=' * 9)\n".join([*CODE, check])
    done = subprocess.run([sys.executable, "-c", separated], cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    printed = done.stdout.split("=" * 9 + "\n")
    assert len(printed) == len(CODE) + 1 and all(part.strip() for part in printed[:-1])
    assert "nan" not in done.stdout


def test_the_first_cell_is_a_run_in_ten_lines():
    assert len([line for line in CODE[0].splitlines() if line.strip()]) <= 10


def test_no_output_is_stored():
    assert not any(cell.get("outputs") for cell in NOTEBOOK["cells"])
