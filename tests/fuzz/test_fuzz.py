"""Twenty thousand damaged and hostile files, each of which ends in a table or in one sentence, in time and in little memory.

The seeds are those of `python -m tests.fuzz SEED`, which replays one case. Two processes share them out.
"""

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bsmath import intake
from bsmath.sweeps import SweepError

ROOT = Path(__file__).parents[2]
CASES, CHUNKS, PROCESSES = 20_000, 4, 2


def started(first: int, end: int) -> subprocess.Popen:
    command = [sys.executable, "-W", "ignore", "-m", "tests.fuzz", str(first), str(end), str(PROCESSES)]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_every_case_ends_in_a_table_or_one_sentence_in_time_and_in_little_memory(chunk):
    size = CASES // CHUNKS
    running = [started(chunk * size + place, (chunk + 1) * size) for place in range(PROCESSES)]
    bad = []
    for one in running:
        told, errors = one.communicate()
        lines = told.splitlines()
        bad += [line for line in lines if "\t" in line]
        if not lines or lines[-1] != "end":
            bad.append(f"ended after seed {lines[-1] if lines else 'none'}: {errors[-2000:]}")
    assert not bad, "\n".join(bad)


def read(data: bytes, name: str) -> None:
    try:
        assert intake.read_file(data, name)
    except SweepError as error:
        assert str(error) and len(str(error)) < 1000


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.binary(max_size=2000), st.text(max_size=30))
def test_any_bytes_under_any_name_are_read_or_refused(data, name):
    read(data, name)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.text(max_size=2000))
def test_any_text_is_read_or_refused(text):
    read(text.encode(errors="surrogatepass"), "text.csv")


CELLS = st.sampled_from(
    ["1", "2.5", "nan", "-1", "1e400", "", "OOM", "1,024", "64k", "x", "=1+1", "0", "true", "1:02", "3ms", "é"]
)
HEADERS = st.sampled_from(
    [
        "batch_tokens",
        "batch_size",
        "step",
        "loss",
        "val_loss",
        "lr",
        "tok/s",
        "step_time_ms",
        "seq_len",
        "n_gpus",
        "run",
        "seed",
        "steps_to_target",
        "group",
        "gns",
        "expert",
        "count",
    ]
)


@settings(max_examples=500, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_any_table_of_known_headers_is_read_or_refused(data):
    headers = data.draw(st.lists(HEADERS, min_size=1, max_size=7))
    rows = data.draw(st.lists(st.lists(CELLS, min_size=len(headers), max_size=len(headers)), max_size=12))
    separator = data.draw(st.sampled_from([",", ";", "\t", " | "]))
    read("\n".join(separator.join(row) for row in [headers, *rows]).encode(), "table.csv")
