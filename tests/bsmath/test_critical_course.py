"""The course of the critical batch: its level is the scenario's, its shape a law's or a log's."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy import integrate

from bsmath import ramp_kinds
from bsmath.branching import Branch
from bsmath.critical_course import course
from bsmath.logs.branch import BranchLog
from bsmath.logs.noise_log import NoiseLog
from bsmath.scenario import Scenario

USEFUL, KNEE = 5e10, 1e6
SCENARIO = Scenario(critical_batch_size=KNEE, min_steps=USEFUL / KNEE)
LAWS = [name for name in ramp_kinds.GROWTHS if name not in ("constant", "noise", "branch")]


def noise_log(tokens, sizes, unit: str = "tokens", place: str = "tokens") -> NoiseLog:
    """A log that holds the ratio alone, so that nothing is averaged."""
    blank = dict.fromkeys(("step", "tokens_per_step", "steps_averaged", "grad_sq_norm", "trace", "loss"), np.nan)
    table = pd.DataFrame({"group": "all", "tokens": np.array(tokens, float), "noise_scale": np.array(sizes, float)})
    return NoiseLog(name="a.csv", table=table.assign(**blank), unit=unit, place=place, problems=())


def branch(tokens: float, excess: list[float]) -> Branch:
    sizes = 1e5 * 2.0 ** np.arange(len(excess))
    return Branch(
        label="", step=1, tokens=tokens, tokens_per_step=sizes, excess=np.array(excess), error=np.zeros(len(excess)),
        seeds=np.ones(len(excess)), tolerance=0.01,
    )  # fmt: skip


def branch_log(*branches: Branch) -> BranchLog:
    return BranchLog(name="b.csv", table=pd.DataFrame(), tolerance=0.01, branches=branches, problems=())


def found(kind: str, log=None, useful_tokens: float = USEFUL):
    return course(SCENARIO.change(critical_growth=kind), useful_tokens, log)


def harmonic_mean(curve) -> float:
    """By quadrature over ln u, and the flat beginning apart."""
    edges = np.log(np.geomspace(USEFUL * 1e-6, USEFUL, 60))
    parts = zip(edges[:-1], edges[1:], strict=True)
    total = sum(integrate.quad(lambda x: np.exp(x) / curve.at(np.exp(x)), *pair, limit=200)[0] for pair in parts)
    return USEFUL / (total + USEFUL * 1e-6 / curve.at(0.0))


@pytest.mark.parametrize("kind", ["constant", *LAWS])
def test_the_harmonic_mean_of_every_course_is_the_critical_batch_of_the_scenario(kind):
    assert_allclose(harmonic_mean(found(kind).curve), KNEE, rtol=1e-4)


@pytest.mark.parametrize("kind", LAWS)
def test_a_law_grows_by_the_power_that_its_label_says(kind):
    power = float(ramp_kinds.GROWTHS[kind].split("^")[1].split(" ")[0])
    assert_allclose(found(kind).growth, 100**power, rtol=1e-3)  # from a hundredth of the run, C in proportion to D


def test_a_constant_course_does_not_grow():
    assert found("constant").growth == 1 and found("constant").curve.end == KNEE and found("constant").said == ()


def test_a_course_says_by_what_its_law_was_multiplied():
    law = course(SCENARIO.change(critical_growth="step_law"), USEFUL)
    assert_allclose(law.curve.at(USEFUL), law.factor * 0.58 * USEFUL**0.571, rtol=1e-6)  # Step Law's own batch


def test_below_a_ten_thousandth_of_the_run_the_course_is_flat():
    curve = found("zhang_data").curve
    assert curve.at(0.0) == curve.at(USEFUL * 0.99e-4) < curve.at(USEFUL * 1.1e-4)


@pytest.mark.parametrize("kind", ["noise", "branch"])
def test_without_a_log_the_course_is_constant_and_says_so(kind):
    assert found(kind).curve.end == KNEE and found(kind).growth == 1
    assert found(kind).said == (
        f"No {kind} log with a course in tokens is loaded, so the critical batch is taken as constant.",
    )


LOG = noise_log([1e9, 1e10, 6e10], [1e5, 4e5, 8e5])


def test_a_log_gives_its_ratios_and_the_scenario_the_level():
    one = found("noise", LOG)
    assert_allclose(one.curve.at(np.array([1e9, 1e10, 6e10])), one.factor * np.array([1e5, 4e5, 8e5]))
    assert_allclose(harmonic_mean(one.curve), KNEE, rtol=1e-4)
    assert one.said == ()


def test_a_log_in_sequences_is_the_same_course_with_another_factor():
    one, other = found("noise", LOG), found("noise", noise_log([1e9, 1e10, 6e10], [1e5, 4e5, 8e5], "sequences"))
    assert_allclose(other.curve.first, one.curve.first)
    assert_allclose(other.factor * SCENARIO.seq_len, one.factor)


@pytest.mark.parametrize("unit, place", [("initial batches", "tokens"), ("tokens", "steps")])
def test_a_log_in_an_unknown_unit_is_no_course(unit, place):
    one = found("noise", noise_log([1e9, 1e10], [1e5, 4e5], unit, place))
    assert one.growth == 1 and "No noise log with a course in tokens" in one.said[0]


def test_one_point_is_no_course():
    assert "No noise log" in found("noise", noise_log([1e9, 1e9], [1e5, 2e5])).said[0]


def test_rows_without_a_positive_noise_scale_are_passed_over_and_the_rest_put_in_order():
    one = found("noise", noise_log([6e10, 1e10, 1e9, 2e10, 3e10, 0], [8e5, 4e5, 1e5, -1, np.nan, 7e5]))
    assert_allclose(one.curve.tokens, found("noise", LOG).curve.tokens)
    assert_allclose(one.curve.first, found("noise", LOG).curve.first)


def test_a_log_that_ends_early_stays_from_there_on_and_says_so():
    one = found("noise", noise_log([1e9, 2e10], [1e5, 4e5]))
    assert one.curve.at(2e10) == one.curve.at(5e10) == one.curve.end
    assert one.said == ("a.csv ends at 40% of this run; from there on B_crit is taken to stay.",)


def test_a_log_of_a_much_shorter_run_is_stretched_over_the_whole():
    one = found("noise", noise_log([1e6, 1e7, 1e8], [1e5, 2e5, 4e5]))
    assert_allclose(one.curve.tokens[1:], USEFUL * np.array([0.01, 0.1, 1]))
    assert_allclose(one.growth, 4)
    assert one.said[0].startswith("a.csv ends after 100M tokens, 0.002 of this run: its course is stretched")


def test_a_long_log_is_thinned_to_its_ends_and_some_points_between():
    tokens = np.geomspace(1e8, 6e10, 1000)
    one = found("noise", noise_log(tokens, 1e3 * tokens**0.3))
    assert len(one.curve.tokens) == 49 and one.curve.tokens[-1] == tokens[-1]
    assert_allclose(one.growth, 100**0.3, rtol=0.02)


def test_branches_are_the_geometric_mean_of_their_bracket_or_its_lower_end():
    log = branch_log(branch(2e9, [0, 0.001, 0.2, 0.3]), branch(6e10, [0, 0, 0, 0]))
    one = found("branch", log)
    assert_allclose(one.curve.at(6e10) / one.curve.at(2e9), 8e5 / np.sqrt(2e5 * 4e5))
