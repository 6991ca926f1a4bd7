import numpy as np
import pytest
from numpy.testing import assert_allclose

from bsmath.fitted_rate import consequences
from bsmath.measured import measurement
from bsmath.outlook import outlook
from bsmath.scenario import Scenario
from bsmath.sweeps import read

SIZES = (2048, 8192, 32768, 131072, 524288)


def swept(noise=(1, 1, 1, 1, 1), extra=""):
    header = "batch_tokens,tokens_per_s" + (",num_params" if extra else "") + "\n"
    rows = [f"{size},{size / (0.05 + size / 1.4e5) * factor}{extra}" for size, factor in zip(SIZES, noise, strict=True)]
    return measurement(read((header + "\n".join(rows)).encode(), "sweep.csv"), "all rows", "tokens_per_second")


def test_plateau_s_mfu_is_its_rate_in_six_n():
    scenario = Scenario()
    found = consequences(scenario, outlook(scenario), swept())
    assert_allclose(found.mfu[0], 1.4e5 * 6 * 7.96e8 / 989e12, rtol=1e-6)


def test_padding_is_work_and_counts_in_mfu():
    scenario = Scenario(padding_fraction=0.5)
    found = consequences(scenario, outlook(scenario), swept())
    assert_allclose(found.mfu[0], 2 * 1.4e5 * 6 * 7.96e8 / 989e12, rtol=1e-6)


def test_parameters_of_the_file_count_before_the_scenario_s():
    scenario = Scenario()
    found = consequences(scenario, outlook(scenario), swept(extra=",7.96e7"))
    assert found.active_params == 7.96e7
    assert_allclose(found.mfu[0], 1.4e5 * 6 * 7.96e7 / 989e12, rtol=1e-6)


def test_intervals_hold_their_values_and_noise_widens_them():
    scenario = Scenario()
    quiet, loud = (
        consequences(scenario, outlook(scenario), swept(1 + spread * np.array([1, -1, 1, -1, 1])))
        for spread in (0.01, 0.03)
    )
    for found in (quiet, loud):
        assert found.mfu[1] < found.mfu[0] < found.mfu[2] and found.gain[1] < found.gain[0] < found.gain[2]
    assert loud.mfu[2] - loud.mfu[1] > quiet.mfu[2] - quiet.mfu[1]


def test_doubling_is_asked_at_the_scenario_s_batch():
    scenario = Scenario()
    found = consequences(scenario, outlook(scenario), swept())
    assert_allclose(found.gain[0], 7000 / (2 * 98_304 + 7000), rtol=1e-4)


@pytest.mark.parametrize("rows", ["2048,30000\n4096,40000\n", "2048,30000\n"])
def test_two_batches_have_no_consequences(rows):
    found = measurement(read(b"batch_tokens,tokens_per_s\n" + rows.encode(), "s.csv"), "all rows", "tokens_per_second")
    assert consequences(Scenario(), outlook(Scenario()), found) is None
