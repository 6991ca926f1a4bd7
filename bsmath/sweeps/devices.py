"""Devices and data-parallel replicas of each row: from a column, an answer, or the words of a header or of the hardware."""

import re

import numpy as np
import pandas as pd

from bsmath.sweeps.draft import Draft

RATE_ENDS = ("per_second", "per_second_per_device", "step_time")
"""Ends of the meanings of columns that give a rate."""

_IN_HEADER = re.compile(r"(?i)\b([1-9]\d{0,5})\s*(?:gpu|device|accelerator|chip|tpu)s?\b")
_IN_CELL = re.compile(r"\s*([1-9]\d{0,5})\s*[x×]\s*[A-Za-z]")


def devices(draft: Draft) -> np.ndarray | None:
    """Devices of the job in each row, where the file or an answer says."""
    if headers := draft.headers("num_devices"):
        return draft.used(headers[0], "value ignored", "devices of the job")
    if headers := draft.headers("placement"):
        draft.notes[headers[0]] = "devices of the job: the sum of the digits"
        return _digit_sum(draft.raw.frame[headers[0]])
    if headers := draft.headers("data_parallel_size"):
        return draft.used(headers[0], "value ignored", "replicas") * _model_parallel(draft)
    if "num_devices" in draft.answers:
        return np.full(len(draft.raw.rows), float(draft.answers["num_devices"]))
    return _named_devices(draft)


def _named_devices(draft: Draft) -> np.ndarray | None:
    """Devices that stand in the header of the rate, "tokens/s on 128 GPUs", or in every cell of the hardware, "8 x A100"."""
    rates = [header for header, found in draft.found.items() if (found.meaning or "").endswith(RATE_ENDS)]
    for header in [draft.answers["throughput_column"]] if "throughput_column" in draft.answers else rates[:1]:
        if named := _IN_HEADER.search(header):
            return np.full(len(draft.raw.rows), float(named[1]))
    for header in draft.headers("hardware"):
        codes, different = pd.factorize(draft.raw.frame[header].astype(object).fillna("").astype(str))
        found = [_IN_CELL.match(text) for text in different]
        if found and all(found):
            draft.notes.setdefault(header, "the devices of the job stand before their name")
            return np.array([float(each[1]) for each in found])[codes]
    return None


def replicas(draft: Draft) -> np.ndarray | None:
    """Data-parallel replicas in each row; a device is one replica where no column says more."""
    if headers := draft.headers("data_parallel_size"):
        return draft.used(headers[0], "row left out", "replicas")
    found = devices(draft)
    return None if found is None else found / _model_parallel(draft)


def _model_parallel(draft: Draft) -> np.ndarray:
    product = np.ones(len(draft.raw.rows))
    for header in draft.headers("model_parallel_size"):
        product = product * np.nan_to_num(draft.used(header, "taken as 1", "devices per replica"), nan=1.0)
    return product


def _digit_sum(column: pd.Series) -> np.ndarray:
    """Pollux writes the devices on each node as one digit each: 44 is eight devices on two nodes."""
    codes, different = pd.factorize(column.astype(str))
    sums = [sum(map(int, text)) if text.isascii() and text.isdigit() else np.nan for text in different]
    found = np.array([*sums, np.nan], float)[codes]
    return np.where(found > 0, found, np.nan)
