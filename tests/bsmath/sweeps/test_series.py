"""Which columns tell runs apart."""

from bsmath import sweeps


def read(header, rows, **answers):
    text = "\n".join([header, *(",".join(map(str, row)) for row in rows)])
    return sweeps.read(text.encode(), "x.csv", answers)


def grid(*levels):
    rows = [()]
    for level in levels:
        rows = [(*row, value) for row in rows for value in level]
    return rows


BATCHES = (32_768, 65_536, 131_072)


def test_rows_that_nothing_tells_apart_are_one_series():
    assert read("batch_tokens,tok/s", [(b, 1) for b in BATCHES]).series == ("all rows",)


def test_models_devices_and_hardware_are_joined_in_a_name():
    rows = grid(("v100", "k80"), ("LM", "CNN"), (1, 8), BATCHES)
    series = read("gpu,workload,n_gpus,batch_tokens,steps_per_s", [(*row, 1) for row in rows]).series
    assert len(series) == 8 and series[0] == "LM · v100 · 1 GPU" and series[-1] == "CNN · k80 · 8 GPUs"


def test_a_column_that_another_one_determines_is_left_out():
    rows = [(*row, b, 1) for row in (("85M", 85, 3.42), ("302M", 302, 3.07)) for b in BATCHES]
    assert read("model_size,params_millions,goal_loss,batch_tokens,steps_to_goal", rows).series == ("85M", "302M")


def test_models_with_batches_of_their_own_are_told_apart():
    rows = [("a", b, 1) for b in BATCHES] + [("b", 8 * b, 1) for b in BATCHES]
    assert read("model,batch_tokens,tok/s", rows).series == ("a", "b")


def test_names_of_single_rows_and_names_of_batches_are_no_series():
    rows = [(f"bs-{b}-{seed}", f"bs-{b}", b, seed, 1) for b in BATCHES for seed in (1, 2)]
    sweep = read("run,group,batch_tokens,seed,tok/s", rows)
    assert sweep.series == ("all rows",) and len(sweep.table) == 6


def test_run_names_over_several_batches_are_series():
    rows = [(run, b, 1) for run in ("before", "after") for b in BATCHES]
    assert read("run,batch_tokens,tok/s", rows).series == ("before", "after")


def test_measurements_never_tell_runs_apart():
    rows = [(b, memory, 0.41, 1) for b in BATCHES for memory in ("10GB", "12GB")]
    assert read("batch_tokens,Mem Alloc,MFU,tok/s", rows).series == ("all rows",)


def test_devices_that_grow_with_the_batch_are_a_confounder_and_no_series():
    sweep = read("n_gpus,batch_tokens,tok/s", [(n, 32_768 * n, n) for n in (1, 2, 4, 8)])
    assert sweep.series == ("all rows",)
    assert "confounded: n_gpus (in 1 series)" in sweep.problems[0].what and sweep.problems[0].row is None


def test_micro_batches_that_change_inside_a_series_are_named():
    sweep = read("mbs,accum,replicas,seq_len,step_time", [(1, 1, 1, 16, 1), (2, 1, 1, 16, 2), (2, 2, 1, 16, 4)])
    assert "confounded: mbs" in sweep.problems[0].what
    assert not read("mbs,accum,replicas,seq_len,step_time", [(b, 1, 1, 16, b) for b in (1, 2, 4)]).problems


def test_a_learning_rate_grid_is_one_series_per_rate_where_that_is_wanted():
    rows = [(lr, b, 9) for lr in ("1e-3", "3e-3") for b in BATCHES]
    each = read("lr,batch_tokens,steps_to_target", rows, tuning="each rate by itself")
    assert each.series == ("lr 0.001", "lr 0.003")
    assert read("lr,batch_tokens,steps_to_target", rows).series == ("all rows",)


def test_a_learning_rate_tuned_at_each_batch_is_no_series():
    rows = [(lr, b, 9) for lr, b in zip((1e-3, 2e-3, 3e-3), BATCHES)]
    assert read("lr,batch_tokens,steps_to_target", rows).series == ("all rows",)


def test_flags_are_named_with_their_column():
    rows = [(flag, b, 1) for flag in ("True", "False") for b in BATCHES]
    assert read("compile,batch_tokens,tok/s", rows).series == ("compile True", "compile False")


def test_the_user_may_choose_the_series():
    rows = [(run, gpu, b, 1) for run in ("x", "y") for gpu in ("a", "b") for b in BATCHES]
    header = "run,gpu,batch_tokens,tok/s"
    assert read(header, rows, series_columns=("gpu",)).series == ("a", "b")
    assert read(header, rows, series_columns=()).series == ("all rows",)


def test_repeats_stay_rows_and_aggregate_to_one():
    sweep = read(
        "batch_tokens,seed,steps_to_target", [(65_536, 1, 10), (65_536, 2, 30), (65_536, 3, 14), (32_768, 1, 40)]
    )
    found = sweeps.aggregate(sweep, "all rows", "steps")
    assert len(sweep.table) == 4
    assert found.columns.tolist() == ["tokens_per_step", "median", "low", "high", "count"]
    assert found.to_numpy().tolist() == [[32_768, 40, 40, 40, 1], [65_536, 14, 10, 30, 3]]
    assert sweeps.aggregate(sweep.table, "all rows", "tokens_per_second").empty
