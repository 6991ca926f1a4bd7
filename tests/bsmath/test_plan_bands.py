import numpy as np
import pytest
from numpy.testing import assert_allclose

from bsmath import step_costs
from bsmath.critical import steps_to_target
from bsmath.hyperbola_fit import fit_hyperbola
from bsmath.outlook import outlook
from bsmath.plan_bands import Factors, factors, safe_range, seconds_band, seconds_by_draw
from bsmath.scenario import Scenario
from bsmath.step_fit import fit_step_time
from bsmath.throughput import step_time, time_to_target

KNEE, LEAST, FIXED, PLATEAU = 2e6, 1e4, 0.05, 1e6
BATCHES, SIZES = np.geomspace(1e5, 3e7, 8), np.geomspace(5e3, 1e6, 8)
SCENARIO = Scenario(critical_batch_size=KNEE, min_steps=LEAST, fixed_time=FIXED)


def fits(random):
    steps = steps_to_target(BATCHES, KNEE, LEAST) * np.exp(random.normal(0, 0.05, BATCHES.size))
    times = step_time(SIZES, FIXED, PLATEAU) * np.exp(random.normal(0, 0.03, SIZES.size))
    return fit_hyperbola(BATCHES, steps), fit_step_time(SIZES, SIZES / times)


def test_the_band_covers_the_true_time_in_86_to_94_percent_of_sweeps():
    random, covered = np.random.default_rng(20261203), np.zeros(3)
    sizes = np.array([1e5, 5e5, 2e6])
    truth = steps_to_target(sizes, KNEE, LEAST) * step_time(sizes, FIXED, PLATEAU)
    for _ in range(300):
        hyperbola, step = fits(random)
        scenario = SCENARIO.change(
            critical_batch_size=hyperbola.critical_batch_size, min_steps=hyperbola.min_steps, fixed_time=step.fixed_time
        )
        band = seconds_band(scenario, step.fixed_time, step.plateau, sizes, factors(hyperbola, step))
        covered += (band["low"] <= truth) & (truth <= band["high"])
    assert np.all((258 <= covered) & (covered <= 282)), covered


def test_without_draws_every_time_is_that_of_the_scenario():
    scenario = Scenario(padding_fraction=0.1, data_parallel_size=4, micro_batch_time=0.002)
    run = outlook(scenario)
    band = seconds_band(scenario, *step_costs.effective(scenario), run.tokens_per_step, Factors())
    assert_allclose(band.loc[0], run.seconds, rtol=1e-9)


def test_a_worked_example_by_hand():
    # 10,000 * 1.2 * (1 + 2e6 * 0.5 / 1e6) = 24,000 steps of 0.05 * 2 + 0.03 + 1e6 / (1e6 * 1.25) = 0.93 s
    by = Factors(critical_batch_size=0.5, min_steps=1.2, fixed_time=2.0, plateau=1.25)
    assert_allclose(seconds_by_draw(SCENARIO, FIXED + 0.03, PLATEAU, 1e6, by), [[24_000 * 0.93]])


def test_a_token_budget_leaves_only_the_step_time_uncertain():
    scenario = SCENARIO.change(goal="budget", token_budget=1e9)
    by = Factors(critical_batch_size=np.array([0.5, 2]), min_steps=np.array([3, 1]), plateau=np.array([1, 2]))
    seconds = seconds_by_draw(scenario, FIXED, PLATEAU, [1e6], by)
    assert_allclose(seconds, [[1000 * 1.05], [1000 * 0.55]])


def test_many_plans_are_those_of_each_alone():
    by = factors(*fits(np.random.default_rng(1)))
    fixed, limit, sizes = np.array([0.05, 0.08]), np.array([1e6, 4e6]), np.array([1e5, 1e6])
    together = seconds_band(SCENARIO, fixed, limit, sizes, by)
    for at in range(2):
        assert_allclose(together.loc[at], seconds_band(SCENARIO, fixed[at], limit[at], sizes[at], by).loc[0])
    assert (together["low"] < together["median"]).all() and (together["median"] < together["high"]).all()


def test_factors_stand_about_one_and_a_missing_fit_is_exact():
    hyperbola, step = fits(np.random.default_rng(2))
    both = factors(hyperbola, step, 2048)
    for values in vars(both).values():
        assert np.median(values) == pytest.approx(1, abs=0.005)
    assert factors(step_time=step).min_steps == 1.0
    assert factors(hyperbola).plateau == 1.0


def test_an_unidentified_fit_is_refused():
    sizes = np.geomspace(1e3, 1e4, 6)
    noise = np.exp(np.random.default_rng(1).normal(0, 0.05, 6))
    with pytest.raises(ValueError, match="must be bounded on both sides by the data"):
        factors(fit_hyperbola(sizes, steps_to_target(sizes, KNEE, LEAST) * noise))


def test_the_safe_range_by_hand():
    seconds = np.array([[100, 104, 106, 200]] * 9 + [[120, 100, 104, 200]])
    assert safe_range([1, 2, 3, 4], seconds).tolist() == [1, 2]  # 90 %, 100 %, 10 % and 0 % of the draws
    assert safe_range([1, 2, 3, 4], seconds, share=0.95).tolist() == [2]
    assert safe_range([1, 2, 3, 4], seconds, excess=0.2, share=1).tolist() == [1, 2, 3]


def test_no_batch_is_safe_where_the_draws_disagree():
    assert safe_range([1, 2], [[1, 2], [2, 1]]).size == 0


def test_the_safe_range_is_within_the_flat_range_of_the_best_estimate_and_shrinks_with_doubt():
    sizes = np.geomspace(1e4, 1e7, 200)

    def ends(by):
        safe = safe_range(sizes, seconds_by_draw(SCENARIO, FIXED, PLATEAU, sizes, by))
        return safe[0], safe[-1]

    exact, doubtful = ends(Factors()), ends(factors(*fits(np.random.default_rng(4))))
    assert exact[0] <= doubtful[0] < doubtful[1] <= exact[1]
    best = time_to_target(sizes, FIXED * PLATEAU, KNEE, LEAST, PLATEAU)
    near = sizes[best <= 1.05 * best.min()]
    assert exact == (near[0], near[-1])
