"""What the pages say about the shipped measurements must be true of them."""

import pytest

from bsmath import comparison, shipped

HEADER = ("command: python -m bsmath.bench", "date: ", "machine: ", "software: Python ", "settings: ")


@pytest.mark.parametrize("kind", ["throughput", "convergence", "noise", "branch", "router"])
def test_every_measurement_says_how_it_was_made(kind):
    path = shipped.path(kind)
    comments = [line[2:] for line in path.read_text().splitlines() if line.startswith("# ")]
    for start in HEADER:
        assert any(comment.startswith(start) for comment in comments), start
    assert f"bench {kind} " in comments[0] and f"data/measured/{path.name}" in comments[0]


def test_the_throughput_sweep_has_its_batches_and_repeats_and_fits_a_line():
    found = shipped.sweep("throughput")
    assert len(found.points) >= 8 and found.points["count"].min() >= 3
    assert found.identified
    assert found.worst_residual < 0.15


def test_the_convergence_sweep_fits_the_hyperbola_at_the_best_rate_of_every_batch():
    found = shipped.sweep("convergence")
    assert found.points["tokens_per_step"].tolist() == [64 * 2**power for power in range(2, 10)]
    assert found.points["count"].min() >= 2
    assert found.identified
    assert found.worst_residual < 0.1
    low, high = found.fit.interval()["critical_batch_size"]
    assert high < 1.5 * low


def test_the_runs_of_the_convergence_sweep_are_the_whole_grid_with_what_never_arrived():
    lines = [line for line in shipped.path("convergence").read_text().splitlines() if not line.startswith("#")]
    assert len(lines) - 1 == 8 * 5 * 3
    assert sum(",not reached," in line for line in lines) > 0


def test_the_noise_scale_of_the_whole_run_is_less_than_that_of_its_second_half():
    log = shipped.log("noise").record
    assert log.estimate().noise_scale < log.estimate(since=0.5).noise_scale
    rows = log.rows()
    assert rows["grad_sq_norm"].iloc[0] == rows["grad_sq_norm"].max()
    assert log.estimate(since=0.5).verdict()[0]


def test_the_layers_of_the_noise_log_add_up():
    log = shipped.log("noise").record
    for part in ("grad_sq_norm", "trace"):
        layers = sum(log.rows(group)[part].to_numpy() for group in log.groups if group != "all")
        assert layers == pytest.approx(log.rows()[part].to_numpy(), rel=1e-3)


def test_the_branched_critical_batch_grows_through_the_run():
    first, *_, last = shipped.log("branch").record.branches
    assert first.critical_batch_size < last.critical_batch_size


def test_the_three_measurements_agree_to_an_order_of_magnitude():
    values = shipped.critical_values()
    assert {value.method for value in values} == {comparison.HYPERBOLA, comparison.NOISE, comparison.BRANCHED}
    assert max(comparison.identified(values)) < 10 * min(comparison.identified(values))


def test_the_router_without_balancing_is_the_more_uneven_one_and_both_are_above_uniform():
    loads = shipped.log("router").record.summary((1.25,)).set_index(["setting", "routed_tokens"])
    largest = loads.xs(loads.index.get_level_values("routed_tokens").max(), level="routed_tokens")
    assert len(largest) == 2
    assert (largest["load_cv"] > largest["uniform_cv"]).all()
    assert largest["load_cv"].iloc[0] > largest["load_cv"].iloc[1]
