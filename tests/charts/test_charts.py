import numpy as np
import pytest

from bsmath import curves, lr, moe
from bsmath.measured import Measurement, measurement
from bsmath.outlook import outlook
from bsmath.scenario import Scenario
from bsmath.sweeps import read
from pages.charts import critical, measured, theme, throughput
from pages.charts import lr as lr_charts
from pages.charts import moe as moe_charts
from pages.charts.theme import BatchAxis

SCENARIO = Scenario()
RUN = outlook(SCENARIO)
TABLE = curves.over_batch(SCENARIO, RUN)
AXIS = BatchAxis()
MARKS = ((RUN.half_batch, "B_half"), (SCENARIO.critical_batch_size, "B_crit"))
POINT = {
    "tokens_per_step": RUN.tokens_per_step,
    "tokens_per_second": RUN.tokens_per_second,
    "days": 4.65,
    "steps": RUN.steps,
    "tokens": RUN.tokens,
    "step_overhead": 11.2,
}
SWEEP = b"batch_tokens,tokens_per_s,steps_to_target\n" + b"".join(
    b"%d,%f,%f\n" % (size, size / (0.05 + size / 1.4e5), 5e4 * (1 + 1e6 / size))
    for size in (2048, 8192, 32768, 131072, 524288)
)


def found(quantity: str) -> list[Measurement]:
    return [measurement(read(SWEEP, "sweep.csv"), "all rows", quantity)]


def figures(axis: BatchAxis = AXIS) -> dict:
    rates = curves.learning_rates(SCENARIO, RUN)
    tuned = {"tokens_per_step": SCENARIO.reference_tokens_per_step, "learning_rate": SCENARIO.learning_rate}
    marks = TABLE.iloc[[30, 60]].assign(label=["B_fast", "B_crit"])
    factors = (1.0, 1.25)
    return {
        "time": throughput.time_figure(TABLE, (5e4, 2e5), POINT, MARKS, axis),
        "rate": throughput.rate_figure(TABLE, RUN.plateau, POINT, MARKS, axis, found("tokens_per_second")),
        "pareto": critical.pareto_figure(TABLE, POINT, marks, found("steps")),
        "steps": critical.steps_figure(TABLE, POINT, MARKS, axis, found("steps")),
        "overhead": critical.overhead_figure(TABLE, POINT, MARKS, axis),
        "rules": lr_charts.rules_figure(
            rates, {name: rule.label for name, rule in lr.RULES.items()}, tuned, tuned, MARKS, axis
        ),
        "load": moe_charts.load_figure(
            curves.expert_loads(SCENARIO, RUN),
            {"tokens_per_step": 98_304, "tokens_per_expert": 12_288},
            206,
            MARKS,
            axis,
        ),
        "dropped": moe_charts.dropped_figure(
            curves.dropped_percent(SCENARIO, 4096, factors), factors, {"routed_tokens": 4096, "dropped_percent": 0.1}
        ),
        "distribution": moe_charts.distribution_figure(moe.load_distribution(4096, 64, 1), 80, 64),
        "measured": measured.measured_figure(found("steps"), "Steps", "steps", axis),
    }


FIGURES = figures()


@pytest.mark.parametrize("name", FIGURES)
def test_axes_are_titled_and_curves_are_finite(name):
    figure = FIGURES[name]
    assert figure.layout.xaxis.title.text and figure.layout.yaxis.title.text
    assert any(unit in figure.layout.xaxis.title.text for unit in ("[tokens", "steps"))
    for trace in figure.data:
        assert len(trace.x) == len(trace.y) and np.isfinite(np.asarray(trace.y, float)).all()


def test_this_run_is_drawn_the_same_in_every_chart():
    marks = [trace.marker for figure in FIGURES.values() for trace in figure.data if trace.name == "this run"]
    assert len(marks) == 8 and all(mark == marks[0] for mark in marks)


@pytest.mark.parametrize("name", ["rate", "steps", "pareto", "measured"])
def test_measured_points_lie_over_the_theory(name):
    points = next(trace for trace in FIGURES[name].data if trace.name == "sweep.csv")
    assert len(points.x) == 5


@pytest.mark.parametrize("name", ["rate", "steps", "measured"])
def test_a_fit_comes_with_its_band(name):
    names = [trace.name for trace in FIGURES[name].data]
    assert "fit of sweep.csv" in names and "90 % band of sweep.csv" in names


def test_batches_in_sequences_move_curve_marks_and_run_together():
    axis = BatchAxis("sequences", "linear", 2048)
    figure = throughput.rate_figure(TABLE, RUN.plateau, POINT, MARKS, axis)
    run = next(trace for trace in figure.data if trace.name == "this run")
    assert run.x[0] == 48
    assert figure.layout.shapes[0].x0 == pytest.approx(RUN.half_batch / 2048)
    assert figure.layout.xaxis.type == "linear" and "[sequences per step]" in figure.layout.xaxis.title.text


def test_log_ticks_are_written_with_the_suffixes_of_the_page():
    axis = theme.axis("Tokens [tokens]", "log", (1e8, 1e12))
    assert "1B" in axis["ticktext"] and "1G" not in axis["ticktext"]


def test_no_measurement_leaves_the_theory_alone():
    names = [trace.name for trace in throughput.rate_figure(TABLE, RUN.plateau, POINT, MARKS, AXIS).data]
    assert names == ["plateau", "rate", "goodput: rate x token efficiency", "this run"]
