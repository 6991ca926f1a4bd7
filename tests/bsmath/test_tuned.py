import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from pandas.testing import assert_frame_equal

from bsmath.tuned import COLUMNS, best_rates

NEVER = np.nan


def table(*rows, batch=1024):
    """Runs at one batch from (rate, steps of each seed)."""
    found = [(batch, rate, seed, steps) for rate, *seeds in rows for seed, steps in enumerate(seeds)]
    return pd.DataFrame(found, columns=["tokens_per_step", "learning_rate", "seed", "steps"])


def best(*rows, **columns):
    return best_rates(table(*rows).assign(**columns)).iloc[0]


def test_the_best_rate_has_the_least_median_and_not_the_least_run():
    row = best((1e-3, 90, 200, 210), (2e-3, 150, 160, 170), (4e-3, 300, 310, 320))
    assert (row["learning_rate"], row["steps"], row["low"], row["high"], row["count"]) == (2e-3, 160, 150, 170, 3)
    assert (row["runner_up"], row["runner_up_ratio"]) == (1e-3, 200 / 160)
    assert (row["rates"], row["censored"], row["at_edge"], row["undecided"]) == (3, 0, "", 0)


def test_a_rate_at_which_only_a_lucky_seed_arrives_is_not_best():
    row = best((1e-3, 150, 160, 170), (2e-3, 100, NEVER, NEVER))
    assert (row["learning_rate"], row["steps"], row["censored"]) == (1e-3, 160, 2)
    assert np.isnan(row["runner_up"]) and np.isnan(row["runner_up_ratio"])


def test_a_run_that_did_not_arrive_counts_as_more_than_any_that_did():
    row = best((1e-3, 100, 120, NEVER), (2e-3, 130, 131, 132))
    assert (row["learning_rate"], row["steps"], row["censored"]) == (1e-3, 120, 1)


def test_a_run_that_did_not_arrive_enters_the_range_with_what_it_was_given():
    assert best((1e-3, 100, 120, NEVER), steps_run=[100, 120, 400])["high"] == 400
    assert best((1e-3, 100, 120, NEVER))["high"] == 120
    assert best((1e-3, 100, 120, NEVER), steps_run=[100, 120, 50])[["low", "high"]].tolist() == [100, 120]


def test_half_of_the_runs_without_arrival_leave_no_median():
    assert np.isnan(best((1e-3, 100, NEVER))["steps"])
    assert best((1e-3, 100, NEVER), (2e-3, 500, 600))["steps"] == 550


def test_a_batch_where_nothing_arrives_stays_in_the_table_without_steps():
    found = best_rates(pd.concat([table((1e-3, NEVER), (2e-3, NEVER), batch=256), table((1e-3, 9), (2e-3, 8))]))
    assert found["tokens_per_step"].tolist() == [256, 1024]
    assert found[["learning_rate", "steps", "confidence"]].iloc[0].isna().all()
    assert (found["censored"].iloc[0], found["rates"].iloc[0], found["count"].iloc[0]) == (2, 2, 0)


@pytest.mark.parametrize("steps, edge", [((1, 2, 3), "lowest"), ((3, 1, 2), ""), ((3, 2, 1), "highest")])
def test_a_best_rate_at_the_end_of_those_tried_is_a_bound(steps, edge):
    assert best(*zip((1e-3, 2e-3, 4e-3), steps, strict=True))["at_edge"] == edge


def test_a_rate_that_never_arrived_still_bounds_the_ones_that_were_tried():
    assert best((1e-3, 3), (2e-3, 1), (4e-3, NEVER))["at_edge"] == ""


def test_one_rate_alone_is_both_ends():
    row = best((1e-3, 10, 12))
    assert row["at_edge"] == "only" and row["confidence"] == 1 and np.isnan(row["runner_up"])


def test_a_rate_that_was_stopped_too_early_is_undecided_and_one_that_diverged_is_not():
    rows = (1e-3, 100, 110), (2e-3, NEVER, NEVER)
    assert best(*rows, steps_run=[100, 110, 50, 50])["undecided"] == 1
    assert best(*rows, steps_run=[100, 110, 400, 400])["undecided"] == 0
    assert best(*rows, steps_run=[100, 110, np.inf, np.inf])["undecided"] == 0


def test_one_run_a_rate_says_nothing_on_how_sure_the_choice_is():
    assert np.isnan(best((1e-3, 100), (2e-3, 300))["confidence"])
    assert np.isnan(best((1e-3, 100, 110), (2e-3, 300))["confidence"])
    assert best((1e-3, 100, 110), (2e-3, NEVER))["confidence"] == 1


