import inspect

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from bsmath import critical_laws, laws, optimal_laws
from bsmath.critical import step_overhead, token_overhead
from bsmath.law import EVIDENCE

INPUTS = {
    "num_params": np.geomspace(1e8, 1e11, 7),
    "tokens": np.geomspace(1e9, 1e13, 7),
    "compute": np.geomspace(1e17, 1e24, 7),
    "loss": np.linspace(2, 6, 7),
}
NAMES = list(laws.LAWS)


@pytest.mark.parametrize("loss, batch", [(2, 7.371e6), (2.5, 2.547e6), (3, 1.0691e6), (3.5, 5.131e5), (4, 2.717e5)])
def test_kaplan(loss, batch):
    assert_allclose(critical_laws.kaplan(loss), batch, rtol=2e-4)


def test_kaplan_nearly_doubles_per_13_percent_of_loss():
    assert_allclose(critical_laws.kaplan(0.87 * 3) / critical_laws.kaplan(3), 1.941, rtol=2e-4)


def test_kaplan_is_not_four_million_at_a_loss_of_three():
    assert critical_laws.kaplan(3) < 1.1e6  # a circulating note says 4e6


def test_kaplan_in_compute_at_a_petaflop_day_and_ten():
    assert_allclose(critical_laws.kaplan_compute(8.64e19), 2.0e6)
    assert_allclose(critical_laws.kaplan_compute(8.64e20) / 2.0e6, 1.738, rtol=2e-4)  # 10^0.24


def test_kaplan_in_compute_is_the_law_in_the_loss_along_compute_efficient_runs():
    for days in (1e-2, 1, 1e2):  # L = (3.1e8/C)^0.050 with C in PF-days, same paper; 0.24 is 0.050/0.21 rounded
        loss = (3.1e8 / days) ** 0.050
        assert_allclose(critical_laws.kaplan(loss), critical_laws.kaplan_compute(days * 8.64e19), rtol=0.08)


def test_kaplans_savings_are_the_inverse_overheads():
    assert_allclose(1 / step_overhead(5e5, 1e6), 0.3333, rtol=2e-4)  # S_min/S, eq. 5.4
    assert_allclose(1 / token_overhead(5e5, 1e6), 0.6667, rtol=2e-4)  # C_min/C, eq. 5.5


@pytest.mark.parametrize(
    "tokens, sequences, batch", [(2.4576e10, 2652, 1.358e6), (1e11, 5128.9, 2.626e6), (1e12, None, 7.75e6)]
)
def test_zhang_in_tokens(tokens, sequences, batch):
    assert_allclose(critical_laws.zhang_data(tokens), batch, rtol=5e-4)
    assert sequences is None or critical_laws.zhang_data(tokens) / 512 == pytest.approx(sequences, rel=2e-4)


def test_zhang_in_parameters():
    assert_allclose(critical_laws.zhang_params(1200e6) / 512, 2578, rtol=2e-4)


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
    assert_allclose(critical_laws.zhang_params(params) / 512, sequences, rtol=0.06)
    assert_allclose(critical_laws.zhang_data(tokens) / 512, sequences, rtol=0.06)


def test_merrills_documents_are_4096_tokens():
    assert_allclose(critical_laws.merrill_plateau(), 16.8e6, rtol=2e-3)


def test_zhang_with_billions_for_millions_would_be_25_times_too_small():
    assert critical_laws.zhang_data(24.6e9) / 512 > 25 * 22.91 * 24.6**0.47


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
    assert_allclose(optimal_laws.deepseek(compute), batch, rtol=5e-4)
    assert_allclose(laws.deepseek_learning_rate(compute), rate, rtol=5e-4)


@pytest.mark.parametrize(
    "params, tokens, rate, batch",
    [(1e9, 2e10, 9.960e-4, 4.419e5), (7e9, 1.4e12, 9.166e-4, 4.999e6), (1e8, 2e9, 2.537e-3, 1.187e5)],
)
def test_step_law(params, tokens, rate, batch):
    assert_allclose(optimal_laws.step_law(tokens), batch, rtol=5e-4)
    assert_allclose(laws.step_law_learning_rate(params, tokens), rate, rtol=2e-4)


