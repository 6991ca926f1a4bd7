"""Grids of rates from tables of final losses, logs of runs and sweeps: what is read, what is left out, what the scenario gets."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from bsmath import intake, logs, sweeps
from bsmath.lr_grid_fit import GridFit
from bsmath.rate_grid import RateGrid, of_sweep, scenario_changes

BATCHES, RATES, SATURATION = 2.0 ** np.arange(14, 22), 3e-4 * 2.0 ** np.arange(-3, 5), 2**17


def best(batch):
    """The synthetic truth: a saturating law."""
    return 1e-3 / (1 + SATURATION / batch)


def rows(header="batch_tokens,lr,final_val_loss", seq_len=1, cell=lambda loss: f"{loss:.5f}"):
    """A synthetic table of final losses in a valley around the best rate."""
    lines = [header]
    for batch in BATCHES:
        for rate in best(batch) * 2.0 ** np.arange(-2, 3):
            loss = 3.0 + 0.02 * np.log(rate / best(batch)) ** 2
            lines.append(f"{batch / seq_len:.0f},{rate:.6g},{cell(loss)}")
    return "\n".join(lines).encode()


def grid_of(data: bytes, name="grid.csv") -> RateGrid:
    log = logs.read(data, name)
    assert log.kind == "grid"
    return log.record


def test_a_table_of_final_losses_is_a_grid_and_its_law_is_found():
    grid = grid_of(rows())
    assert (grid.batch_unit, grid.value, grid.groups) == ("tokens", "final_val_loss", [""])
    fit = grid.fit("")
    assert isinstance(fit, GridFit) and fit.best == "saturating"
    assert_allclose(grid.optima("")["learning_rate"], best(BATCHES), rtol=1e-3)
    assert fit.laws["saturating"].parameters["saturation_batch"] == pytest.approx(SATURATION, rel=0.01)


def test_batches_in_sequences_become_tokens_by_a_length_that_is_said():
    grid = grid_of(rows("batch_size,learning_rate,val_loss", seq_len=1024))
    assert grid.batch_unit == "sequences"
    assert_allclose(sorted(set(grid.in_tokens(1024).table["tokens_per_step"])), BATCHES)
    assert "1,024 tokens each were assumed" in grid.in_tokens(1024).problems[-1]
    known = grid_of(
        rows("batch_size,learning_rate,val_loss,seq_len", seq_len=1024, cell=lambda loss: f"{loss:.5f},1024")
    )
    assert known.batch_unit == "tokens" and known.in_tokens(7) is known


def test_runs_without_a_finite_loss_are_kept_as_diverged():
    grid = grid_of(rows() + b"\n16384,0.5,nan\n16384,1.0,\n0,0.1,3.0")
    assert int(grid.table["value"].isna().sum()) == 2
    assert grid.problems == (
        "1 of 43 rows have no positive batch and rate and are left out.",
        "2 runs have no finite loss and count as diverged.",
    )


def test_models_have_grids_of_their_own():
    both = rows("batch_tokens,lr,val_loss,model", cell=lambda loss: f"{loss:.5f},7b") + rows(
        "\n", cell=lambda loss: f"{loss:.5f},70b"
    )
    grid = grid_of(both)
    assert sorted(grid.groups) == ["70b", "7b"] and len(grid.of("7b")) == 40


def test_a_grid_at_the_edge_of_its_rates_is_refused_with_what_to_do():
    lines = [
        "batch_tokens,lr,val_loss",
        *(f"{batch:.0f},{rate},{3 - rate:.4f}" for batch in BATCHES for rate in (0.1, 0.2, 0.4)),
    ]
    said = grid_of("\n".join(lines).encode()).fit("")
    assert isinstance(said, str) and "widen the grid to higher rates" in said


@pytest.mark.parametrize("table", ["1024,0.1,3\n1024,0.2,3.1", "1024,0.1,3\n2048,0.1,3.1", "1024,0.1,3\n2048,0.2,3.1"])
def test_one_batch_or_one_rate_is_no_grid_and_the_sweeps_say_what_is_missing(table):
    data = f"batch_tokens,lr,val_loss\n{table}\n".encode()
    assert logs.read(data, "one.csv") is None
    with pytest.raises(sweeps.SweepError, match="runs with a final loss 'val_loss' at"):
        sweeps.read(data, "one.csv")


def test_the_best_rate_of_each_batch_alone_has_an_interval_of_its_own():
    lines = ["batch_tokens,lr,val_loss", *(f"{batch:.0f},{best(batch):.6g},3.0" for batch in BATCHES)]
    grid = grid_of("\n".join(lines).encode())
    assert_allclose(
        grid.optima("")["high"] / grid.optima("")["learning_rate"], np.exp(1.645 * np.log(2) / 4), rtol=1e-3
    )
    assert grid.fit("").best == "saturating"


def test_a_sweep_with_rates_is_a_grid_of_steps():
    lines = ["batch_tokens,lr,steps_to_target"]
    lines += [
        f"{batch:.0f},{rate:.6g},{1000 + 100 * np.log(rate / best(batch)) ** 2:.0f}"
        for batch in BATCHES
        for rate in best(batch) * 2.0 ** np.arange(-2, 3)
    ]
    found = sweeps.read("\n".join(lines).encode(), "steps.csv")
    grid = of_sweep(found.table, found.name, found.batch_unit)
    assert grid.value == "steps to the target" and len(grid.table) == 40
    assert grid.fit(grid.groups[0]).best == "saturating"
    rates = sweeps.read(b"batch_tokens,tok/s\n1024,5\n2048,6\n", "rates.csv")
    assert of_sweep(rates.table, rates.name, rates.batch_unit) is None


def test_logs_of_runs_are_read_at_their_end_and_unfinished_ones_are_left_out():
    lines = ["run,batch_tokens,lr,step,val_loss"]
    for batch in (1024, 2048, 4096, 8192):
        for count, rate in enumerate(np.float64(batch) / 1e6 * 2.0 ** np.arange(-2, 3)):
            stops = 2**20 / batch * (0.5 if (batch, count) == (1024, 4) else 1)
            lines += [
                f"b{batch}-{count},{batch},{rate:.6g},{step:.0f},{4 - step / stops + 0.1 * abs(count - 2):.4f}"
                for step in (1, stops / 2, stops)
            ]
    runs = intake.read([("runs.csv", "\n".join(lines).encode())]).runs
    grid = runs.grid()
    assert len(grid.table) == 19 and grid.problems == ("1 of 20 runs stopped early and are left out.",)
    assert_allclose(
        grid.table["value"], [3 + 0.1 * abs(count - 2) for count in [0, 1, 2, 3, *[0, 1, 2, 3, 4] * 3]], atol=1e-3
    )
    assert_allclose(grid.optima("")["best_learning_rate"] * 1e6, [1024, 2048, 4096, 8192])


def test_logs_at_one_rate_are_no_grid():
    lines = [
        "run,batch_tokens,lr,step,val_loss",
        *(f"b{batch},{batch},0.1,{step},{4 - step / 9}" for batch in (1, 2) for step in (1, 2, 3)),
    ]
    assert intake.read([("runs.csv", "\n".join(lines).encode())]).runs.grid() is None


def test_the_scenario_gets_the_rate_at_the_nearest_measured_batch():
    changes = scenario_changes(grid_of(rows()).fit(""), 100_000)
    assert changes["reference_tokens_per_step"] == 131_072
    assert changes["learning_rate"] == pytest.approx(best(131_072), rel=0.02)
    assert changes["adam_saturation_batch"] == pytest.approx(SATURATION, rel=0.02)
