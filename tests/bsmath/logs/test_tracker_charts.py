"""Exports of trackers with a run in each column, losses by batch, Lightning's metrics.csv, scalars of TensorBoard."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from bsmath import logs
from bsmath.logs import curve_headers

SAMPLES = Path(__file__).parents[3] / "data" / "samples" / "logs"
STEPS = range(0, 2000, 100)


def read(text: str, name: str = "x.csv"):
    found = logs.read(text.encode(), name)
    return found and found.record


def sample(name: str):
    return read((SAMPLES / name).read_text(), name)


def chart(axis: str, *columns: str, decrease: float = 0.001) -> str:
    """A chart whose column n holds 9 - n/10 - step/1000, and whose other columns hold what the header calls for."""
    made = {
        "_step": lambda step: step,
        "per_sec": lambda step: 1e5 + step,
        "lr": lambda step: 3e-4,
        "norm": lambda step: 1.25,
    }
    rows = [",".join(f'"{header}"' for header in (axis, *columns))]
    for step in STEPS:
        cells = [step * 0.37 if "Time" in axis else step / 100 if axis == "epoch" else step]
        for number, header in enumerate(columns):
            value = next(
                (each for word, each in made.items() if word in header),
                lambda step, n=number: 9 - n / 10 - decrease * step,
            )
            cells.append(value(step))
        rows.append(",".join(f'"{cell}"' for cell in cells))
    return "\n".join(rows)


def test_a_run_s_name_ends_at_the_last_hyphen_between_spaces_and_the_range_is_no_run():
    found = read(
        chart("Step", "a - b-bs-64 - train/loss", "a - b-bs-64 - train/loss__MIN", "a - b-bs-64 - train/loss__MAX")
    )
    assert found.runs["label"].tolist() == ["a - b-bs-64"] and found.runs["batch"].tolist() == [64]
    assert found.points["training"].tolist()[:2] == [9, 8.9] and not found.problems


def test_a_chart_of_one_run_without_its_name_takes_it_from_the_file():
    found = read(chart("Step", "train_loss", "train_loss__MIN", "train_loss__MAX"), "b64.csv")
    assert found.runs["label"].tolist() == ["b64"] and found.losses == ("training",) and not found.problems


def test_groups_are_named_without_the_word():
    assert read(chart("Step", "Group: bs-64 - loss", "Group: bs-128 - loss")).runs["label"].tolist() == [
        "bs-64",
        "bs-128",
    ]


def test_every_metric_of_a_run_is_read_beside_its_loss():
    columns = [
        f"bs-{size} - {metric}"
        for size in (64, 128)
        for metric in ("train/loss", "perf/tokens_per_sec", "grad_norm", "lr")
    ]
    found = read(chart("Step", *columns))
    assert found.runs["learning_rate"].tolist() == [3e-4, 3e-4] and found.runs["grad_norm"].tolist() == [1.25, 1.25]
    assert found.rates["kind"].tolist() == ["tokens/s"] * 2
    assert_allclose(found.rates["median"], 1e5 + np.median(STEPS[1:]))


def test_steps_that_each_run_logs_stand_for_an_axis_of_time():
    found = read(chart("Relative Time (Process)", "bs-64 - _step", "bs-64 - loss", "bs-128 - _step", "bs-128 - loss"))
    assert found.points["step"].max() == 1900 and found.points.groupby("run").size().tolist() == [20, 20]


def test_an_axis_of_tokens_is_the_place_in_the_run():
    found = read(chart("tokens", "bs-64 - val/loss", "bs-128 - val/loss"))
    assert found.points["tokens"].max() == 1900 and found.points["step"].isna().all()


@pytest.mark.parametrize("axis", ["Relative Time (Process)", "epoch", "Wall Time"])
def test_a_chart_over_time_or_epochs_alone_is_no_log(axis):
    assert read(chart(axis, "bs-64 - loss", "bs-128 - loss")) is None


@pytest.mark.parametrize(
    "columns, batches, losses, in_tokens",
    [
        (("loss_b16", "loss_b32"), [16, 32], ("training",), 0),
        (("bs16", "bs32"), [16, 32], ("training",), 0),
        (("loss_256k", "loss_512k"), [256_000, 512_000], ("training",), 1),
        (("val_loss_bs64_lr1e-3", "val_loss_bs128_lr2e-3"), [64, 128], ("validation",), 0),
        (("b16/train/loss", "b16/val/loss", "b32/train/loss", "b32/val/loss"), [16, 32], ("validation", "training"), 0),
    ],
)
def test_losses_by_batch_are_one_run_a_column(columns, batches, losses, in_tokens):
    found = read(chart("step", *columns))
    assert found.runs["batch"].tolist() == batches and found.losses == losses
    assert found.runs["batch_in"].eq("tokens").all() == bool(in_tokens) and len(found.points) == 20 * len(batches)


def test_rates_by_batch_and_losses_of_one_run_are_no_losses_by_batch():
    assert read("step,bs16,bs32\n" + "\n".join(f"{step},{1e5 + step},{2e5 + step}" for step in STEPS)) is None
    one = read(chart("step", "train_loss", "val_loss", "loss_1", "loss_2"))
    assert len(one.runs) == 1 and one.losses == ("validation", "training")


def test_of_one_loss_of_a_batch_twice_the_first_is_kept():
    headers = ["step", "bs16/loss", "bs16 / loss", "bs32/loss"]
    frame = pd.DataFrame([[1, 3.0, 9.0, 2.5], [2, 2.0, 9.0, 1.5]], columns=headers)
    found = curve_headers.unfolded(frame)
    assert found["loss"].tolist() == [3.0, 2.0, 2.5, 1.5]


def test_a_wide_table_of_other_things_is_left_as_it_is():
    headers = [f"layer{n}_b{n}" for n in range(2000)]
    assert not curve_headers.by_batch(headers, None) and not curve_headers.tracked([f"a - b{n}" for n in range(2000)])


def test_the_sample_of_a_chart_has_three_runs_with_their_rates():
    found = sample("wandb_chart.csv")
    assert found.runs["batch"].tolist() == [32_000, 64_000, 128_000] and found.runs["batch_in"].eq("tokens").all()
    assert found.points.groupby("run")["training"].count().tolist() == [20, 19, 20]
    assert found.throughput()["tokens_per_second"].tolist() == [123_076.9, 152_381.0, 172_973.0]


def test_lightning_s_sparse_rows_are_one_run_with_its_rate_and_its_losses_of_steps():
    found = sample("lightning_metrics_synthetic_bs64.csv")
    assert found.runs[["batch", "learning_rate"]].to_numpy().tolist() == [[64, 3e-4]]
    assert found.points["training"].count() == 10 and found.points["validation"].count() == 5
    assert found.points["step"].tolist() == list(range(49, 500, 50)) and not found.problems


def test_means_of_epochs_are_read_where_nothing_else_is_and_numbers_of_batches_are_not():
    text = "epoch,step,train_loss_epoch,val_loss_step,val_loss_epoch\n"
    text += "\n".join(f"{n},{n * 100},{5 - n / 10},9,{6 - n / 10}" for n in range(5))
    found = read(text)
    assert found.points["training"].tolist() == [5, 4.9, 4.8, 4.7, 4.6] and found.points["validation"].iloc[0] == 6


def test_a_scalar_of_tensorboard_is_what_the_tag_in_its_name_says():
    found = sample("run-synthetic_bs64_lr3e-4-tag-val_loss.csv")
    assert found.losses == ("validation",) and found.runs["label"].tolist() == ["synthetic_bs64_lr3e-4"]
    assert found.runs[["batch", "learning_rate"]].to_numpy().tolist() == [[64, 3e-4]]
    assert_allclose(found.rates["median"], 1.5)  # the wall time of 100 steps is 150 s
    text = (SAMPLES / "run-synthetic_bs64_lr3e-4-tag-val_loss.csv").read_text()
    assert read(text, "scalars.csv").losses == ("training",)
    norms = read(text, "run-bs64-tag-grad_norm.csv")
    assert norms.losses == () and norms.rates["median"].tolist() == [1.5], "its clock alone is of use"


def test_micro_batch_accumulation_and_replicas_in_a_name_are_the_batch_and_it_is_said():
    found = read(chart("step", "loss"), "mbs8_ga2_dp4_seq1024_8gpus.csv")
    assert found.runs[["batch", "batch_in", "seq_len", "num_devices"]].to_numpy().tolist() == [
        [64, "sequences", 1024, 8]
    ]
    assert "8 (micro-batch) x 2 (accumulation) x 4 (replicas) = 64 sequences" in found.problems[0]


def test_the_same_in_columns_is_the_batch_too():
    text = "step,loss,micro_batch,accum,replicas,seq_len\n" + "\n".join(
        f"{step},{9 - step / 1000},4,2,8,512" for step in STEPS
    )
    assert read(text).runs[["batch", "seq_len"]].to_numpy().tolist() == [[64, 512]]


def test_results_of_many_runs_are_no_curves_and_take_no_time_to_tell():
    text = "Name,iter,batch_size,train/loss\n" + "\n".join(f"run{n},5000,64,{3 + n / 1e4}" for n in range(5000))
    assert read(text) is None
