"""Loss curves: which files hold them, how runs are told apart, what each run was, and the sweep that a target makes of them."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from bsmath import logs, measured, sweeps
from bsmath.logs import curves, run_names
from bsmath.logs.curves import Reading

ROOT = Path(__file__).parents[3]
REAL = Path(__file__).parents[4] / "shared" / "data" / "1_hyperbola" / "lenardst_lr_batch_grid"
KNEE = 50_000.0


def curve(batch_tokens, rate=1e-3, steps=None, knee=KNEE):
    """Steps and loss of a run on a known hyperbola: each loss needs steps in proportion to 1 + B_crit/B."""
    factor = (1 + knee / batch_tokens) * (1 + 0.2 * np.log2(rate / 1e-3) ** 2)
    steps = np.unique(np.geomspace(20, 4000 * factor, 60).round()) if steps is None else np.asarray(steps, float)
    return steps, 2 + 8 * (steps / factor) ** -0.4


def run(size, rate=1e-3, **more) -> pd.DataFrame:
    steps, loss = curve(size * 64, rate)
    return pd.DataFrame({"step": steps, "val_loss": loss, "batch_size": size, "lr": rate} | more)


def read(frame: pd.DataFrame | str, name: str = "x.csv"):
    text = frame if isinstance(frame, str) else frame.to_csv(index=False)
    return logs.read(text.encode(), name)


def record(frame, name: str = "x.csv"):
    found = read(frame, name)
    assert found is not None and found.kind == "curves"
    return found.record


GRID = [(size, rate) for size in (16, 64, 256, 1024, 4096, 16384) for rate in (5e-4, 1e-3, 2e-3)]


def test_the_critical_batch_of_a_known_hyperbola_comes_out_of_its_curves():
    found = record(pd.concat([run(size, rate, seq_len=64) for size, rate in GRID]))
    assert len(found.runs) == 18 and not found.questions() and not found.missing()
    for target in (2.4, 2.6, None):
        made = found.sweep(target)
        one = measured.measurement(made, made.series[0], "steps")
        assert one.identified and (one.tuning["learning_rate"] == 1e-3).all()
        assert_allclose(one.fit.critical_batch_size, KNEE, rtol=0.02)
    assert_allclose(one.fit.min_steps, (8 / (found.targets().default - 2)) ** 2.5, rtol=0.02)


def test_the_sweep_has_what_everything_after_it_needs_and_its_resolution():
    table = record(pd.concat([run(size, rate, seq_len=64, seed=7) for size, rate in GRID])).sweep(2.5).table
    assert {
        "series",
        "tokens_per_step",
        "learning_rate",
        "seed",
        "steps",
        "steps_run",
        "censored",
        "resolution",
    } <= set(table)
    arrived = table[~table["censored"]]
    assert (arrived["resolution"] > 0).all() and (arrived["resolution"] < 0.2 * arrived["steps"]).all()
    assert sweeps.best_rates(table, sweeps.ALL_ROWS)["tokens_per_step"].tolist() == [
        size * 64 for size in sorted({one[0] for one in GRID})
    ]


def test_runs_that_never_arrive_are_censored_with_what_they_were_given_and_diverged_ones_are_marked():
    short, lost = run(64, 5e-4), run(64, 2e-3).astype({"val_loss": object})
    short = short[short["step"] < 200]
    lost.loc[lost.index[30:], "val_loss"] = "nan"
    made = record(pd.concat([run(64), short, lost, run(256), run(1024), run(1024, 2e-3)])).sweep(2.4)
    table = made.table.set_index("row")
    assert table["censored"].tolist() == [False, True, True, False, False, False]
    assert table.loc[2, "steps_run"] == short["step"].max() and table.loc[3, "steps_run"] == np.inf
    assert any("2 of 6 runs never reach 2.4, 1 diverged" in one.what for one in made.problems)


def whats(made) -> str:
    return "; ".join(f"{one.what}: {one.action}" for one in made.problems)


def test_what_is_said_of_one_run_or_of_several_is_grammatical_and_says_what_happens_to_them():
    short = run(64, 5e-4)[lambda rows: rows["step"] < 200]
    tuned = record(pd.concat([run(64), short, run(256), run(1024), run(16).assign(lr=np.nan)])).sweep(2.4)
    assert "1 of 5 runs never reaches 2.4: kept" in whats(tuned)
    assert "1 run has no learning rate" in whats(tuned)
    one_rate = record(pd.concat([run(64).iloc[:10], run(256), run(1024), run(4096)])).sweep(2.4)
    assert "1 of 4 runs never reaches 2.4: kept: the fit must lie above where it ended" in whats(one_rate)
    assert one_rate.table["steps"].count() == 3 and one_rate.table["stopped_at"].dropna().tolist() == [
        run(64)["step"].iloc[9]
    ]


@pytest.mark.parametrize(
    "spacing, said", [(80, "lie 15 % of the steps apart"), (5000, "lie 9.24 times the steps apart"), (20, "")]
)
def test_coarse_evaluations_are_said_in_percent_or_in_times_the_steps(spacing, said):
    steps = np.arange(1, 20_001, spacing)
    rows = [
        pd.DataFrame({"step": steps, "val_loss": 9 - np.log(steps), "batch_tokens": size}) for size in (256, 512, 1024)
    ]
    found = whats(record(pd.concat(rows)).sweep(9 - np.log(541.0)))
    assert said in found if said else "apart" not in found


def test_a_batch_in_tokens_is_not_multiplied_by_the_sequence_length_again():
    found = record(pd.concat([run(1, seq_len=64).assign(batch_size=np.nan, batch_tokens=size) for size in (256, 512)]))
    assert found.batches()[0].tolist() == [256, 512] and found.batches()[1] == "tokens"


def test_a_batch_or_a_rate_of_zero_is_none_and_a_seed_of_zero_is_one():
    found = record(pd.concat([run(size, seed=3) for size in (16, 64, 256)]))
    other = found.with_runs(found.runs.assign(batch=[0, 64, 256], learning_rate=0, seed=0))
    assert other.runs["batch"].isna().tolist() == [True, False, False]
    assert other.runs["learning_rate"].isna().all() and (other.runs["seed"] == 0).all()


def test_what_follows_from_the_runs_is_made_once_and_anew_after_a_correction():
    found = record(pd.concat([run(size, seq_len=64) for size in (16, 64, 256)]))
    assert found.batches() is found.batches() and found.curves() is found.curves(found.resolved())
    assert found.with_runs(found.runs.assign(batch=[1, 2, 4])).batches()[0].tolist() == [64, 128, 256]


def test_one_file_a_run_is_joined_and_its_name_tells_what_its_columns_do_not():
    found = curves.joined(
        record(run(size, rate)[["step", "val_loss"]], f"try-b{size}-lr{rate:g}-seed1.csv") for size, rate in GRID
    )
    assert found.name == "18 files" and found.runs["batch"].tolist() == [size for size, _ in GRID]
    assert found.runs["learning_rate"].tolist() == [rate for _, rate in GRID] and (found.runs["seed"] == 1).all()
    assert [one.key for one in found.questions()] == ["seq_len"]
    assert found.sweep(2.5).batch_unit == "sequences"
    made = found.sweep(2.5, Reading(seq_len=64))
    assert made.batch_unit == "tokens"
    assert_allclose(measured.measurement(made, made.series[0], "steps").fit.critical_batch_size, KNEE, rtol=0.02)


@pytest.mark.parametrize(
    "name, told",
    [
        ("token-tango-b64-lr3e-4-327m.jsonl", {"batch": 64, "in_tokens": 0, "learning_rate": 3e-4}),
        ("folder/bs-256k-lr3e-4 (1)", {"batch": 256_000, "in_tokens": 1, "learning_rate": 3e-4}),
        ("run_bs=1024_lr=0.001_seed3.csv", {"batch": 1024, "in_tokens": 0, "learning_rate": 1e-3, "seed": 3}),
        ("global_batch_size_32-peak_lr1e-02_s1", {"batch": 32, "in_tokens": 0, "learning_rate": 0.01, "seed": 1}),
        ("B512.csv", {"batch": 512, "in_tokens": 0}),
        ("gpt-1b-64", {}),
        ("lr0-b0", {}),
        ("color8-club9.csv", {}),
        ("b" + "9" * 400, {}),
    ],
)
def test_names_are_read_as_people_write_them(name, told):
    assert run_names.settings(name) == told


def test_tokens_by_step_tell_the_batch_in_tokens_and_steps_that_count_from_0():
    steps = np.arange(0, 2001, 100)
    text = "\n".join(
        json.dumps(
            {"step": int(step), "tokens_seen": int(step + 1) * 64 * 256, "val_loss": 5 - step / 1000, "batch_size": 64}
        )
        for step in steps
    )
    found = record(text, "x.jsonl")
    assert found.runs["tokens_per_step"].tolist() == [64 * 256] and not found.questions()
    (one,) = found.curves()
    assert one.tokens_per_step == 64 * 256 and one.steps.tolist() == (steps + 1).tolist()


def test_runs_stacked_in_one_file_without_a_name_start_anew_where_their_steps_do():
    rows = run(64)[["step", "val_loss", "batch_size"]]
    assert len(record(pd.concat([rows, rows, rows])).runs) == 3
    assert len(record(pd.concat([run(64, 1e-3), run(64, 2e-3)])).runs) == 2


def test_steps_that_go_back_inside_a_run_are_those_of_a_resumed_run():
    again = "step,loss\n10,9\n20,8\n30,7\n40,99\n30,6\n40,5\n50,4\n"
    found = record(again)
    assert found.points["step"].tolist() == [10, 20, 30, 40, 50]
    assert found.points["training"].tolist() == [9, 8, 6, 5, 4]


def test_runs_side_by_side_are_told_apart_by_their_rate():
    both = pd.concat([run(64, 1e-3), run(64, 2e-3).assign(step=run(64, 1e-3)["step"].to_numpy()[: len(run(64, 2e-3))])])
    found = record(both.sort_values("step", kind="stable"))
    assert sorted(found.runs["learning_rate"]) == [1e-3, 2e-3]


@pytest.mark.parametrize("by", [["run", "step"], ["step"]])
def test_names_of_runs_as_categories_tell_the_same_runs_as_texts(by):
    named = {64: "b", 16: np.nan, 256: "a"}
    grid = pd.concat([run(size, run=name) for size, name in named.items()]).sort_values(by)
    texts, categories = (curves.read(grid.astype({"run": kind}), "x.csv") for kind in (object, "category"))
    pd.testing.assert_frame_equal(categories.runs, texts.runs)
    pd.testing.assert_frame_equal(categories.points, texts.points, check_dtype=False)


def test_the_peak_of_a_schedule_is_the_rate_of_a_run_and_its_name_is_better():
    schedule = run(64).assign(lr=lambda rows: 3e-4 * np.linspace(0, 1, len(rows)))
    assert record(schedule).runs["learning_rate"].tolist() == [pytest.approx(3e-4)]
    named = record(schedule.iloc[:-5], "b64-lr3e-4.csv")
    assert named.runs["learning_rate"].tolist() == [3e-4]
    assert "its name says the rate 0.0003" in named.problems[0]


def test_training_and_validation_losses_in_rows_of_their_own_are_both_kept():
    text = "step,train/loss,val/loss\n" + "\n".join(
        f"{step},{5 - step / 100}," + (f"\n{step},,{5.1 - step / 100}" if step % 20 == 0 else "")
        for step in range(10, 200, 10)
    )
    found = record(text)
    assert found.losses == ("validation", "training")
    assert len(found.points) == 19 and len(found.curves()[0].steps) == 9
    assert len(found.curves(Reading(loss="training"))[0].steps) == 19


def test_a_training_loss_is_smoothed_unless_one_says_otherwise_and_a_validation_loss_is_not():
    generator = np.random.default_rng(0)
    noisy = pd.DataFrame({"step": range(1, 500), "train_loss": 3 + 0.1 * generator.standard_normal(499)})
    found = record(noisy.assign(val_loss=noisy["train_loss"]))
    assert found.curves()[0].loss.std() > 0.09 > 0.04 > found.curves(Reading(loss="training"))[0].loss.std()
    assert found.curves(Reading(loss="training", smoothing="none"))[0].loss.std() > 0.09


def test_a_tracker_s_export_has_a_run_in_each_column():
    text = '"Step","bs-16k-lr3e-4 - train/loss","bs-16k-lr3e-4 - train/loss__MIN","bs-32k-lr1e-3 - train/loss"\n'
    text += "\n".join(f'"{step}","{9 - step / 10}","1","{8 - step / 10 if step % 2 else ""}"' for step in range(1, 30))
    found = record(text)
    assert found.runs["label"].tolist() == ["bs-16k-lr3e-4", "bs-32k-lr1e-3"]
    assert found.runs["batch"].tolist() == [16_000, 32_000] and set(found.runs["batch_in"]) == {"tokens"}
    assert found.runs["learning_rate"].tolist() == [3e-4, 1e-3]
    assert found.points.groupby("run")["training"].count().tolist() == [29, 15]


def test_a_single_run_is_a_file_of_curves_that_says_what_is_missing():
    found = record("step,loss\n" + "\n".join(f"{step},{9 - step}" for step in range(1, 6)))
    assert found.targets() is None
    assert found.missing()[0].startswith("The batch is in no column and no name")
    assert "no run with a batch; a critical batch needs runs at 3 or more" in found.missing()[1]
    assert "There is one batch" in record(run(64)).missing()[0]


def test_a_batch_that_changes_during_a_run_is_no_point_of_a_sweep():
    steps = np.arange(100, 2100, 100)
    tokens = np.cumsum(np.where(steps <= 1000, 100, 400) * 100)
    found = record(pd.DataFrame({"step": steps, "tokens": tokens, "loss": 5 - steps / 1000, "batch_tokens": 100}))
    assert found.runs["batch"].isna().all() and "its batch changes during the run" in found.problems[0]


SWEEPS = {
    "steps to a target with its loss": "batch_tokens,lr,steps,loss\n1024,1e-3,900,3\n2048,1e-3,500,3\n4096,1e-3,300,3\n",
    "repeats with rising steps": "batch_tokens,steps,loss\n" + "\n".join(f"{1024 * 2**i},{900 // 2**i + j},3" for i in range(4) for j in range(3)),
    "results of runs": "run,batch_size,step,val_loss,tok/s\n" + "\n".join(f"r{i},{2**i},1000,3.{i},{100 * i + 1}" for i in range(5)),
    "throughput of one run whose batch grows": "step,batch_tokens,tok/s,loss\n" + "\n".join(
        f"{step},{1024 * 2 ** (step // 50)},{100 + step},{5 - step / 100}" for step in range(10, 200, 10)
    ),
}  # fmt: skip


@pytest.mark.parametrize("text", SWEEPS.values(), ids=SWEEPS)
def test_a_table_of_results_stays_a_sweep(text):
    assert read(text) is None and sweeps.read(text.encode(), "x.csv").table["tokens_per_step"].nunique() > 2


@pytest.mark.parametrize(
    "path",
    sorted(path for folder in ("samples", "measured") for path in (ROOT / "data" / folder).glob("*.*")),
    ids=lambda path: path.name,
)
def test_of_the_project_s_own_files_the_sample_alone_holds_curves(path):
    found = logs.read(path.read_bytes(), path.name)
    assert (found is not None and found.kind == "curves") == (path.name == "loss_curves.jsonl")


def test_the_sample_gives_back_the_critical_batch_of_its_formula():
    path = ROOT / "data" / "samples" / "loss_curves.jsonl"
    assert "synthetic" in path.read_text().split("\n")[0]
    found = record(path.read_text(), path.name)
    assert len(found.runs) == 15 and not found.problems and not found.questions()
    made = found.sweep(2.6)
    low, high = measured.measurement(made, made.series[0], "steps").bounds["critical_batch_size"]
    assert low < 262_144 < high


def test_lines_that_are_cut_are_named():
    text = "\n".join(json.dumps({"step": step, "loss": 9.0 - step}) for step in range(5))
    assert record(text + '\n{"step": 6, "lo', "x.jsonl").problems[0].startswith("Row 6: the last line is cut off")


def test_a_corrected_batch_replaces_what_was_read():
    found = record(pd.concat([run(size) for size in (16, 64, 256)]))
    other = found.with_runs(found.runs.assign(batch=[1, 2, np.nan], learning_rate=1e-2))
    assert other.runs["batch"].tolist()[:2] == [1, 2] and (other.runs["learning_rate"] == 1e-2).all()
    assert other.sweep(3.0, Reading(seq_len=10)).table["tokens_per_step"].tolist() == [10, 20]
    assert found.runs["batch"].tolist() == [16, 64, 256]


def test_one_rate_at_every_batch_is_no_tuned_sweep():
    made = record(pd.concat([run(size, seq_len=64) for size in (16, 64, 256, 1024)])).sweep(2.4)
    assert made.tuning is None
    assert "earning rate is 0.001 at every batch" in measured.measurement(made, made.series[0], "steps").verdict


@pytest.mark.parametrize(
    "text", ["step,loss\n1,x\n2,y\n3,z\n", "step,loss\n", "step,loss\n-5,3\n-4,2\n-3,1\n", "step,loss\n1e300,3\n"]
)
def test_tables_without_a_usable_loss_are_no_curves_or_have_no_target(text):
    found = read(text)
    assert found is None or found.record.targets() is None


def test_the_public_grid_dropped_at_once_is_a_grid_of_batch_and_rate():
    if not REAL.exists():
        pytest.skip("the public data are not on this machine")
    found = curves.joined(logs.read(path.read_bytes(), path.name).record for path in sorted(REAL.glob("*.jsonl")))
    made = found.sweep()
    assert made.batch_unit == "tokens" and len(made.tuning) == 40 and made.table["tokens_per_second"].count() == 40
    assert sorted(made.table["tokens_per_step"].unique()) == [256 * size for size in (1, 64, 128, 256, 1024)]
    assert made.table.groupby("tokens_per_step")["learning_rate"].nunique().eq(8).all()
    best = sweeps.best_rates(found.sweep(1.6), sweeps.ALL_ROWS).dropna(subset="steps")
    assert best["learning_rate"].tolist() == [1e-3, 3e-3, 3e-3, 1e-2]
