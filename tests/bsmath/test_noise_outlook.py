"""What a noise scale says about the batch: curves, the interval as a band, the clip threshold."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from bsmath import noise_outlook
from bsmath.logs import noise as reader
from bsmath.noise_outlook import NoiseLevel
from bsmath.outlook import outlook
from bsmath.scenario import Scenario

SCENARIO = Scenario(noise_scale=1e6, reference_tokens_per_step=64e3, clip_norm=2.0)
MEASURED = NoiseLevel(value=1e6, low=5e5, high=4e6, measured=True)
NORMS = {"tokens_small": 64, "tokens_big": 1_024, "grad_sq_norm_small": 2.0625, "grad_sq_norm_big": 1.06640625}


def log(rows: int = 20, **columns) -> reader.NoiseLog:
    scatter = 1 + 0.01 * np.random.default_rng(0).standard_normal(rows)
    frame = pd.DataFrame({"step": range(1, rows + 1)} | NORMS | columns)
    return reader.read(frame.assign(grad_sq_norm_small=frame["grad_sq_norm_small"] * scatter), "a.csv")


def test_without_a_log_the_level_is_the_scenario_s_assumption():
    found = noise_outlook.level(SCENARIO, None)
    assert (found.value, found.low, found.high, found.measured) == (1e6, 1e6, 1e6, False)


def test_a_log_in_tokens_gives_its_second_half_with_its_interval():
    found = noise_outlook.level(SCENARIO, log())
    assert found.measured and found.low < found.value < found.high
    assert found.value == pytest.approx(68, rel=0.03)
    assert found.value == log().estimate(since=0.5).noise_scale


@pytest.mark.parametrize(
    "one",
    [
        log(grad_sq_norm_small=20.0, grad_sq_norm_big=1.0),
        reader.read(pd.DataFrame({"step": [1, 2, 3], "gns": [5.0, 6, 7]}), "a.csv"),
        reader.read(pd.DataFrame({"step": range(9), "grad_sqr": 1.0, "grad_var": 60.0, "progress": range(9)}), "a.csv"),
    ],
    ids=["signal not positive", "ratio alone", "initial batches"],
)
def test_a_log_that_gives_no_noise_scale_in_tokens_leaves_the_scenario_s(one):
    assert not noise_outlook.level(SCENARIO, one).measured


def test_the_curves_hold_the_formulas_over_all_marked_batches():
    run = outlook(SCENARIO)
    curve = noise_outlook.over_batch(SCENARIO, run, MEASURED)
    size = curve["tokens_per_step"]
    assert size.iloc[0] < min(64e3, run.tokens_per_step) / 10 and size.iloc[-1] > 1e7
    assert_allclose(curve["noise_to_signal"], 1e6 / size)
    assert_allclose(curve["improvement"], 1 / (1 + 1e6 / size))
    assert_allclose(curve["norm_ratio"], (1 + 1e6 / size) ** 0.5)
    for name in ("noise_to_signal", "improvement", "norm_ratio", "clip_norm"):
        assert (curve[f"{name}_low"] <= curve[name]).all() and (curve[name] <= curve[f"{name}_high"]).all()
    assert_allclose(curve["noise_to_signal_high"], 4e6 / size)
    assert_allclose(curve["improvement_high"], 1 / (1 + 5e5 / size))


@pytest.mark.parametrize("tokens_per_step, ratio", [(64e3, 4.077), (1e6, 1.414), (4e6, 1.118)])
def test_a_clip_threshold_follows_the_sourced_lengths(tokens_per_step, ratio):
    found = noise_outlook.at_batch(SCENARIO, tokens_per_step, MEASURED)
    assert_allclose(found["norm_ratio"], ratio, rtol=2e-4)
    assert_allclose(found["clip_norm"], 2.0 * ratio / 4.077, rtol=4e-4)


def test_at_the_reference_batch_the_threshold_is_the_scenario_s_own():
    assert noise_outlook.at_batch(SCENARIO, 64e3, MEASURED)["clip_norm"] == pytest.approx(2)


def test_the_worked_example_of_the_founding_document_is_half_signal_at_the_noise_scale():
    found = noise_outlook.at_batch(SCENARIO, 1e6, MEASURED)
    assert (found["noise_to_signal"], found["improvement"]) == (1, 0.5)