def test_step_law_for_a_hundred_million_tokens():
    assert_allclose(optimal_laws.step_law(1e8), 2.1e4, rtol=0.03)


@pytest.mark.parametrize("loss, batch", [(2.5, 3.978e6), (3, 1.2751e6), (3.5, 4.873e5)])
def test_minicpm(loss, batch):
    assert_allclose(optimal_laws.minicpm(loss), batch, rtol=2e-4)


def test_moonlight():
    assert_allclose(optimal_laws.moonlight(3.5019e20), 2.0669e6, rtol=1e-4)
    assert_allclose(optimal_laws.moonlight(3.5019e20) / 8192, 252.3, rtol=2e-4)
    assert_allclose(laws.moonlight_learning_rate(3.5019e20), 8.398e-4, rtol=1e-4)


@pytest.mark.parametrize("tokens, batch", [(2e10, 4.513e5), (1e12, 4.132e6)])
def test_schaipp(tokens, batch):
    assert_allclose(optimal_laws.schaipp(tokens), batch, rtol=3e-4)


def test_power_lines_in_sequences_of_2048():
    assert_allclose(optimal_laws.power_lines_optimal(2.22e9) / 2048, 116, rtol=5e-3)
    assert_allclose(optimal_laws.power_lines_optimal(2.22e9), 0.24e6, rtol=0.02)
    assert_allclose(critical_laws.power_lines_critical(2.22e9) / 2048, 980, rtol=5e-3)
    assert_allclose(critical_laws.power_lines_critical(2.22e9), 2.0e6, rtol=0.02)
    assert_allclose(optimal_laws.power_lines_optimal(1e12), 2.5e6, rtol=0.02)


def test_ten_times_the_tokens_raise_power_lines_optimum_2415_fold():
    assert_allclose(optimal_laws.power_lines_optimal(1e11) / optimal_laws.power_lines_optimal(1e10), 2.415, rtol=2e-4)


@pytest.mark.parametrize(
    "params, sequences", [(1.08e8, 160), (5173248, 20), (28672000, 64), (220872704, 256), (901726208, 640)]
)
def test_porian_is_near_the_batches_that_its_authors_used(params, sequences):
    assert_allclose(optimal_laws.porian(params) / 2048, sequences, rtol=0.12)  # their make_paper.ipynb, params_bs_map


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
    expected = {
        "step_law": 4.13e6,
        "schaipp": 4.13e6,
        "power_lines_optimal": 2.5e6,
        "zhang_data": 7.7e6,
        "merrill_plateau": 16.8e6,
    }
    assert_allclose(table[list(expected)], list(expected.values()), rtol=0.02)


def test_compute_is_six_times_parameters_times_tokens():
    table = laws.predictions(1e9, 2e10).set_index("law")["tokens_per_step"]
    assert_allclose(table["deepseek"], optimal_laws.deepseek(1.2e20))
    assert_allclose(table["moonlight"], optimal_laws.moonlight(1.2e20))


def test_laws_in_the_loss_need_a_loss():
    without, with_loss = laws.predictions(1e9, 2e10), laws.predictions(1e9, 2e10, loss=3.0)
    assert set(with_loss["law"]) == set(NAMES)
    assert set(NAMES) - set(without["law"]) == {"kaplan", "minicpm"}
    assert_allclose(with_loss.set_index("law")["tokens_per_step"]["kaplan"], critical_laws.kaplan(3.0))
    assert not with_loss.drop(columns="inside").isna().any(axis=None)


def test_columns_of_the_predictions():
    columns = [
        "law",
        "label",
        "kind",
        "tokens_per_step",
        "definition",
        "valid_range",
        "source",
        "inside",
        "evidence",
        "unverified",
    ]
    assert list(laws.predictions(1e9, 2e10)) == columns


def test_swapped_parameters_and_tokens_give_other_numbers():
    swapped, right = laws.predictions(2e10, 1e9), laws.predictions(1e9, 2e10)
    moved = right["tokens_per_step"] != swapped["tokens_per_step"]
    in_one = {name for name, law in laws.LAWS.items() if set(law.needs) & {"num_params", "tokens"}}
    assert set(right["law"][moved]) == in_one and len(in_one) == 7


