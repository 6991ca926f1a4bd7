"""Tables of runs of W&B, MLflow, Optuna and nanotron, results in epochs, tables with a loss alone, notes behind numbers."""

import time
from pathlib import Path

import pytest
from numpy.testing import assert_allclose

from bsmath import sweeps
from bsmath.sweeps import draft
from bsmath.sweeps.columns import recognize

SAMPLES = Path(__file__).parents[3] / "data" / "samples" / "logs"
REAL = Path(__file__).parents[4] / "shared" / "data"
GRID = '"Name","State","Runtime","batch_size","lr","seq_len","_step","train/loss"\n' + "".join(
    f'"r{size}-{rate}","finished","{900 + size}","{size}","{rate}","1024","500","{3 + size / 1000}"\n'
    for size in (16, 32, 64)
    for rate in (1e-3, 3e-3)
)


def read(text: str, name: str = "x.csv", **answers):
    return sweeps.read(text.encode(), name, answers or None)


def sample(name: str, **answers):
    return read((SAMPLES / name).read_text(), name, **answers)


def refused(text: str, name: str = "x.csv") -> str:
    with pytest.raises(sweeps.SweepError) as error:
        read(text, name)
    assert "\n" not in str(error.value) and len(str(error.value)) < 900
    return str(error.value)


def said(sweep) -> list[tuple]:
    return [(problem.row, problem.what, problem.action) for problem in sweep.problems]


@pytest.mark.parametrize(
    "header, meaning",
    [
        ("lr-AdamW", "learning_rate"),
        ("lr-Adam-1/pg2", "learning_rate"),
        ("lr-AdamW-momentum", None),
        ("params_batch_size", "batch"),
        ("user_attrs_tokens_per_sec", "tokens_per_second"),
        ("user_attrs_steps_to_target", "steps"),
        ("metrics.steps_to_target", "steps"),
        ("params.steps", None),
        ("step_avg", "step_time"),
        ("summary.perf/tokens_per_sec", "tokens_per_second"),
        ("_runtime", "measurement"),
        ("_wandb.runtime", "note"),
        ("_step", "step_index"),
        ("config.global_batch_size", "batch"),
    ],
)
def test_headers_of_trackers(header, meaning):
    assert recognize(header, is_number=True).meaning == meaning


def test_a_wandb_table_keeps_killed_runs_and_names_those_without_a_result():
    sweep = sample("wandb_runs.csv")
    assert sweep.table["tokens_per_step"].tolist() == [2048 * size for size in (8, 16, 32, 64)]
    assert sweep.table["tokens_per_second"].tolist() == [111_000.5, 130_200.1, 139_800.9, 144_100.2]
    assert (6, "the row has no result", "row left out; State 'crashed'") in said(sweep)
    assert (None, "1 of 4 runs did not finish, by 'State'", "kept: a rate counts as far as the run came") in said(sweep)


def test_an_mlflow_table_is_read_past_its_failed_run():
    sweep = sample("mlflow_runs.csv")
    assert sweep.table["tokens_per_step"].tolist() == [2048 * size for size in (8, 16, 32)]
    assert said(sweep) == [(5, "the row has no result", "row left out; Status 'FAILED'")]


def test_pruned_and_failed_trials_of_optuna_did_not_arrive():
    sweep = sample("optuna_trials.csv", seq_len=1024)
    tuned = sweep.tuning
    assert tuned["steps"].dropna().tolist() == [4200, 3900, 2500, 2300, 1500, 1100] and tuned["censored"].sum() == 2
    assert sweeps.best_rates(sweep, "all rows")["steps"].tolist() == [3900, 2300, 1500, 1100]


@pytest.mark.parametrize("values", ["value", "values_0,values_1"])
def test_the_objective_of_optuna_is_no_rate(values):
    more = ",7" * values.count(",")
    text = f"number,{values},duration,params_batch_size,params_lr,state\n"
    text += "".join(f"{n},3.{n}{more},0 days 00:04:22.3,{64 * 2**n},0.0003,COMPLETE\n" for n in range(3))
    assert "the objective of Optuna: if it is a rate, name it tokens_per_s" in refused(text)
    indexed = "\n".join(("," if n == 0 else f"{n},") + line for n, line in enumerate(text.strip().split("\n")))
    assert "the objective of Optuna" in refused(indexed)


