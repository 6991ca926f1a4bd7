import inspect

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from bsmath import laws
from bsmath.critical import step_overhead, token_overhead

INPUTS = {
    "num_params": np.geomspace(1e8, 1e11, 7),
    "tokens": np.geomspace(1e9, 1e13, 7),
    "compute": np.geomspace(1e17, 1e24, 7),
    "loss": np.linspace(2, 6, 7),
}
NAMES = list(laws.LAWS)


@pytest.mark.parametrize("loss, batch", [(2, 7.371e6), (2.5, 2.547e6), (3, 1.0691e6), (3.5, 5.131e5), (4, 2.717e5)])
def test_kaplan(loss, batch):
    assert_allclose(laws.kaplan(loss), batch, rtol=2e-4)


def test_kaplan_nearly_doubles_per_13_percent_of_loss():
    assert_allclose(laws.kaplan(0.87 * 3) / laws.kaplan(3), 1.941, rtol=2e-4)


def test_kaplan_is_not_four_million_at_a_loss_of_three():
    assert laws.kaplan(3) < 1.1e6  # a circulating note says 4e6


def test_kaplans_savings_are_the_inverse_overheads():
    assert_allclose(1 / step_overhead(5e5, 1e6), 0.3333, rtol=2e-4)  # S_min/S, eq. 5.4
    assert_allclose(1 / token_overhead(5e5, 1e6), 0.6667, rtol=2e-4)  # C_min/C, eq. 5.5


@pytest.mark.parametrize(
    "tokens, sequences, batch", [(2.4576e10, 2652, 1.358e6), (1e11, 5128.9, 2.626e6), (1e12, None, 7.75e6)]
)
def test_zhang_in_tokens(tokens, sequences, batch):
    assert_allclose(laws.zhang_data(tokens), batch, rtol=5e-4)
    assert sequences is None or laws.zhang_data(tokens) / 512 == pytest.approx(sequences, rel=2e-4)


def test_zhang_in_parameters():
    assert_allclose(laws.zhang_params(1200e6) / 512, 2578, rtol=2e-4)


@pytest.mark.parametrize(
    "params, tokens, sequences",
    [  # measured 20 % batches
        (85e6, 1.741e9, 745.3),
        (151e6, 3.072e9, 955.2),
        (302e6, 6.144e9, 1393.7),
        (604e6, 1.2288e10, 1888.5),
        (1.2e9, 2.4576e10, 2533.4),
    ],
)
def test_zhangs_laws_meet_their_own_measurements(params, tokens, sequences):
    assert_allclose(laws.zhang_params(params) / 512, sequences, rtol=0.06)
    assert_allclose(laws.zhang_data(tokens) / 512, sequences, rtol=0.06)


def test_zhang_with_billions_for_millions_would_be_25_times_too_small():
    assert laws.zhang_data(24.6e9) / 512 > 25 * 22.91 * 24.6**0.47


@pytest.mark.parametrize(
    "compute, batch, rate",
    [
        (1e17, 1.062e5, 2.338e-3),
        (1e18, 2.255e5, 1.753e-3),
        (1e20, 1.0171e6, 9.860e-4),
        (1e22, 4.588e6, 5.545e-4),
        (1e24, 2.069e7, 3.118e-4),
    ],
)
def test_deepseek(compute, batch, rate):
    assert_allclose(laws.deepseek(compute), batch, rtol=5e-4)
    assert_allclose(laws.deepseek_learning_rate(compute), rate, rtol=5e-4)


@pytest.mark.parametrize(
    "params, tokens, rate, batch",
    [(1e9, 2e10, 9.960e-4, 4.419e5), (7e9, 1.4e12, 9.166e-4, 4.999e6), (1e8, 2e9, 2.537e-3, 1.187e5)],
)
def test_step_law(params, tokens, rate, batch):
    assert_allclose(laws.step_law(tokens), batch, rtol=5e-4)
    assert_allclose(laws.step_law_learning_rate(params, tokens), rate, rtol=2e-4)


def test_step_law_for_a_hundred_million_tokens():
    assert_allclose(laws.step_law(1e8), 2.1e4, rtol=0.03)


@pytest.mark.parametrize("loss, batch", [(2.5, 3.978e6), (3, 1.2751e6), (3.5, 4.873e5)])
def test_minicpm(loss, batch):
    assert_allclose(laws.minicpm(loss), batch, rtol=2e-4)


def test_moonlight():
    assert_allclose(laws.moonlight(3.5019e20), 2.0669e6, rtol=1e-4)
    assert_allclose(laws.moonlight(3.5019e20) / 8192, 252.3, rtol=2e-4)
    assert_allclose(laws.moonlight_learning_rate(3.5019e20), 8.398e-4, rtol=1e-4)


