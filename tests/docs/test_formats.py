"""docs/formats.md says what Upload refuses, in which words, and where its limits are."""

import gzip
import io
import pickle
import re
import zipfile
from pathlib import Path

import pytest

from bsmath import archives, intake, scenario_file, shared, shared_checks, shared_text
from bsmath.sweeps import json_table, json_text, layout, parquet, text
from bsmath.trainers import records

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "formats.md").read_text(encoding="utf-8")


def rows(heading: str) -> list[list[str]]:
    """Cells of the first table below a heading, without its header."""
    part = PAGE.split(f"## {heading}\n", 1)[1]
    table = re.search(r"(?:^\|.*\n)+", part, re.MULTILINE).group()
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in table.splitlines()[2:]]


def zipped(files: dict[str, bytes | str]) -> bytes:
    memory = io.BytesIO()
    with zipfile.ZipFile(memory, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return memory.getvalue()


ROW = b"batch_tokens,tokens_per_s\n1024,5\n"
REFUSED = {
    "empty": b"",
    "an image, a PDF, a program": b"\x89PNG\r\n\x1a\n" + bytes(64),
    "a pickle": pickle.dumps({"a": 1}),
    "a PyTorch file": zipped({"archive/data.pkl": b"\x80\x02}q\x00.", "archive/version": b"3"}),
    "an `.npz`": zipped({"a.npy": b"\x93NUMPY\x01\x00v\x00{}"}),
    "a workbook": zipped({"[Content_Types].xml": "<x/>", "xl/workbook.xml": "<x/>"}),
    "other binary data": b"\x01\x00\x02\x00\xff\xfe\x00" * 20,
    "numbers alone": b"1,2\n3,4\n5,6\n",
    "a header alone": b"batch_tokens,tokens_per_s\n",
    "no batch": b"run,tokens_per_s\na,5\nb,6\n",
    "no result": b"batch_tokens,note\n1024,a\n2048,b\n",
    "no positive batch": b"batch_tokens,tokens_per_s\n-1,5\n-2,6\n",
    "no positive result": b"batch_tokens,tokens_per_s\n1024,-1\n2048,-1\n",
    "JSON that was cut": b'[{"batch_tokens": 1024 "tokens_per_s": 5}]',
    "gradient norms without their batches": b"step,grad_norm_small,grad_norm_big\n1,0.5,0.4\n2,0.5,0.4\n",
    "a zip of too many files": zipped({f"{index}.csv": ROW for index in range(201)}),
    "a zip that unpacks to far more": zipped({"a.csv": b"0" * 2_000_000}),
    "an archive in an archive": gzip.compress(zipped({"b.csv": ROW})),
    "a damaged archive": b"PK\x03\x04" + b"abc" * 30,
    "a damaged Parquet file": b"PAR1" + b"abc" * 30,
    "a later scenario file": b'{"format": "batch-size scenario", "version": 9}',
}


def test_every_refusal_of_the_page_is_tried():
    assert [kind for kind, _ in rows("What is refused")] == list(REFUSED)


@pytest.mark.parametrize(("kind", "sentence"), rows("What is refused"))
def test_the_page_has_the_sentence_that_a_file_is_refused_with(kind, sentence):
    found = intake.read([("runs.csv", REFUSED[kind])])
    # How much zlib saves differs between its versions.
    told, said = (re.sub(r"[\d,]+ bytes", "- bytes", each) for each in (sentence.replace("\\`", "`"), *found.refused))
    assert said == told
    assert not (found.sweeps or found.runs or found.logs or found.saved)


def test_limits_are_those_of_the_code():
    limits = {row[0]: row[1] for row in rows("Limits")}
    files, whole = archives.MAX_FILES, archives.MAX_BYTES / 1e6
    assert limits == {
        "one file": f"{text.MAX_BYTES / 1e6:.0f} MB",
        "an archive": f"{files} files, {whole:.0f} MB in all, {archives.MAX_RATIO} times its size (above 1 MB)",
        "one log": f"{records.MOST_ROWS:,} steps",
        "columns of a table": f"{layout.MOST_COLUMNS:,}",
        "a Parquet file": f"{parquet.MOST_COLUMNS:,} columns, {parquet.MOST_CELLS:,} cells",
        "a JSON document": f"{json_text.MOST_CONTAINERS:,} objects and lists, {json_table.MOST_CELLS:,} cells",
        "a scenario file": f"{scenario_file.MAX_BYTES / 1e6:.0f} MB, {scenario_file.MOST_SWEEPS} sweeps",
        "data in a link": f"{shared.MAX_TEXT:,} characters, {shared_text.MAX_UNPACKED:,} bytes unpacked, "
        f"{shared_checks.MOST_SWEEPS} sweeps",
    }


def test_files_named_beside_a_limit_exist():
    named = [name for row in rows("Limits") for name in re.findall(r"`([^`]+)`", row[2])]
    assert named and all(list((ROOT / "bsmath").rglob(Path(name).name)) for name in named)
