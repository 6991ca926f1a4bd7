from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

from bsmath import curves
from bsmath.measured import fitted_changes, measurement, refusal
from bsmath.outlook import outlook
from bsmath.scenario import Scenario
from bsmath.sweeps import read
from bsmath.throughput import tokens_per_second

BATCHES = np.array([2048, 8192, 32768, 131072, 524288])


def sweep(limit: float = 147_000, fixed: float = 0.05, extra: str = "", value: str = ""):
    rates = tokens_per_second(BATCHES, fixed, limit)
    lines = [f"{b},{r:.3f},{5e4 * (1 + 1e6 / b):.3f}{value}" for b, r in zip(BATCHES, rates, strict=True)]
    return read("\n".join([f"batch_tokens,tokens_per_s,steps_to_target{extra}", *lines]).encode(), "sweep.csv")


def test_a_fitted_plateau_enters_as_the_mfu_that_yields_it():
    found = measurement(sweep(limit=120_000, fixed=0.08), "all rows", "tokens_per_second")
    changes, sentence = fitted_changes(Scenario(), found)
    run = outlook(Scenario().change(**changes))
    assert sentence == "" and set(changes) == {"fixed_time", "micro_batch_time", "mfu"}
    assert_allclose([run.plateau, run.half_batch], [120_000, 9_600], rtol=1e-4)


def test_a_plateau_out_of_reach_brings_a_stand_in_peak_and_says_so():
    scenario = Scenario()
    changes, sentence = fitted_changes(scenario, measurement(sweep(limit=1_000), "all rows", "tokens_per_second"))
    assert "stand-in" in sentence and "mfu" not in changes
    assert_allclose(outlook(scenario.change(**changes)).plateau, 1_000, rtol=1e-4)


def test_parameters_that_the_file_names_come_along():
    found = measurement(sweep(limit=40_000, extra=",num_params", value=",221760"), "all rows", "tokens_per_second")
    changes, _ = fitted_changes(Scenario(), found)
    assert changes["num_params"] == 221_760
    assert_allclose(outlook(Scenario().change(**changes)).plateau, 40_000, rtol=1e-4)


def test_fitted_steps_set_the_hyperbola():
    changes, _ = fitted_changes(Scenario(goal="budget"), measurement(sweep(), "all rows", "steps"))
    assert changes["goal"] == "target"
    assert_allclose([changes["critical_batch_size"], changes["min_steps"]], [1e6, 5e4], rtol=1e-4)


def test_padding_turns_benchmark_tokens_into_real_ones():
    found = measurement(sweep(), "all rows", "tokens_per_second", padding_fraction=0.4)
    assert_allclose(found.points["tokens_per_step"], 0.6 * BATCHES)
    assert_allclose(found.fit.plateau, 0.6 * 147_000, rtol=1e-4)
    changes, _ = fitted_changes(Scenario(padding_fraction=0.4), found)
    assert_allclose(outlook(Scenario(padding_fraction=0.4).change(**changes)).plateau, 0.6 * 147_000, rtol=1e-4)


def test_changing_devices_inside_a_sweep_are_not_fitted_through():
    rows = "".join(f"{8192 * n},{1000 * n},{n}\n" for n in (1, 2, 4, 8))
    found = measurement(
        read(f"batch_tokens,tokens_per_s,n_gpus\n{rows}".encode(), "weak.csv"), "all rows", "tokens_per_second"
    )
    assert found.fit is None and "from 1 to 8" in found.verdict and refusal(found) == found.verdict


def test_a_sweep_that_no_line_describes_cannot_enter_a_scenario():
    rows = "2048,1000\n8192,4000\n32768,500\n131072,9000\n"
    found = measurement(
        read(f"batch_tokens,tokens_per_s\n{rows}".encode(), "broken.csv"), "all rows", "tokens_per_second"
    )
    assert found.fit is not None and refusal(found) == found.verdict and "straight line" in found.verdict
    assert refusal(measurement(sweep(), "all rows", "tokens_per_second")) == ""


def test_two_batches_cannot_enter_a_scenario():
    found = measurement(
        read(b"batch_tokens,tokens_per_s\n2048,900\n8192,1500\n", "two.csv"), "all rows", "tokens_per_second"
    )
    assert found.fit is not None and "third" in refusal(found)


def test_one_batch_is_shown_and_not_fitted():
    found = measurement(
        read(b"batch_tokens,step_time_s\n1024,1\n1024,1.1\n", "one.csv"), "all rows", "tokens_per_second"
    )
    assert len(found.points) == 1 and found.fit is None and "One batch size" in found.verdict


