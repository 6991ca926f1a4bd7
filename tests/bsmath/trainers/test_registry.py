"""The registry: each sample is known by its lines to one reader alone, whatever its name, and has a row in the table of samples."""

import math
import re
from pathlib import Path

import pytest

from bsmath import trainers
from bsmath.logs import read
from bsmath.trainers import generic

ROOT = Path(__file__).parents[3]
SAMPLES = ROOT / "data" / "samples" / "logs"
LOGS = sorted(path for path in SAMPLES.glob("*.*") if path.suffix not in (".csv", ".md"))
OTHERS = sorted(
    path
    for folder in ("samples", "measured", "published")
    for path in (ROOT / "data" / folder).rglob("*.*")
    if path not in LOGS and path.suffix != ".md"
)


@pytest.mark.parametrize("path", LOGS, ids=lambda path: path.name)
def test_a_sample_is_recognized_by_one_reader_alone_and_read_under_any_name(path):
    sample = trainers.sample(path.read_bytes())
    known = [name for name, reader in trainers.READERS.items() if reader is not generic and reader.recognizes(sample)]
    assert len(known) == (path.name != "generic.log")
    found = read(path.read_bytes(), "x")
    assert found.kind == "curves" and len(found.record.runs)
    assert "synthetic" in path.read_text()[:2000].lower() or "synthetic" in path.name


@pytest.mark.parametrize("path", OTHERS, ids=lambda path: path.name)
def test_tables_and_other_files_are_no_log_of_a_trainer(path):
    assert trainers.find(path.read_bytes())[0] is None


@pytest.mark.parametrize("path", sorted(SAMPLES.glob("*.*")), ids=lambda path: path.name)
def test_every_sample_is_named_in_the_table(path):
    assert path.name == "README.md" or f"| {path.name} |" in (SAMPLES / "README.md").read_text()


@pytest.mark.parametrize("path", sorted((ROOT / "bsmath").rglob("*.py")), ids=lambda path: path.name)
def test_no_source_is_taken_for_a_log(path):
    if '"""' in (text := path.read_text()):
        text = text[text.index('"""', text.index('"""') + 3) :]  # what a module says of its format may quote it
    assert trainers.find(text.encode())[0] is None


def test_the_reader_that_the_readme_shows_works():
    code = re.search(r"```python\n(# bsmath/trainers/mytrainer.py.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)[
        1
    ]
    module: dict = {}
    exec(code, module)
    text = "mytrainer 1 loss=3.2 ms=100\nmytrainer 2 loss=nan ms=90\n"
    assert module["recognizes"](text)
    assert module["read"](text, "run.log").frame.to_numpy().tolist() == [[1, 3.2, 0.1], [2, math.inf, 0.09]]