def test_the_batch_of_nanotron_is_in_sequences_and_its_rate_per_gpu_of_all_sixteen():
    sweep = sample("nanotron_bench.csv")
    assert sweep.table["tokens_per_step"].tolist() == [16 * 4096 * 2**n for n in range(5)]
    assert sweep.table["num_devices"].tolist() == [16] * 5 and not sweep.questions
    assert_allclose(sweep.table["tokens_per_second"].iloc[0], 7000 * 16)


def test_a_grid_of_final_losses_is_told_what_it_is_and_what_to_export():
    text = GRID.replace('"_step"', '"note"')
    assert (
        "must have a result column" in refused(text)
        and "got runs with a final loss 'train/loss' at 3 batches and 2 learning rates, which tells neither a throughput nor the "
        "steps to one loss: export the losses of each run by step"
        in refused(text)
    )


def test_the_length_of_runs_gives_a_rate_only_where_the_user_says_so():
    sweep = read(GRID)
    (question,) = [one for one in sweep.questions if one.key == "runtime_rate"]
    assert question.default == "no" and question.choices == ("no", "yes")
    assert (
        not sweep.has_throughput and not sweep.has_steps and any("a final loss" in what for _, what, _ in said(sweep))
    )


@pytest.mark.skipif("runtime_rate" not in draft.ANSWERS, reason="the answer is not known yet")
def test_the_length_of_runs_over_their_steps_is_a_stated_assumption():
    sweep = read(GRID, runtime_rate="yes")
    assert_allclose(sweep.table["tokens_per_second"].iloc[0], 16 * 1024 * 500 / 916)
    assert ("the time of a step is 'Runtime' / '_step'", "assumed; tokens/s come out too low") in [
        each[1:] for each in said(sweep)
    ]


def test_runs_of_one_batch_are_refused_and_not_asked_for_their_length():
    assert "at 1 batch and 1 learning rate," in refused(
        "Name,Runtime,_step,batch_size,lr,loss\na,9,5,64,1e-3,3\nb,9,5,64,1e-3,3\n"
    )


def test_names_tell_the_batch_where_no_column_does():
    sweep = read(
        "Name,State,tokens_per_sec\n" + "".join(f"bs-{size}-seq2048,finished,{size}\n" for size in (64, 128, 256))
    )
    assert sweep.table["tokens_per_step"].tolist() == [2048 * size for size in (64, 128, 256)]
    assert (None, "batch_size, seq_len are in no column but in every name", "read from the names") in said(sweep)
    assert read("run,tok/s\nbs-64k,1\nbs-128k,2\n").table["tokens_per_step"].tolist() == [64_000, 128_000]
    assert "batch column" in refused("Name,tokens_per_sec\nbs-64,1\nbaseline,2\n")


@pytest.mark.parametrize("header", ["epochs_to_target", "Epochs to converge", "num_epochs_to_target", "epochs needed"])
def test_epochs_to_a_target_are_asked_for_their_samples(header):
    text = f"batch_size,{header}\n64,3.2\n128,3.5\n256,4.0\n"
    (question,) = [one for one in read(text).questions if one.key == "samples_per_epoch"]
    assert question.default == "1"
    assert_allclose(read(text, samples_per_epoch=64_000).table["steps"], [3200, 1750, 1000])
    with_steps = read(f"batch_size,seq_len,steps_to_target,{header}\n64,8,100,3.2\n128,8,60,3.5\n")
    assert with_steps.table["steps"].tolist() == [100, 60] and all(
        one.key != "samples_per_epoch" for one in with_steps.questions
    )


def test_notes_behind_numbers_are_left_out_and_said():
    sweep = read(
        "batch_size,seq_len,tok/s\n8,2048,111989  <- best small\n16,2048,129970\n48,2048,136699 (best)\n64,2048,OOM\n"
    )
    assert sweep.table["tokens_per_second"].tolist() == [111_989, 129_970, 136_699]
    assert (None, "notes stand behind its numbers", "notes left out") in said(sweep)
    assert any("'OOM' is not a positive number" in what for _, what, _ in said(sweep))


