"""The rates of logged runs in tokens per second of the whole job, once batch, tokens of a sequence and devices are settled."""

import numpy as np
import pandas as pd

from bsmath.sweeps import ALL_ROWS


def throughput(curves, reading) -> pd.DataFrame:
    """One row a run and batch.

    Parameters
    ----------
    curves : LossCurves
        The runs.
    reading : Reading
        What the files leave open.

    Returns
    -------
    DataFrame
        row (number of the run, from 1), series, tokens_per_step, tokens_per_second, low, high (nine tenths of the steady steps lie
        between), count (these steps), left_out (steps of the warm-up), step_time [s], num_devices, num_params, seq_len; in sequences
        where the tokens of some run are not known (see `LossCurves.batches`).
    """
    own = curves.rates.join(curves.runs.rename(columns={"batch": "batch_of_run"}), on="run")
    sizes, unit = curves.batches(reading)
    each = curves.tokens_each(reading) if unit == "tokens" else pd.Series(1.0, curves.runs.index)
    batch = (own["batch"] * own["run"].map(each)).fillna(own["run"].map(sizes))
    lengths = own["seq_len"].fillna(reading.seq_len or np.nan) if unit == "tokens" else 1.0
    devices = own["num_devices"].fillna(reading.num_devices or 1.0)
    factor = pd.Series(1.0, own.index)
    factor = factor.mask(own["kind"].str.startswith("samples"), lengths)
    factor = factor.mask(own["kind"].eq("steps/s"), batch)
    factor *= devices.where(own["kind"].str.endswith("/device"), 1.0)
    timed = own["kind"].eq("s/step")
    found = {
        name: (own[logged] * factor).mask(timed, batch / own[inverse])
        for name, logged, inverse in (
            ("tokens_per_second", "median", "median"),
            ("low", "low", "high"),
            ("high", "high", "low"),
        )
    }
    rate = found["tokens_per_second"]
    table = pd.DataFrame({"row": own["run"] + 1, "series": _series(own, batch), "tokens_per_step": batch, **found})
    table = table.assign(
        count=own["count"],
        left_out=own["left_out"],
        step_time=own["median"].where(timed, own["step_time"]).fillna(batch / rate),
        num_devices=own["num_devices"].fillna(reading.num_devices or np.nan),
        num_params=own["num_params"],
        seq_len=own["seq_len"],
    )
    return table[(table["tokens_per_step"] > 0) & (rate > 0)].reset_index(drop=True)


def _series(own: pd.DataFrame, batch: pd.Series) -> pd.Series:
    """Names by model and hardware; and by devices where that leaves sweeps over the batch rather than single points."""
    names = own["model"].where(own["model"].ne(""), ALL_ROWS).astype(object)
    if own["hardware"].nunique() > 1:
        names = (names + " · " + own["hardware"].where(own["hardware"].ne(""), "hardware not known")).str.removeprefix(
            f"{ALL_ROWS} · "
        )
    devices = own["num_devices"]
    several = batch.groupby([names, devices]).nunique()
    if devices.nunique() > 1 and len(several) and several.max() > 1:
        counted = devices.map(
            lambda count: "devices not known" if count != count else f"{count:g} GPUs" if count != 1 else "1 GPU"
        )
        names = (names + " · " + counted).str.removeprefix(f"{ALL_ROWS} · ")
    return names
