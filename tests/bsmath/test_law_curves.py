import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from bsmath import laws
from bsmath.law_curves import AXES, LOSSES, lines, slopes, table

N, D, L = 8e8, 5e10, 3.0


def curves(num_params, tokens, loss, over="tokens") -> pd.DataFrame:
    return table(lines(num_params, tokens, loss, over))


@pytest.mark.parametrize("over", AXES)
def test_curves_go_through_the_predictions_at_the_run(over):
    found, run = curves(N, D, L, over), laws.predictions(N, D, L)
    at = {"tokens": D, "parameters": N, "loss": L}[over]
    assert set(found["law"]) == set(run["law"])
    for law in run.itertuples():
        curve = found[found["law"] == law.law].sort_values("x")
        here = np.exp(np.interp(np.log(at), np.log(curve["x"]), np.log(curve["tokens_per_step"])))
        assert_allclose(here, law.tokens_per_step)  # power laws are straight lines in the logarithms


@pytest.mark.parametrize("over, input", AXES.items())
def test_laws_that_do_not_depend_on_the_axis_are_horizontal(over, input):
    moving = {"tokens": {"tokens", "compute"}, "num_params": {"num_params", "compute"}, "loss": {"loss"}}[input]
    found = curves(N, D, L, over)
    flat = found.groupby("law")["tokens_per_step"].nunique() == 1
    assert {name for name in flat.index[flat]} == {
        name for name, law in laws.LAWS.items() if not set(law.needs) & moving
    }


def test_compute_is_6nd_at_every_point():
    for over in ("tokens", "parameters"):
        found = curves(N, D, L, over).query("law == 'deepseek'")
        other = {"tokens": N, "parameters": D}[over]
        assert_allclose(found["tokens_per_step"], 0.2920 * (6 * other * found["x"]) ** 0.3271)


def test_axes_reach_two_to_three_decades_around_the_run_and_from_15_to_6_nats():
    for over, middle in (("tokens", D), ("parameters", N)):
        x = curves(N, D, L, over)["x"]
        assert 2 <= np.log10(x.max() / middle) <= 3 and 2 <= np.log10(middle / x.min()) <= 3
    assert_allclose((curves(N, D, L, "loss")["x"].min(), curves(N, D, L, "loss")["x"].max()), LOSSES)
    assert LOSSES == (1.5, 6)


@pytest.mark.parametrize("loss", [0.1, 20])
def test_the_axis_of_the_loss_reaches_a_run_beyond_it(loss):
    x = curves(N, D, loss, "loss")["x"]
    assert x.min() < loss < x.max() and x.min() <= 1.5 and x.max() >= 6


def test_without_a_loss_laws_in_it_are_drawn_over_the_loss_alone():
    assert {"kaplan", "minicpm"} <= set(curves(N, D, None, "loss")["law"])
    assert not {"kaplan", "minicpm"} & set(curves(N, D, None, "tokens")["law"])


def test_points_are_inside_exactly_within_the_stated_range():
    zhang = curves(N, D, L, "tokens").query("law == 'zhang_data'")
    expected = (zhang["x"] >= 1.741e9) & (zhang["x"] <= 2.4576e10)
    assert list(zhang["inside"]) == list(expected) and expected.any() and not expected.all()
    deepseek = curves(N, D, L, "parameters").query("law == 'deepseek'")
    compute = 6 * D * deepseek["x"]
    assert list(deepseek["inside"]) == list((compute >= 1e17) & (compute <= 2e19 * (1 + 1e-9)))


@pytest.mark.parametrize(
    "law, over, ends",
    [
        ("zhang_data", "tokens", (1.741e9, 2.4576e10)),
        ("kaplan", "loss", (2, 6)),
        ("deepseek", "tokens", (5e10 / 10**2.5, 2e19 / (6 * N))),
        ("porian", "parameters", (2.5e7, 1.1e8)),
    ],
)
def test_the_part_inside_reaches_from_end_to_end_of_the_stated_range(law, over, ends):
    found = curves(N, D, L, over)
    inside = found[(found["law"] == law) & (found["inside"] == True)]  # noqa: E712 (the column holds None too)
    assert_allclose((inside["x"].min(), inside["x"].max()), ends)


def test_an_input_off_the_axis_puts_a_whole_law_outside():
    assert not curves(8e9, D, L, "tokens").query("law == 'zhang_data'")["inside"].any()


def test_a_range_that_is_not_stated_is_none_at_every_point():
    assert all(value is None for value in curves(N, D, L).query("law == 'step_law'")["inside"])


def test_unknown_axis_is_an_error():
    with pytest.raises(KeyError, match="flops"):
        curves(N, D, L, "flops")


EXPONENTS = {
    "Kaplan et al. 2020, in L": -1 / 0.21,
    "Kaplan et al. 2020, in C": 0.24,
    "Zhang et al. 2024, in D": 0.47,
    "Step Law, Li et al. 2025, in D": 0.571,
    "DeepSeek LLM 2024, in C": 0.3271,
    "MiniCPM, Hu et al. 2024, in L": -6.24,
    "Schaipp 2026, in D": 0.566,
    "Power Lines 2025, B_crit in D": 0.462,
    "Power Lines 2025, B_opt in D": 0.383,
    "Porian et al. 2024, in N": 0.70,
    "Shuai et al. 2024, in C": 0.102,
    "Scion, norm transfer 2025, in D": 0.45,
}


def test_exponents_are_those_of_the_sources():
    found = slopes().set_index("label")
    assert_allclose(found["exponent"][list(EXPONENTS)], list(EXPONENTS.values()))
    assert_allclose(found["growth"], 2 ** found["exponent"])


def test_only_shuai_and_scion_have_no_level():
    assert set(slopes().query("~level")["label"]) == {"Shuai et al. 2024, in C", "Scion, norm transfer 2025, in D"}


def test_shuais_steps_and_batch_multiply_to_the_tokens():
    exponent = slopes().set_index("label")["exponent"]["Shuai et al. 2024, in C"]
    assert_allclose(0.434 + exponent, 0.536)  # S ~ C^0.434, D ~ C^0.536


def test_a_law_keeps_its_place_where_others_are_missing():
    full, fewer = (curves(N, D, loss).drop_duplicates("law").set_index("law")["place"] for loss in (L, None))
    assert (full[fewer.index] == fewer).all() and len(full) > len(fewer)
    for kind in ("critical", "optimal"):
        places = [full[name] for name, law in laws.LAWS.items() if law.kind == kind]
        assert places == list(range(len(places)))
