"""The user's grid of learning rates and batches: which law its optima follow, and the loss over both."""

import pandas as pd
import streamlit as st

from bsmath import curves, lr_grid, rate_grid
from bsmath.lr_grid_fit import GridFit
from bsmath.lr_grid_laws import GRID_LAWS
from bsmath.outlook import Outlook
from bsmath.rate_grid import RateGrid
from bsmath.scenario import Scenario
from pages.charts.lr_grid import heat_figure
from pages.ui import crossed, loaded, shell, state, text

DRAWN = ("saturating", "square_root", "linear")
"""Laws that are drawn beside the best."""


def found() -> RateGrid | None:
    """The loaded grid: a table of final losses, else the logs of runs, else a sweep of steps to a target; None where there is none."""
    if "grid" in loaded.memory()["logs"]:
        return loaded.memory()["logs"]["grid"].record
    runs = crossed.now()
    if runs is not None and (grid := runs.record.grid(runs.reading)) is not None:
        return grid
    one = loaded.sweep()
    return one and loaded.once("grid", one, lambda: rate_grid.of_sweep(one.table, one.name, one.batch_unit))


def section(scenario: Scenario, run: Outlook) -> None:
    """What the user's grid says, on the page of the rules."""
    grid = found()
    if grid is None:
        st.caption(
            "Measured your own? Load the logs of runs over several batches and rates, or a table with a batch, a learning rate and a final loss "
            "in each row, on the Upload page: the law that your optima follow is then fitted here."
        )
        return
    st.subheader("Measured by you", anchor=False)
    draw(scenario, run, grid.in_tokens(scenario.seq_len))


def draw(scenario: Scenario, run: Outlook, grid: RateGrid) -> None:
    """The verdict, the heat map, the laws and the optima of one grid in tokens."""
    group = grid.groups[0]
    if len(grid.groups) > 1:
        group = st.selectbox("Model", grid.groups, key="rate_grid_group")
    fit, optima = grid.fit(group), grid.optima(group)
    fitted = isinstance(fit, GridFit)
    st.markdown(_answer(fit) if fitted else f"No law is fitted: {text.plain(fit)}.")
    shell.chart(
        heat_figure(
            lr_grid.above_best(grid.of(group)), optima, _lines(fit) if fitted else {}, shell.batch_axis(scenario)
        ),
        key="rate_grid",
        alt=f"{grid.value} above the best of each batch, over batch and peak learning rate, with the optimum of each batch. "
        f"{fit.verdict if fitted else fit}",
        table=optima[["tokens_per_step", "learning_rate", "low", "high", "edge", "value"]],
    )
    st.caption(
        text.plain(
            f"From {grid.name}: {len(grid.of(group)):,} runs, {grid.value}. Bars are 90 % intervals of the optimum: a valley on a grid is known to "
            f"about a quarter of its spacing at best. {' '.join(grid.problems)}"
        )
    )
    if not fitted:
        return
    with st.expander("The laws and the slope along the range"):
        st.table(_laws(fit), hide_index=True)
        st.table(_slopes(fit), hide_index=True)
        st.caption(
            "AICc weighs the misfit against the number of parameters. Up to 2 above the best is support, up to 6 doubt, more is rejection: a "
            "convention. Optima at an edge of the rates tried enter as bounds."
        )
    changes = rate_grid.scenario_changes(fit, run.tokens_per_step)
    st.button(
        "Use the fitted rate",
        on_click=state.change,
        kwargs=changes,
        help=f"Reference {text.tokens(changes['reference_tokens_per_step'])}, rate {text.scientific(changes['learning_rate'])}"
        + (f", AdamW saturation batch {text.count(changes['adam_saturation_batch'])}" if "adam_saturation_batch" in changes else ""),
    )  # fmt: skip


def _answer(fit: GridFit) -> str:
    first, rest = text.plain(fit.verdict).split(". ", 1)
    return f"**{first}.** {rest}"


def _lines(fit: GridFit) -> dict[str, tuple]:
    """Fitted laws over the measured range."""
    names = list(dict.fromkeys([fit.best, *DRAWN]))
    batch = curves.between(fit.points.batch[0], fit.points.batch[-1])
    return {f"{GRID_LAWS[name].label}, fitted": (batch, fit.predict(batch, name)) for name in names}


def _laws(fit: GridFit) -> pd.DataFrame:
    table = fit.table
    return pd.DataFrame(
        {
            "Law": [GRID_LAWS[name].label for name in table["law"]],
            "Parameter": [_parameter(fit, name) for name in table["law"]],
            "AICc above the best": ["" if value != value else f"{value:.1f}" for value in table["difference"]],
            "Standing": table["standing"],
        }
    )


def _parameter(fit: GridFit, name: str) -> str:
    shape = GRID_LAWS[name].shape
    if shape is None or shape not in fit.laws[name].parameters:
        return ""
    value, (low, high) = fit.laws[name].parameters[shape], fit.laws[name].interval[shape]
    if shape == "exponent":
        return f"exponent {value:.2f} ({low:.2f} to {high:.2f})"
    return f"{shape.replace('_', ' ')} {text.tokens(value)} ({text.between(low, high)})"


def _slopes(fit: GridFit) -> pd.DataFrame:
    found = fit.slopes
    return pd.DataFrame(
        {
            "Between batches of": [text.span(low, high) for low, high in zip(found["low"], found["high"], strict=True)],
            "Local exponent": [f"{value:.2f}" for value in found["slope"]],
            "90 % interval": [
                f"{low:.2f} to {high:.2f}" for low, high in zip(found["least"], found["most"], strict=True)
            ],
        }
    )