@pytest.mark.parametrize("tokens, batch", [(2e10, 4.513e5), (1e12, 4.132e6)])
def test_schaipp(tokens, batch):
    assert_allclose(laws.schaipp(tokens), batch, rtol=3e-4)


@pytest.mark.parametrize("per_parameter, share", [(1, 1.084), (20, 0.22356), (100, 0.09573), (1000, 0.02845)])
def test_power_lines_timescale(per_parameter, share):
    assert_allclose(laws.power_lines_timescale(1e9, per_parameter * 1e9), share, rtol=2e-4)


def test_power_lines_decay():
    decay = laws.power_lines_weight_decay(2**19, 3e-3, 1e9, 2e10)
    assert_allclose(decay, 0.03909, rtol=2e-4)
    assert_allclose(2**19 / (3e-3 * decay * 2e10), laws.power_lines_timescale(1e9, 2e10))
    assert_allclose(laws.power_lines_weight_decay(2**20, 3e-3, 1e9, 2e10), 2 * decay)


def test_learning_rate_laws_disagree_on_longer_training():
    assert laws.step_law_learning_rate(1e9, 2e11) > laws.step_law_learning_rate(1e9, 2e10)
    assert laws.deepseek_learning_rate(6e9 * 2e11) < laws.deepseek_learning_rate(6e9 * 2e10)
    assert laws.moonlight_learning_rate(6e9 * 2e11) < laws.moonlight_learning_rate(6e9 * 2e10)


def test_spread_of_the_laws_at_a_trillion_tokens():
    table = laws.predictions(1e10, 1e12).set_index("law")["tokens_per_step"]
    expected = {"step_law": 4.13e6, "schaipp": 4.13e6, "zhang_data": 7.75e6, "merrill_plateau": 16.8e6}
    assert_allclose(table[list(expected)], list(expected.values()), rtol=2e-3)


def test_compute_is_six_times_parameters_times_tokens():
    table = laws.predictions(1e9, 2e10).set_index("law")["tokens_per_step"]
    assert_allclose(table["deepseek"], laws.deepseek(1.2e20))
    assert_allclose(table["moonlight"], laws.moonlight(1.2e20))


def test_laws_in_the_loss_need_a_loss():
    without, with_loss = laws.predictions(1e9, 2e10), laws.predictions(1e9, 2e10, loss=3.0)
    assert set(with_loss["law"]) == set(NAMES)
    assert set(NAMES) - set(without["law"]) == {"kaplan", "minicpm"}
    assert_allclose(with_loss.set_index("law")["tokens_per_step"]["kaplan"], laws.kaplan(3.0))
    assert not with_loss.isna().any(axis=None)


def test_columns_of_the_predictions():
    columns = ["law", "label", "kind", "tokens_per_step", "definition", "valid_range", "source"]
    assert list(laws.predictions(1e9, 2e10)) == columns


def test_swapped_parameters_and_tokens_give_other_numbers():
    swapped, right = laws.predictions(2e10, 1e9), laws.predictions(1e9, 2e10)
    moved = right["tokens_per_step"] != swapped["tokens_per_step"]
    assert set(right["law"][moved]) == {"zhang_data", "zhang_params", "step_law", "schaipp"}


@pytest.mark.parametrize("name", NAMES)
def test_law_takes_what_it_needs_and_says_what_it_is(name):
    law = laws.LAWS[name]
    assert tuple(inspect.signature(law.function).parameters) == law.needs and set(law.needs) <= set(INPUTS)
    assert law.kind in ("critical", "optimal") and law.status == "empirical"
    assert law.definition.startswith(law.kind)
    assert law.label and law.valid_range and "arXiv" in law.source


@pytest.mark.parametrize("name", [name for name in NAMES if laws.LAWS[name].needs])
def test_batch_grows_with_size_data_and_compute_and_falls_with_loss(name):
    (need,) = laws.LAWS[name].needs
    growth = np.diff(laws.LAWS[name].function(**{need: INPUTS[need]}))
    assert (growth < 0).all() if need == "loss" else (growth > 0).all()


@pytest.mark.parametrize("name", [name for name in NAMES if laws.LAWS[name].needs])
def test_series_arrays_and_scalars_agree(name):
    (need,) = laws.LAWS[name].needs
    function, values = laws.LAWS[name].function, INPUTS[need]
    expected = [function(**{need: value}) for value in values]
    assert_allclose(function(**{need: values}), expected)
    series = function(**{need: pd.Series(values, index=list("abcdefg"))})
    assert list(series.index) == list("abcdefg")
    assert_allclose(series, expected)