def test_unverified_constants_are_said_to_be():
    doubted = {name for name, law in laws.LAWS.items() if law.unverified}
    assert doubted == {"power_lines_critical", "power_lines_optimal", "porian"}
    assert doubted == {name for name, law in laws.LAWS.items() if law.evidence == "unverified"}
    assert set(laws.predictions(1e9, 2e10).query("unverified != ''")["law"]) == doubted


MIDDLES = {"num_params": 5e9, "tokens": 1e12, "compute": 1e23, "loss": 3.0}


@pytest.mark.parametrize(
    "name, need, low, high",
    [(name, need, *ends) for name, law in laws.LAWS.items() for need, ends in law.range.items()],
)
def test_inside_ends_where_the_stated_range_ends(name, need, low, high):
    law = laws.LAWS[name]
    middle = {key: (ends[0] * ends[1]) ** 0.5 for key, ends in law.range.items()}
    within = True if set(law.needs) <= set(law.range) else None
    for value in (low, high, (low * high) ** 0.5):
        assert law.inside(MIDDLES | middle | {need: value}) is within
    for value in (0.99 * low, 1.01 * high):
        assert law.inside(MIDDLES | middle | {need: value}) is False
    both = law.inside(MIDDLES | middle | {need: np.array([0.99 * low, low, high, 1.01 * high])})
    assert list(both) == [False, within, within, False]


def test_stated_ranges_are_those_of_the_sources():
    box = {"num_params": (85e6, 1.2e9), "tokens": (1.741e9, 2.4576e10)}
    stated = {
        "kaplan": {"loss": (2, 6)},
        "kaplan_compute": {"num_params": (768, 1.5e9)},
        "zhang_data": box,
        "zhang_params": box,
        "merrill_plateau": {"num_params": (1e9, 7e9)},
        "power_lines_critical": {"num_params": (111e6, 3.3e9)},
        "power_lines_optimal": {"num_params": (111e6, 3.3e9)},
        "deepseek": {"compute": (1e17, 2e19)},
        "minicpm": {"num_params": (9e6, 170e6)},
        "porian": {"num_params": (2.5e7, 1.1e8)},
    }
    assert {name: law.range for name, law in laws.LAWS.items() if law.range} == stated


def test_a_law_without_a_stated_range_is_neither_inside_nor_outside():
    assert optimal_laws.LAWS["step_law"].inside(MIDDLES) is None


def test_a_stated_size_alone_does_not_say_that_a_law_in_the_tokens_applies():
    assert laws.LAWS["power_lines_optimal"].inside(MIDDLES | {"num_params": 1e9}) is None
    assert laws.LAWS["power_lines_optimal"].inside(MIDDLES | {"num_params": 1e10}) is False


@pytest.mark.parametrize(
    "num_params, tokens, loss, within",
    [
        (1e9, 2e10, 3.0, {"kaplan", "zhang_data", "zhang_params", "merrill_plateau"}),
        (1e10, 1e12, 1.8, set()),
        (5e7, 1e9, 3.5, {"kaplan", "deepseek", "porian"}),
    ],
)
def test_laws_inside_their_range_at_one_run(num_params, tokens, loss, within):
    table = laws.predictions(num_params, tokens, loss)
    assert {name for name, inside in zip(table["law"], table["inside"], strict=True) if inside is True} == within


@pytest.mark.parametrize("name", NAMES)
def test_law_takes_what_it_needs_and_says_what_it_is(name):
    law = laws.LAWS[name]
    assert tuple(inspect.signature(law.function).parameters) == law.needs and set(law.needs) <= set(INPUTS)
    assert law.kind in ("critical", "optimal") and law.status == "empirical"
    assert law.definition.startswith(law.kind)
    assert law.label and law.short and law.valid_range and "arXiv" in law.source and law.evidence in EVIDENCE
    assert len(law.needs) <= 1 and set(law.range) <= set(INPUTS)


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
