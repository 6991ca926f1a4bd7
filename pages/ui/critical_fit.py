"""What fitted sweeps of steps say beyond their numbers: which pairs of B_crit and S_min the data allow together."""

import pandas as pd
import streamlit as st

from bsmath.measured import Measurement
from pages.charts.critical import joint_figure
from pages.charts.theme import BatchAxis
from pages.ui import shell, text


def together(found: list[Measurement], axis: BatchAxis) -> None:
    """The joint 90 % region of B_crit and S_min of every identified fit, folded away."""
    shown = [one for one in found if one.identified]
    if shown:
        shell.folded("B_crit and S_min together", "joint", _draw, shown, axis)


def _draw(shown: list[Measurement], axis: BatchAxis) -> None:
    st.markdown(
        "The two numbers go together: a larger B_crit with a smaller S_min describes the same points. With 90 % confidence the pair lies in "
        "the shaded region, so two corners of their separate intervals are excluded."
    )
    regions = [(one.label, *one.fit.joint(), (one.fit.critical_batch_size, one.fit.min_steps)) for one in shown]
    shell.chart(
        joint_figure(regions, axis),
        key="joint",
        alt="Joint 90 % region of B_crit and S_min: S_min falls as B_crit grows. "
        + "; ".join(
            f"{one.label}: B_crit {text.tokens(one.fit.critical_batch_size)}, S_min {text.whole(one.fit.min_steps)}"
            for one in shown
        )
        + ".",
        table=pd.concat(
            [
                pd.DataFrame({"series": label, "B_crit [tokens]": knee, "S_min from": low, "to": high})
                for label, knee, low, high, _ in regions
            ]
        ),
    )