def test_a_rate_that_wins_at_every_seed_is_sure_although_the_seeds_overlap():
    # Paired by seed the lower rate always wins; drawn apart, its 300 often meets the other's 110.
    rows = (1e-3, 100, 200, 300), (2e-3, 110, 210, 310)
    assert best(*rows)["confidence"] == 1
    assert 0.4 < best_rates(table(*rows).drop(columns="seed"))["confidence"].iloc[0] < 0.8


def test_two_seeds_that_disagree_give_the_share_that_can_be_counted():
    # Of the four resamples (a,a), (a,b), (b,a), (b,b) the lower rate has the lower median in all but (b,b).
    assert_allclose(best((1e-3, 100, 200), (2e-3, 180, 190))["confidence"], 0.75, atol=0.03)


def test_equal_rates_share_their_resamples_and_the_lower_one_is_named():
    row = best((1e-3, 100, 100), (2e-3, 100, 100))
    assert (row["learning_rate"], row["confidence"]) == (1e-3, 0.5)


def test_equal_medians_go_to_the_rate_that_always_arrives():
    assert best((1e-3, 90, 100, NEVER), (2e-3, 95, 100, 120))["learning_rate"] == 2e-3


def test_a_batch_is_judged_the_same_beside_others():
    here = table((1e-3, 100, 200, 260), (2e-3, 150, 190, 210))
    both = best_rates(pd.concat([table((1e-3, 5, 9), (2e-3, 6, 7), batch=256), here]))
    assert_frame_equal(both.iloc[1:].reset_index(drop=True), best_rates(here), check_dtype=False)


def test_no_runs_give_no_rows():
    assert best_rates(table()).empty and best_rates(table()).columns.tolist() == list(COLUMNS)


def test_many_repeats_are_resampled_without_filling_the_memory():
    steps = np.random.default_rng(0).normal([[100], [101]], 5, (2, 50_000)).tolist()
    assert best((1e-3, *steps[0]), (2e-3, *steps[1]))["confidence"] == 1


@pytest.mark.parametrize(
    "change, message",
    [
        ({"steps": 0}, "steps must be positive, got 0.0"),
        ({"learning_rate": np.nan}, "learning_rate must be positive, got nan"),
        ({"tokens_per_step": -4}, "tokens_per_step must be positive, got -4.0"),
    ],
)
def test_values_that_are_not_positive_are_refused(change, message):
    with pytest.raises(ValueError, match=message):
        best((1e-3, 100, 200), **change)


def test_a_missing_column_is_named():
    with pytest.raises(ValueError, match="runs must have the column learning_rate, got tokens_per_step, seed, steps"):
        best_rates(table((1e-3, 100)).drop(columns="learning_rate"))


RUNS = st.lists(
    st.tuples(
        st.sampled_from([256, 512]),
        st.sampled_from([1e-3, 2e-3, 4e-3]),
        st.integers(0, 3),
        st.integers(1, 30) | st.just(NEVER),
        st.integers(1, 40) | st.sampled_from([NEVER, np.inf]),
    ),
    min_size=1,
    max_size=24,
)


def frame(rows):
    return pd.DataFrame(rows, columns=["tokens_per_step", "learning_rate", "seed", "steps", "steps_run"], dtype=float)


@settings(max_examples=60, deadline=None)
@given(RUNS, st.randoms(use_true_random=False))
def test_the_order_of_the_rows_changes_nothing(rows, random):
    shuffled = random.sample(rows, len(rows))
    assert_frame_equal(best_rates(frame(rows)), best_rates(frame(shuffled)))


@settings(max_examples=60, deadline=None)
@given(RUNS, st.sampled_from([256, 512]), st.sampled_from([1e-3, 2e-3, 4e-3]))
def test_a_further_run_that_did_not_arrive_never_lowers_the_steps(rows, batch, rate):
    before = best_rates(frame(rows)).set_index("tokens_per_step")["steps"].fillna(np.inf)
    after = best_rates(frame([*rows, (batch, rate, 9, NEVER, 50)])).set_index("tokens_per_step")["steps"].fillna(np.inf)
    assert (after[before.index] >= before).all()


@settings(max_examples=60, deadline=None)
@given(RUNS)
def test_a_share_is_a_share_and_no_runner_up_is_ahead(rows):
    found = best_rates(frame(rows))
    assert found["confidence"].dropna().between(0, 1 + 1e-12).all()
    assert (found["runner_up_ratio"].dropna() >= 1).all()
    assert (found["low"].dropna() <= found["steps"].dropna()).all()


def test_the_least_of_noisy_medians_is_optimistic():
    # Five equal rates of 1000 steps with 5 % noise: the best of them reads 3 % low with three seeds, less with nine.
    rng = np.random.default_rng(1)

    def bias(seeds):
        found = [
            best_rates(table(*((i, *rng.normal(1000, 50, seeds)) for i in range(1, 6))))["steps"][0] for _ in range(60)
        ]
        return 1 - np.mean(found) / 1000

    assert bias(3) > 1.3 * bias(9) > 0
