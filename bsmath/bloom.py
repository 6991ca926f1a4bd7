"""A published throughput sweep to compare fits on: BLOOM-176B on 384 A100 (BigScience, tr11-176B-ml chronicles).

Rates are hardware TFLOP/s per device with full recomputation, batches are sequences of 2,048 tokens. Micro-batch sizes differ
(2 at 16 and 512, 1 at 192), so the points scatter by more than their measurement. Source:
https://github.com/bigscience-workshop/bigscience/blob/master/train/tr11-176B-ml/chronicles.md
"""

import numpy as np
import pandas as pd

from bsmath import step_fit

SEQUENCES = np.array([16, 192, 512, 2048])
"""Global batch sizes. [sequences]"""
FLOPS = np.array([8.04e12, 73e12, 113e12, 149.8e12])
"""Measured rate of one device. [FLOP/s]"""


def fits() -> pd.DataFrame:
    """The two fits: by relative error and unweighted.

    Returns
    -------
    DataFrame
        fit (name), plateau [FLOP/s], half_batch [sequences], and off, the relative error at each of SEQUENCES as a tuple.
    """
    weighted = step_fit.fit_step_time(SEQUENCES, FLOPS)
    found = {
        "relative error": (weighted.plateau, weighted.half_batch),
        "unweighted": step_fit.fit_unweighted(SEQUENCES, FLOPS),
    }
    rows = []
    for name, (plateau, half) in found.items():
        predicted = plateau * SEQUENCES / (SEQUENCES + half)
        off = tuple(map(float, predicted / FLOPS - 1))
        rows.append({"fit": name, "plateau": plateau, "half_batch": half, "off": off})
    return pd.DataFrame(rows)
