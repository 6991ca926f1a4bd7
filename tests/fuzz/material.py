"""The files that are changed: every sample, measured and published file, the template, and small containers made of them."""

import gzip
import io
import json
import zipfile
from pathlib import Path

import pandas as pd

from bsmath import sweeps

DATA = Path(__file__).parents[2] / "data"
LARGEST = 12_000
"""Longer files are cut at a line, so that 20,000 cases take minutes. [bytes]"""


def files() -> list[tuple[str, bytes]]:
    """Name and bytes of each, in an order that does not change."""
    paths = sorted(path for part in ("samples", "measured", "published") for path in (DATA / part).rglob("*.*"))
    found = [(path.name, _cut(path.read_bytes())) for path in paths]
    return [*found, ("template.csv", sweeps.TEMPLATE.encode()), *_made(dict(found))]


def zipped(content: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """A zip of these files, the same bytes each time."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        for name, data in content.items():
            archive.writestr(zipfile.ZipInfo(name), data, compress_type=method)
    return out.getvalue()


def _made(found: dict[str, bytes]) -> list[tuple[str, bytes]]:
    table = found["throughput.csv"]
    rows = {
        "batch_tokens": [1024, 2048, 4096],
        "step_time_s": [1.0, None, 2.6],
        "run": ["a", "b", None],
        "lr": [1e-3, 2e-3, 4e-3],
    }
    parquet, nested = io.BytesIO(), io.BytesIO()
    pd.DataFrame(rows).to_parquet(parquet)
    pd.DataFrame({"config": [{"batch_tokens": 1024, "lr": 0.1}] * 3, "step_time_s": [1, 2, 3]}).to_parquet(nested)
    saved = {"format": "batch-size scenario", "version": 1, "scenario": {"seq_len": 2048}, "view": {}, "sweeps": []}
    return [
        ("all.zip", zipped({"throughput.csv": table, "b/steps.csv": found["steps_to_target.csv"], "b/table.md": found["table.md"]})),
        ("stored.zip", zipped({"a/metrics.csv": table, "b/metrics.csv": table}, zipfile.ZIP_STORED)),
        ("throughput.csv.gz", gzip.compress(table, mtime=0)),
        ("small.parquet", parquet.getvalue()),
        ("nested.parquet", nested.getvalue()),
        ("scenario.json", json.dumps(saved, indent=1).encode()),
        ("columns.json", json.dumps({name: values for name, values in rows.items()}).encode()),
    ]  # fmt: skip


def _cut(data: bytes) -> bytes:
    return data if len(data) <= LARGEST else data[: data.rfind(b"\n", 0, LARGEST) + 1]