@pytest.mark.parametrize("measured", [120_000, 0.6])
def test_calibration_reproduces_the_measurement(measured):
    scenario = curves.calibrated(Scenario(), 98_304, measured)
    run = outlook(scenario)
    assert_allclose(run.tokens_per_second if measured > 1 else run.mfu, measured)


def test_curves_meet_the_run_at_its_own_batch():
    run = outlook(Scenario())
    table = curves.over_batch(Scenario(), run)
    here = np.exp(np.interp(np.log(run.tokens_per_step), np.log(table["tokens_per_step"]), np.log(table["days"])))
    assert_allclose(here, run.seconds / 86_400, rtol=1e-3)


REAL = Path(__file__).parent.parent.parent.parent / "shared" / "data"
needs_real_data = pytest.mark.skipif(not REAL.is_dir(), reason="the public data sets are not beside this checkout")


@needs_real_data
@pytest.mark.parametrize(
    "column, knees",
    [
        ("steps_to_goal_measured", [2240, 3300, 5430, 7910, 11100]),
        ("steps_to_goal_authors_adjusted", [2191, 3240, 5433, 7907, 11131]),
    ],
)
def test_five_public_language_models_give_their_published_refits(column, knees):
    path = REAL / "1_hyperbola/hlzhang109_cbs_steps_to_goal.csv"
    loaded = read(path.read_bytes(), path.name, {"steps_column": column})
    found = [measurement(loaded, series, "steps") for series in loaded.series]
    assert_allclose([one.fit.critical_batch_size / 512 for one in found], knees, rtol=4e-3)
    assert all(one.identified and one.worst_residual < 0.13 for one in found)


@needs_real_data
@pytest.mark.parametrize("path", sorted(REAL.glob("2_throughput/*.csv")), ids=lambda path: path.stem)
def test_public_throughput_sweeps_are_fitted_or_refused_with_a_reason(path):
    loaded = read(path.read_bytes(), path.name)
    assert len(loaded.questions) <= 1
    found = [measurement(loaded, series, "tokens_per_second") for series in loaded.series]
    for one in found:
        assert one.verdict
        if one.identified:
            assert one.worst_residual <= 0.15 and one.fit.plateau > 0.9 * one.points["median"].max()
    assert (
        any(one.identified for one in found)
        or "llm-foundry" in path.stem
        or "bert_scal" in path.stem
        or "ncf" in path.stem
    )


def test_a_micro_batch_that_changes_inside_the_sweep_is_said():
    rows = "micro_batch_size,grad_accum_steps,seq_len,tokens_per_s\n1,1,2048,30000\n2,2,2048,70000\n4,2,2048,90000\n4,8,2048,120000\n"
    found = measurement(read(rows.encode(), "s.csv"), "all rows", "tokens_per_second")
    assert (
        "The micro-batch changes inside the sweep, from 1 to 4 sequences, and accumulation from 1 to 8" in found.verdict
    )


def test_a_micro_batch_that_alone_makes_the_batch_is_nothing_to_say():
    rows = "micro_batch_size,grad_accum_steps,seq_len,tokens_per_s\n1,1,2048,30000\n2,1,2048,50000\n4,1,2048,70000\n8,1,2048,90000\n"
    found = measurement(read(rows.encode(), "s.csv"), "all rows", "tokens_per_second")
    assert "micro-batch" not in found.verdict


def fitted(fixed: float, limit: float):
    return measurement(sweep(limit=limit, fixed=fixed), "all rows", "tokens_per_second")


@pytest.mark.parametrize("changes", [
    {"zero_stage": 3, "overlap": 0.0},
    {"zero_stage": 3, "micro_batch_size": 1},
    {"zero_stage": 1, "micro_batch_size": 1, "network_bandwidth": 5e9},
    {"micro_batch_time": 0.4},
])  # fmt: skip
def test_a_fit_predicts_its_own_rates_in_any_job(changes):
    scenario = Scenario(num_params=7e9, data_parallel_size=64, accelerator="h100_sxm", **changes)
    found = fitted(0.3, 500_000)
    run = outlook(scenario.change(**fitted_changes(scenario, found)[0]))
    assert_allclose([run.fixed_time, run.plateau], [0.3, 500_000], rtol=1e-5)


def test_a_plateau_far_below_the_device_is_said_to_be_another_s():
    sentence = fitted_changes(Scenario(num_params=7e9, data_parallel_size=512), fitted(0.01, 5_000))[1]
    assert "below 1 % MFU" in sentence and "out of reach" not in sentence


def test_a_fixed_time_beyond_the_scenario_s_range_is_refused_in_words():
    with pytest.raises(ValueError, match="fixed_time must be from 0 to 100"):
        Scenario().change(**fitted_changes(Scenario(), fitted(150, 1_000))[0])
