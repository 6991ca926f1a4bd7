import pytest
from numpy.testing import assert_allclose

from bsmath.flops import active_params, flops_per_token, mfu, mfu_headroom


def test_founding_question_implies_0_8b_parameters():
    assert_allclose(active_params(136_700, 0.66, 989e12, 1), 7.958e8, rtol=1e-4)


def test_sparse_peak_would_double_the_parameters():
    assert_allclose(active_params(136_700, 0.66, 1979e12, 1), 1.592e9, rtol=1e-3)


@pytest.mark.parametrize(
    "rate, params, peak, devices, expected",
    [
        (238.3e3, 540e9, 275e12, 6144, 0.45697),  # PaLM 540B without attention, Chowdhery et al. 2022
        (1920 * 2048 / 60.1, 530e9, 312e12, 2240, 0.29772),  # MT-NLG 530B by 6N
    ],
)
def test_published_mfu(rate, params, peak, devices, expected):
    assert_allclose(mfu(rate, flops_per_token(params), peak, devices), expected, rtol=2e-3)


def test_gpt3_needs_1_05e12_flops_a_token():
    assert_allclose(flops_per_token(175e9), 1.05e12)


def test_mfu_and_parameters_invert_each_other():
    assert_allclose(mfu(5e4, flops_per_token(active_params(5e4, 0.4, 312e12, 8)), 312e12, 8), 0.4)


def test_founding_run_could_be_1_22_times_faster_at_most():
    assert_allclose(mfu_headroom(0.66, 794.5 / 989), 1.22, atol=0.005)
