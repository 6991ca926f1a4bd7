import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import integrate

from bsmath.rate_schedule import share_of_peak

RUN = {"total_tokens": 100.0, "warmup_tokens": 10.0}


@pytest.mark.parametrize(
    "schedule, more, tokens, share",
    [
        ("cosine", {}, 5, 0.5), ("cosine", {}, 10, 1), ("cosine", {}, 55, 0.5), ("cosine", {}, 100, 0),
        ("cosine", {"floor": 0.1}, 100, 0.1), ("cosine", {"floor": 0.1}, 55, 0.55), ("cosine", {}, 300, 0),
        ("linear", {}, 55, 0.5), ("linear", {"floor": 0.2}, 55, 0.6),
        ("wsd", {"decay_tokens": 20.0}, 80, 1), ("wsd", {"decay_tokens": 20.0}, 90, 0.5), ("wsd", {}, 99, 1),
        ("constant", {"floor": 0.5}, 99, 1),
    ],
)  # fmt: skip
def test_the_share_of_the_peak(schedule, more, tokens, share):
    assert_allclose(share_of_peak(tokens, schedule=schedule, **RUN, **more), share, atol=1e-12)


def test_without_a_warmup_a_run_begins_at_its_peak():
    assert share_of_peak(0.0, total_tokens=100, warmup_tokens=0, schedule="cosine") == 1


def test_a_warmup_longer_than_the_run_never_reaches_the_peak():
    assert share_of_peak(100.0, total_tokens=100, warmup_tokens=400, schedule="constant") == 0.25


def test_a_vector_is_its_elements():
    seen = np.array([0.0, 5, 50, 100])
    assert_allclose(
        share_of_peak(seen, schedule="cosine", **RUN), [share_of_peak(x, schedule="cosine", **RUN) for x in seen]
    )


def test_seesaw_s_quarter_cosine_saves_1_minus_2_over_pi_of_the_steps():
    """Steps of a batch B_0/f are f over those of B_0; for f = cos(pi x/2) their mean is 2/pi (Meterez et al. 2025)."""
    assert_allclose(1 - integrate.quad(lambda x: np.cos(np.pi * x / 2), 0, 1)[0], 0.36338, atol=1e-5)


def test_an_unknown_schedule_is_named():
    with pytest.raises(ValueError, match="schedule must be one of cosine, linear, wsd, constant"):
        share_of_peak(1.0, schedule="step", **RUN)
