import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import curve_fit

from bsmath import logline, published, sweeps
from bsmath.hyperbola_fit import fit_hyperbola

# Zhang et al. 2024, arXiv 2410.21676, refitted from the adjusted counts of the authors' notebook:
# a [steps], b [steps x sequences], B* and b/a [sequences of 512], and both in tokens to three digits.
TABLE = {
    "85M": (1293.83, 2.8343e6, 745.3, 3.82e5, 2190.6, 1.12e6),
    "151M": (1752.42, 5.6775e6, 955.2, 4.89e5, 3239.8, 1.66e6),
    "302M": (2095.35, 1.13833e7, 1393.7, 7.14e5, 5432.6, 2.78e6),
    "604M": (2459.93, 1.94497e7, 1888.5, 9.67e5, 7906.6, 4.05e6),
    "1.2B": (3897.31, 4.33811e7, 2533.4, 1.30e6, 11131.1, 5.70e6),
}

# Least steps in the authors' logs where they differ from the adjusted ones (outputs of plots/chinchilla.ipynb), and b/a.
LOGGED = {
    ("85M", 2048): 2500, ("85M", 4096): 1800, ("151M", 512): 11951, ("151M", 2048): 4200, ("151M", 4096): 2760,
    ("1.2B", 64): 643000,
}  # fmt: skip
LOGGED_CRITICAL = {"85M": 2240, "151M": 3300, "302M": 5430, "604M": 7910, "1.2B": 11100}


@pytest.fixture(scope="module")
def fits():
    return published.zhang_fits().set_index("model")


def printed(value: float, as_given: float) -> bool:
    """Whether a value rounds to a printed one at its last digit."""
    digits = len(f"{as_given:.10g}".split("e")[0].replace(".", "").rstrip("0"))
    return float(f"{value:.{digits}g}") == as_given


@pytest.mark.parametrize("model", TABLE)
def test_the_fits_give_the_published_table_to_its_last_digit(fits, model):
    a, b, sequences, tokens, critical, critical_tokens = TABLE[model]
    row = fits.loc[model]
    assert printed(row["min_steps"], a)
    assert printed(row["min_tokens"] / published.SEQ_LEN, b)
    assert printed(row["overhead20_batch"] / published.SEQ_LEN, sequences)
    assert printed(row["overhead20_batch"], tokens)
    assert printed(row["critical_batch_size"] / published.SEQ_LEN, critical)
    assert printed(row["critical_batch_size"], critical_tokens)


def test_the_authors_estimator_is_plain_least_squares_in_log_space(fits):
    for model, series in published.zhang().groupby("model"):
        batch, steps = series["tokens_per_step"].to_numpy(float), series["steps"].to_numpy(float)
        assert_allclose(logline.fit(1 / batch, steps).ratio, fits.loc[model, "critical_batch_size"], rtol=1e-6)


def test_a_fit_in_linear_space_does_not_give_the_table():
    series = published.zhang().query("model == '302M'")
    batch = series["tokens_per_step"] / published.SEQ_LEN
    (a, b), _ = curve_fit(lambda size, a, b: a + b / size, batch, series["steps"])
    assert b / a > 4 * TABLE["302M"][4]


def test_the_logged_counts_give_nearly_the_same_critical_batches():
    table = published.zhang()
    for (model, sequences), steps in LOGGED.items():
        here = (table["model"] == model) & (table["tokens_per_step"] == sequences * published.SEQ_LEN)
        assert abs(table.loc[here, "steps"].item() / steps - 1) < 0.07
        table.loc[here, "steps"] = steps
    for model, series in table.groupby("model"):
        fit = fit_hyperbola(series["tokens_per_step"], series["steps"])
        assert printed(fit.critical_batch_size / published.SEQ_LEN, LOGGED_CRITICAL[model])


def test_the_hyperbola_is_three_to_four_times_the_overhead_batch(fits):
    assert fits["ratio"].min() == pytest.approx(2.9, abs=0.05)
    assert fits["ratio"].max() == pytest.approx(4.4, abs=0.05)
    assert (np.diff(fits["ratio"]) > 0).all()


def test_the_two_definitions_grow_at_different_rates(fits):
    assert published.growth(fits, "overhead20_batch") == pytest.approx(0.468, abs=5e-4)
    assert published.growth(fits, "critical_batch_size") == pytest.approx(0.62, abs=5e-3)
    assert published.growth(fits, "overhead20_batch", "num_params") == pytest.approx(0.46828, abs=5e-6)


def test_the_laws_of_zhang_are_these_fits(fits):
    sequences = np.log(fits["overhead20_batch"] / published.SEQ_LEN)
    in_tokens = np.polyfit(np.log(fits["budget_tokens"] / 1e6), sequences, 1)
    in_params = np.polyfit(np.log(fits["num_params"] / 1e6), sequences, 1)
    assert np.exp(in_tokens[1]) == pytest.approx(22.72, abs=0.01)
    assert np.exp(in_params[1]) == pytest.approx(93.20, abs=0.005)


def test_every_critical_batch_lies_in_its_own_interval(fits):
    assert (fits["low"] < fits["critical_batch_size"]).all() and (fits["critical_batch_size"] < fits["high"]).all()


def test_another_reference_batch_moves_the_overhead_batch_alone(fits):
    other = published.zhang_fits(optimal_batch=0).set_index("model")
    assert_allclose(other["critical_batch_size"], fits["critical_batch_size"])
    assert_allclose(other["ratio"], 5)


def test_a_budget_is_what_the_reference_run_trained_on():
    reference = {"85M": 13_282, "151M": 23_438, "302M": 46_875, "604M": 93_750, "1.2B": 187_500}
    table = published.zhang().drop_duplicates("model").set_index("model")
    for model, steps in reference.items():
        assert table.loc[model, "budget_tokens"] == pytest.approx(steps * 256 * 512, rel=2e-4)


def test_the_file_is_read_as_a_sweep_without_a_question_or_a_problem():
    found = sweeps.read(published.zhang_csv(), "zhang.csv")
    assert not found.questions and not found.problems and found.batch_unit == "tokens"
    assert found.series == tuple(TABLE)
    table = published.zhang()
    assert len(table) == len(found.table) == 45
    assert found.table["tokens_per_step"].tolist() == table["tokens_per_step"].tolist()
    assert found.table["steps"].tolist() == table["steps"].tolist()
    assert "adjusted" in " ".join(found.comments) and "2410.21676" in found.comments[0]


def test_the_series_fitted_as_any_upload_give_the_same_numbers(fits):
    for one in published.zhang_measurements():
        assert one.num_params == fits.loc[one.label, "num_params"]
        assert_allclose(one.fit.critical_batch_size, fits.loc[one.label, "critical_batch_size"], rtol=1e-6)
        assert one.worst_residual < 0.13