@pytest.mark.parametrize(
    "cell", ["<" * 100_000, "(best" * 20_000, " " * 100_000 + "x", "1 <- " * 20_000, "1(max" * 20_000]
)
def test_no_cell_takes_long_however_it_is_made(cell):
    start = time.perf_counter()
    sweep = read(f"batch_size,seq_len,tok/s\n8,2048,{cell}\n16,2048,129970\n")
    assert len(sweep.table) >= 1 and time.perf_counter() - start < 2


def test_keys_that_are_tuples_hold_the_batch_where_one_part_alone_is_a_number():
    sweep = read(
        """{"('a100', 8)": {"tok/s": 100.0}, "('a100', 16)": {"tok/s": 150.0}, "('h100', 8)": {"tok/s": 200.0}}""",
        "x.json",
    )
    assert sweep.table["tokens_per_step"].tolist() == [8, 16, 8] and sweep.table["tokens_per_second"].tolist() == [
        100,
        150,
        200,
    ]
    plain = read("""{"('a100', 8)": 100.0, "('a100', 16)": 150.0}""", "x.json")
    assert plain.table["tokens_per_step"].tolist() == [8, 16] and plain.questions[0].key == "result_unit"
    assert "batch column" in refused("""{"(8, 2048)": {"tok/s": 1.0}, "(16, 2048)": {"tok/s": 2.0}}""", "x.json")
    named = read("""{"a100_bs8": {"tok/s": 100.0}, "a100_bs16": {"tok/s": 150.0}}""", "x.json")
    assert named.table["tokens_per_step"].tolist() == [8, 16]
    devices = read("""{"('lm_bs8', 1)": {"tok/s": 1.0}, "('lm_bs16', 1)": {"tok/s": 2.0}}""", "x.json")
    assert devices.table["tokens_per_step"].tolist() == [8, 16]


CAPTION = "Synthetic. Local batch size 2, sequence length 8192.\n\n"
TABLE = "| NUM_NODES | TPS/GPU |\n| --- | ---: |\n| 4 | 10,938 |\n| 8 | 10,753 |\n"


def test_the_batch_above_a_table_is_taken_said_and_the_devices_are_asked():
    sweep = read(CAPTION + TABLE, "x.md")
    assert [one.key for one in sweep.questions] == ["num_devices"]
    assert (
        1,
        "the text above the table says local batch size 2",
        "taken for every row; correct it if it is another",
    ) in said(sweep)
    told = read(CAPTION + TABLE, "x.md", num_devices=32).table.iloc[0]
    assert (told["tokens_per_step"], told["tokens_per_second"]) == (2 * 8192 * 32, 10_938 * 32)


def test_a_text_above_several_tables_is_not_taken_for_all():
    assert "batch column" in refused(CAPTION + TABLE + "\nOther hardware\n\n" + TABLE, "x.md")
    assert "'TPS/GPU' is a result, but the batch that it was measured at is missing" in refused(TABLE, "x.md")


@pytest.mark.parametrize("axis", ["Relative Time (Process)", "epoch"])
def test_a_chart_over_another_axis_is_told_which_is_read(axis):
    text = f'"{axis}","bs-64 - loss","bs-128 - loss"\n"1","3","4"\n"2","2","3"\n'
    assert f"a tracker's chart over '{axis}'; it is read where Step is its x axis" in refused(text)


@pytest.mark.parametrize(
    "path, what",
    [
        (
            "3_lr_vs_batch/martin-marek_lm11m_best_per_batch.csv",
            "runs with a final loss 'eval_loss' at 7 batches and 7 learning rates",
        ),
        ("5_moe/liukefan821_throughput.csv", "figures of a router"),
        ("5_moe/liukefan821_eval_summary.csv", "figures of a router"),
        ("6_import_formats/lucas_metrics.csv", "a final loss 'final_train_loss' at 1 batch"),
        ("6_import_formats/lucas_ablation_summary.csv", "a final loss 'train/loss_mean'"),
        ("6_import_formats/wandb_runs_table_lucas_wandb_export.csv", "a final loss 'train/loss'"),
        ("2_throughput/tables/torchtitan_llama3_h100_202412.md", "'TPS/GPU' is a result, but the batch"),
    ],
)
def test_real_tables_without_a_sweep_are_told_what_they_hold(path, what):
    if not (REAL / path).exists():
        pytest.skip("the public data are not here")
    assert what in refused((REAL / path).read_text(), path.split("/")[-1])
