"""Batches and rates that no training run has: a unit, a separator of thousands or a scope was most likely misread."""

import numpy as np

from bsmath.sweeps import cells

SLOWEST, FASTEST = 1.0, 1e8
"""Rates of one device beyond which a unit was misread: no training step is so slow, and 6 FLOPs per parameter at 1e8 tokens per second
are more than a device's peak for all but toy models. Conventions. [tokens/s]"""
FRACTION = 1e-6
"""Distance from a whole number from which a batch is a fraction of a token. [tokens]"""


def doubts(batch: np.ndarray, rate: np.ndarray, devices: np.ndarray | float) -> list[tuple[str, str]]:
    """What is wrong and what follows, in words; empty where everything may be. Of many rows some are looked at.

    Parameters
    ----------
    batch : ndarray
        Batches. [tokens]
    rate : ndarray
        Rates of the whole job; nan where there is none. [tokens/s]
    devices : ndarray or float
        Devices of the job, nan where not known.
    """
    said = []
    sizes = cells.spread(batch)
    sizes = sizes[np.isfinite(sizes)]
    if (part := np.abs(sizes - np.round(sizes)) > FRACTION * np.maximum(sizes, 1)).any():
        what = f"a batch of {sizes[part][0]:g} tokens is no whole number"
        said.append((what, "used as it stands; a point may separate thousands, or the batch may count something else"))
    each = cells.spread(rate) / np.nan_to_num(cells.spread(devices) if np.ndim(devices) else devices, nan=1.0)
    each = each[np.isfinite(each)]
    usual = float(np.median(each)) if len(each) else np.nan
    if usual < SLOWEST or usual > FASTEST:
        what = f"{usual:.3g} tokens/s a device, in the median, is no rate of a training run"
        said.append((what, "used as it stands; see whether the time is in ms, and what the batch counts"))
    return said
