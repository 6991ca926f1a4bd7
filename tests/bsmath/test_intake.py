"""Files as they are dropped: what each is, several together, archives, what is refused, stopping."""

import io
import json
import zipfile
from pathlib import Path

import numpy as np
import pytest

from bsmath import intake
from bsmath.sweeps import SweepError

ROOT = Path(__file__).parents[2]
SWEEP = b"batch_tokens,step_time_s\n1024,1\n2048,1.5\n4096,2.6\n"


def log(size: int) -> bytes:
    rows = ({"step": step, "val_loss": 9 / step**0.3, "step_time_s": 0.5} for step in range(1, 30))
    return "\n".join(map(json.dumps, rows)).encode()


def zipped(**files: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return out.getvalue()


def test_the_logs_of_several_runs_are_one_set_of_runs_and_sweeps_stay_by_themselves():
    found = intake.read([("b64.jsonl", log(64)), ("b128.jsonl", log(128)), ("a.csv", SWEEP), ("b.csv", SWEEP)])
    assert found.runs.runs["batch"].tolist() == [64, 128]
    assert [one.name for one in found.sweeps] == ["a.csv", "b.csv"] and not found.refused


def test_a_zip_of_logs_is_read_like_the_logs():
    found = intake.read([("runs.zip", zipped(**{"runs/b64.jsonl": log(64), "runs/b128.jsonl": log(128)}))])
    assert sorted(found.runs.runs["batch"]) == [64, 128]


def test_a_bad_file_among_good_ones_is_one_sentence_that_names_it():
    found = intake.read([("a.csv", SWEEP), ("picture.csv", b"\x89PNG\r\n\x1a\n"), ("empty.csv", b"")])
    assert len(found.sweeps) == 1 and len(found.refused) == 2
    assert "picture.csv" in found.refused[0] and "empty.csv" in found.refused[1]


def test_files_of_one_batch_each_are_one_sweep_and_can_be_read_again_with_an_answer():
    files = [(f"{size}.csv", f"batch_size,step_time_s\n{size},{0.5 + size / 64}\n".encode()) for size in (16, 32, 64)]
    found = intake.read(files)
    assert len(found.sweeps) == 1 and found.sweeps[0].sweep.batch_unit == "sequences"
    again = intake.read_again(found.sweeps[0].files, {"seq_len": 128, "batch_unit": "sequences"})
    assert again.table["tokens_per_step"].tolist() == [128 * size for size in (16, 32, 64)]


def test_one_file_alone_raises_its_sentence():
    with pytest.raises(SweepError, match="nothing.csv must"):
        intake.read_file(b"no table here", "nothing.csv")


class Stopped(Exception):
    pass


def test_progress_grows_to_one_and_may_stop_the_reading():
    rows = np.arange(400_000)
    data = b"batch_tokens,step_time_s\n" + b"\n".join(
        b"%d,%d.5" % (1024 << (row % 4), row % 7 + 1) for row in rows.tolist()
    )
    seen = []
    intake.read([("large.csv", data), ("a.csv", SWEEP)], seen.append)
    assert seen and seen == sorted(seen) and 0 <= seen[0] and seen[-1] <= 1

    def stop(share):
        raise Stopped

    with pytest.raises(Stopped):
        intake.read([("large.csv", data)], stop)


@pytest.mark.parametrize(
    "path",
    sorted(
        path
        for path in (ROOT / "data").rglob("*.*")
        if path.parent.name in ("samples", "logs", "measured", "published") and path.suffix != ".md"
    ),
    ids=lambda path: path.name,
)
def test_every_file_that_ships_is_read(path):
    assert intake.read_file(path.read_bytes(), path.name)
