"""Noise-scale logs: the harness's own, logs of others, and what is wrong in them."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from bsmath import logs
from bsmath.logs import noise
from bsmath.sweeps import SweepError

DATA = Path(__file__).parents[4] / "shared" / "data" / "4_noise_scale"
ADAPTDL = sorted(DATA.glob("*.csv"))
SMALL, BIG = 64, 1_024  # the worked numbers: |G|^2 = 1 and tr(Sigma) = 68


def own(rows: int = 20, groups=("all",), seed: int = 0, **columns) -> pd.DataFrame:
    """A log as the harness writes it: every group has |G|^2 of about 1 and tr(Sigma) of about 68."""
    generator = np.random.default_rng(seed)
    frames = []
    for group in groups:
        scatter = 1 + 0.01 * generator.standard_normal((2, rows))
        frame = {"step": 10 * np.arange(1, rows + 1), "group": group, "tokens_small": SMALL, "tokens_big": BIG}
        frame |= {"grad_sq_norm_small": 2.0625 * scatter[0], "grad_sq_norm_big": 1.06640625 * scatter[1], "loss": 2.5}
        frame |= {"tokens": frame["step"] * BIG, "tokens_per_step": BIG, "steps_averaged": 10}
        frames.append(pd.DataFrame(frame))
    return pd.concat(frames, ignore_index=True).assign(**columns)


def read(frame: pd.DataFrame) -> noise.NoiseLog:
    assert noise.recognizes(list(frame.columns))
    return noise.read(frame, "a.csv")


def test_our_own_file_gives_its_noise_scale_in_tokens_for_every_group():
    log = read(own(groups=("mlp", "all")))
    assert (log.name, log.unit, log.place, log.groups) == ("a.csv", "tokens", "tokens", ("all", "mlp"))
    assert log.problems == () and log.has_parts
    low, high = log.estimate().interval()
    assert low < 68 < high < 1.1 * low
    assert log.estimate("mlp").noise_scale != log.estimate().noise_scale
    first = log.rows("mlp").iloc[0]
    assert (first["step"], first["tokens"], first["tokens_per_step"], first["loss"]) == (10, 10_240, BIG, 2.5)


def test_a_part_of_the_run_can_be_estimated_alone():
    frame = own()
    frame.loc[frame["step"] <= 90, "grad_sq_norm_small"] += 10.0
    log = read(frame)
    assert log.estimate().noise_scale > 300
    assert log.estimate(since=0.5).noise_scale == pytest.approx(68, rel=0.02)
    assert len(log.rows(since=0.5)) == 11 and len(log.rows(since=1)) == 1


def test_smoothing_gives_what_the_charts_draw():
    drawn = read(own()).smoothed(rows=1)
    names = ["tokens", "noise_scale", "low", "high", "grad_sq_norm", "trace", "noise", "raw_grad_sq_norm", "raw_noise"]
    assert list(drawn.columns) == names and len(drawn) == 20
    assert_allclose(drawn["noise"], drawn["trace"] / BIG)
    assert drawn["raw_noise"].iloc[0] == drawn["noise"].iloc[0]
    last = read(own()).smoothed(rows=9).iloc[-5]
    assert last["low"] < last["noise_scale"] < last["high"]


def test_without_a_batch_the_noise_is_that_of_a_batch_of_one():
    frame = pd.DataFrame({"step": range(1, 9), "grad_sq_norm": 1.0, "trace": 60.0})
    drawn = read(frame).smoothed()
    assert_allclose(drawn[["noise", "raw_noise"]], 60.0)
    assert_allclose(read(frame.assign(tokens_per_step=30)).smoothed()[["noise", "raw_noise"]], 2.0)


def test_a_window_is_a_tenth_of_the_rows_and_five_at_least():
    for rows, window in ((3, 5), (58, 5), (70, 7), (1000, 101)):
        found = read(pd.DataFrame({"step": range(1, rows + 1), "grad_sq_norm": 1.0, "trace": 60.0}))
        assert found.window() == window


def test_rows_count_by_the_steps_they_average():
    frame = own(rows=4, steps_averaged=[1, 1, 1, 97])
    frame.loc[3, "grad_sq_norm_small"] = 3.0
    trace = (3.0 - frame["grad_sq_norm_big"][3]) / (1 / SMALL - 1 / BIG)
    assert read(frame).estimate().trace == pytest.approx(trace, rel=0.03)


def test_sequences_become_tokens_where_the_length_is_known():
    renamed = {"tokens_small": "batch_small", "tokens_big": "batch_big"}
    frame = own().rename(columns=renamed).drop(columns=["tokens", "tokens_per_step"])
    without, known = read(frame), read(frame.assign(seq_len=128))
    assert (without.unit, without.place) == ("sequences", "steps")
    assert (known.unit, known.place) == ("tokens", "tokens")
    assert known.estimate().noise_scale == pytest.approx(128 * without.estimate().noise_scale)
    assert known.table["tokens"].iloc[-1] == 200 * 128 * BIG


def test_tokens_are_counted_from_steps_and_a_batch_that_grows():
    frame = own(rows=3, tokens_big=[1_024, 1_024, 2_048]).drop(columns=["tokens", "tokens_per_step"])
    log = read(frame)
    assert log.place == "tokens" and log.table["tokens"].tolist() == [10_240, 20_480, 40_960]


def test_layers_alone_are_summed_up_to_all_parameters():
    log = read(own(groups=("attention", "mlp")))
    assert log.groups == ("all", "attention", "mlp")
    parts = [log.estimate(group) for group in ("attention", "mlp")]
    assert log.estimate().trace == pytest.approx(sum(part.trace for part in parts))
    assert log.estimate().grad_sq_norm == pytest.approx(sum(part.grad_sq_norm for part in parts))


def test_a_row_that_lacks_a_layer_is_no_row_of_all_parameters():
    log = read(own(groups=("attention", "mlp")).iloc[:-1])
    assert len(log.rows("all")) == 19 and len(log.rows("attention")) == 20


def test_parts_that_are_separated_already_are_taken_as_they_are():
    frame = pd.DataFrame({"Step": [1, 2, 3], "grad_sq_norm": [1.0, -0.5, 2.0], "tr_sigma": [60.0, 70.0, 80.0]})
    log = read(frame)
    assert log.estimate().noise_scale == pytest.approx(210 / 2.5)
    assert (log.unit, log.place) == ("the log's own unit", "steps")
    assert log.problems[0] == "The file does not say the unit of its noise scale: it is shown as logged."
    assert read(frame.assign(tokens_per_step=4_096)).unit == "tokens"


def test_a_logged_ratio_is_drawn_but_not_averaged():
    log = read(pd.DataFrame({"_step": [1, 2], "train/gns": [100.0, 300.0], "train/loss": [3.0, 2.9]}))
    assert not log.has_parts
    assert log.problems[0].startswith("The file holds the ratio alone")
    drawn = log.smoothed()
    assert drawn["noise_scale"].tolist() == [100, 300] and drawn["low"].isna().all()
    assert np.isnan(log.estimate().noise_scale) and not log.estimate().verdict()[0]


def test_raw_norms_are_taken_before_a_ratio_that_is_there_too():
    assert read(own(noise_scale=5.0)).estimate().noise_scale == pytest.approx(68, rel=0.05)


def test_adaptdl_counts_in_initial_batches():
    """Its first two rows of cifar10 at 128."""
    frame = pd.DataFrame(
        {
            "progress": [391.0, 782.0],
            "iteration": [390, 781],
            "metric": [0.4455, 0.6007],
            "grad_sqr": [8.947307535897329, 1.895227805639273],
            "grad_var": [5.066593295150894, 1.5924912096114732],
        }
    )
    log = read(frame)
    assert (log.unit, log.place) == ("initial batches", "steps at the initial batch")
    assert log.table["tokens"].tolist() == [391, 782] and log.table["step"].tolist() == [390, 781]
    assert log.estimate().noise_scale == pytest.approx(6.659084 / 10.842535, rel=1e-6)
    assert any("moving averages" in problem for problem in log.problems)


@pytest.mark.parametrize("path", ADAPTDL or [DATA / "absent.csv"], ids=lambda path: path.name)
def test_every_real_adaptdl_log_is_read_whole(path):
    if not path.exists():
        pytest.skip("the public data are not on this machine")
    frame = pd.read_csv(path)
    log = read(frame)
    assert len(log.table) == len(frame) and log.unit == "initial batches"
    assert any("loss scale" in problem for problem in log.problems) is ("bert" in path.name)
    assert "bert" not in path.name or not log.estimate().verdict()[0]  # two rows
    ratio = log.table["trace"] / log.table["grad_sq_norm"]
    assert ratio.iloc[-1] > ratio.iloc[0]  # it grows in every one of these runs


def test_a_run_whose_first_row_outweighs_all_others_is_said_to_be_that():
    path = DATA / "pollux_yolov3_validation-8.csv"
    if not path.exists():
        pytest.skip("the public data are not on this machine")
    log = read(pd.read_csv(path))
    assert any(problem.startswith("One row holds 99 % of the sum of |G|^2:") for problem in log.problems)
    assert log.estimate().noise_scale < 1 < 100 < log.estimate(since=0.5).noise_scale


def test_rows_without_usable_numbers_are_left_out_and_counted():
    frame = own().astype(object)
    bad = ["", None, "nan", "inf", "-inf", "oops", -1.0]
    for row, value in enumerate(bad):
        frame.loc[row, "grad_sq_norm_big"] = value
    frame.loc[7, "tokens_small"] = BIG
    frame.loc[8, "tokens_small"] = 0
    log = read(frame)
    assert len(log.table) == 11
    assert log.problems[0].startswith(
        "9 rows were left out, without usable numbers in grad_sq_norm_small, grad_sq_norm_big,"
    )
    assert np.isfinite(log.smoothed()[["grad_sq_norm", "trace"]]).all(axis=None)


def test_text_cells_are_numbers_too():
    assert_allclose(read(own().astype(str)).table["trace"], read(own()).table["trace"])


def test_negative_parts_are_legal():
    log = read(pd.DataFrame({"step": [1, 2, 3], "grad_sq_norm": [-1.0, 4.0, 3.0], "trace": [5.0, -1.0, 8.0]}))
    assert len(log.table) == 3
    assert log.estimate().noise_scale == pytest.approx(2)


def test_a_step_that_comes_twice_counts_once_and_rows_come_in_order():
    frame = own()
    again = pd.concat([frame.iloc[5:], frame.iloc[:8]], ignore_index=True)
    log = read(again)
    pd.testing.assert_frame_equal(log.table, read(frame).table)
    assert log.problems == ("3 rows were left out, with a place in the run that a later row has again.",)


def test_only_the_first_of_several_runs_is_read():
    both = pd.concat([own(run="first"), own(rows=5, run="second")], ignore_index=True)
    log = read(both)
    assert len(log.table) == 20 and log.problems == ("The file holds 2 runs; only 'first' was read.",)


def test_thousands_of_rows_are_read_and_smoothed():
    log = read(own(rows=5_000))
    assert len(log.smoothed()) == 5_000
    assert log.estimate().interval()[1] / log.estimate().interval()[0] < 1.01


@pytest.mark.parametrize(
    "headers, known",
    [
        (["step", "grad_sq_norm_small", "grad_sq_norm_big", "tokens_small", "tokens_big"], True),
        (["Iteration", "grad_sqr", "grad_var"], True),
        (["tokens", "B_simple"], True),
        (["step", "Noise scale [tokens]"], True),
        (["step", "grad_sq_norm_small", "grad_sq_norm_big"], True),  # of which batches? `read` asks
        (["step", "grad_norm", "micro_grad_norm"], False),  # grad_norm alone names no big batch
        (["step", "grad_norm", "micro_grad_norm", "b_small", "b_big"], True),
        (["grad_sqr", "grad_var"], False),
        (["step", "grad_sqr"], False),
        (["run", "batch_tokens", "tokens_per_s", "steps_to_target"], False),
        (["step", "loss", "lr", "grad_norm"], False),
        ([], False),
    ],
)
def test_a_file_is_recognized_by_its_columns(headers, known):
    assert noise.recognizes(headers) is known


@pytest.mark.parametrize(
    "frame, message",
    [
        (
            own()[["step", "grad_sq_norm_small", "grad_sq_norm_big"]],
            "a.csv must say of which batches its two gradient norms are .columns tokens_small and tokens_big, or lines",
        ),
        (
            pd.DataFrame({"step": [1, 2, 3, 4], "gns": [-99, -5, 0, -1]}),
            "got none of 4 with usable numbers in gns, step; a noise scale of zero or below is not identified",
        ),
        (
            pd.DataFrame({"step": [1], "gns": ["nan"]}),
            "a.csv must have usable rows below its header line, got none of 1",
        ),
        (
            pd.DataFrame({"step": [1], "loss": [2]}),
            "a.csv must have columns of a noise scale and a step, got step, loss",
        ),
    ],
)
def test_a_file_without_a_usable_row_is_refused(frame, message):
    with pytest.raises(SweepError, match=message):
        noise.read(frame, "a.csv")


def test_an_unknown_group_or_share_is_refused():
    log = read(own())
    with pytest.raises(ValueError, match="group must be one of all, got 'mlp'"):
        log.estimate("mlp")
    with pytest.raises(ValueError, match="since must be from 0 to 1, got 2"):
        log.estimate(since=2)


def test_a_header_of_several_runs_beside_each_other_counts_by_its_last_part():
    log = read(pd.DataFrame({"Step": [1, 2], "a (lr=1) - train/gns": [10.0, 20.0], "b - gns": [1.0, 2.0]}))
    assert log.table["noise_scale"].tolist() == [10, 20]
    assert log.problems[0] == "Only a (lr=1) - train/gns was read, not b - gns."


def test_numbers_that_overflow_or_are_no_place_are_left_out():
    frame = pd.DataFrame({"step": [-1, 2, 3, 4], "grad_sq_norm": [1.0, 1e200, 1, 1], "trace": [60.0, 60, -1e308, 60]})
    log = read(frame)
    assert log.table["step"].tolist() == [4]
    assert log.problems[0] == "3 rows were left out, without usable numbers in grad_sq_norm, trace, step."


def test_a_ratio_that_is_not_positive_is_none():
    log = read(pd.DataFrame({"step": [1, 2, 3], "gns": [-5.0, 0.0, 7.0]}))
    assert log.table["noise_scale"].tolist() == [7] and log.problems[0].startswith("2 rows were left out")


def test_steps_tell_the_place_where_the_tokens_never_change():
    frame = pd.DataFrame({"step": [1, 2, 3], "tokens": 0, "grad_sq_norm": 1.0, "trace": 60.0})
    log = read(frame)
    assert log.place == "steps" and log.table["tokens"].tolist() == [1, 2, 3]


def test_a_unit_in_the_header_of_the_ratio_is_taken():
    assert read(pd.DataFrame({"step": [1, 2], "Noise scale [tokens]": [1.0, 2.0]})).unit == "tokens"


def test_a_decimal_comma_is_read_beside_cells_that_are_no_numbers():
    text = "step;grad_sq_norm;trace\n1;1,5;60,5\n2;nan;61,5\n3;2,5;-\n4;2,5;62,5\n"
    log = logs.read(text.encode(), "a.csv").record
    assert log.table["grad_sq_norm"].tolist() == [1.5, 2.5] and log.table["trace"].tolist() == [60.5, 62.5]


SWEEPS = {
    "steps to a target": "batch_tokens,steps,gns\n1024,4000,50\n2048,2500,51\n4096,1800,52",
    "one step number": "step,batch_tokens,step_time_s,gns\n100,1024,.1,50\n100,2048,.15,51\n100,4096,.25,52",
    "one row a run": "run,step,batch_tokens,gns,tokens_per_s\na,5,1024,50,1000\nb,6,2048,60,1900\nc,7,4096,70,3000",
    "experts": "expert,tokens,batch_tokens,tokens_per_s\n8,10,1024,5000\n8,10,2048,6000\n8,10,4096,6500",
}


@pytest.mark.parametrize("text", SWEEPS.values(), ids=SWEEPS)
def test_a_sweep_that_has_columns_of_a_log_too_stays_a_sweep(text):
    assert logs.read(text.encode(), "a.csv") is None


@pytest.mark.parametrize("batches", [(8, 8, 8, 8), (8, 8, 16, 16)])
def test_a_training_log_with_its_batch_and_rate_stays_a_log(batches):
    rows = "\n".join(f"{step},{size},{50 + step},{1000 + step}" for step, size in enumerate(batches, start=1))
    found = logs.read(f"step,batch_tokens,gns,tokens_per_s\n{rows}".encode(), "a.csv")
    assert found is not None and found.kind == "noise"


ROOTS = {"grad_sq_norm_small": "grad_norm_small", "grad_sq_norm_big": "grad_norm_big"}


def rooted(frame: pd.DataFrame, small: str, big: str) -> pd.DataFrame:
    """The log with norms in place of squared norms, under these names."""
    squares = ["grad_sq_norm_small", "grad_sq_norm_big"]
    return frame.assign(**{name: frame[name] ** 0.5 for name in squares}).rename(
        columns=dict(zip(squares, (small, big)))
    )


@pytest.mark.parametrize(
    "small, big",
    [
        ("grad_norm_small", "grad_norm_big"),
        ("micro_grad_norm", "grad_norm"),
        ("train/local_grad_norm", "train/global_grad_norm"),
        ("noise/norm_small", "noise/norm_big"),
    ],
)
def test_norms_are_squared_and_that_is_said(small, big):
    log = read(rooted(own(), small, big))
    assert_allclose(log.table["trace"], read(own()).table["trace"])
    assert log.problems[0].startswith("The norms were squared.")


def test_squared_norms_are_taken_before_the_norms_that_are_there_too():
    assert read(own(grad_norm_small=9.0, grad_norm_big=1.0)).estimate().noise_scale == pytest.approx(68, rel=0.05)


@pytest.mark.parametrize(
    "small, big",
    [
        ("noise/grad_sq_norm_small", "noise/grad_sq_norm_big"),
        ("sq_norm_small_batch", "sq_norm_large_batch"),  # k-diffusion
        ("noise_scale/g_small_l2norm_squared", "noise_scale/g_big_l2norm_squared"),  # a Composer callback
        ("local_grad_sq_norm", "global_grad_sq_norm"),
    ],
)
def test_squared_norms_are_known_by_the_names_of_other_tools(small, big):
    log = read(own().rename(columns={"grad_sq_norm_small": small, "grad_sq_norm_big": big}))
    assert_allclose(log.table["trace"], read(own()).table["trace"])


def test_the_log_of_a_composer_callback_is_read_in_sequences():
    values = {"b_small": 64, "b_big": 1_024, "g_small_l2norm_squared": 2.0625, "g_big_l2norm_squared": 1.06640625}
    values |= {"trace_estimate": 68.0, "squared_gradients_estimate": 1.0, "noise_scale_raw": 68.0}
    log = read(pd.DataFrame({"Step": range(1, 7)} | {f"noise_scale/{name}": value for name, value in values.items()}))
    assert (log.groups, log.unit) == (("all",), "sequences")
    assert log.estimate().noise_scale == pytest.approx(68)


def test_a_spike_in_the_second_half_is_named_with_its_step():
    frame = own()
    frame.loc[15, ["grad_sq_norm_small", "grad_sq_norm_big"]] *= 1_000
    said = [problem for problem in read(frame).problems if "over the second half" in problem]
    assert len(said) == 2 and said[0].endswith("look at step 160.") and "tr(Sigma)" in said[1]


def test_a_loss_scale_is_named_and_changes_no_ratio():
    frame = own()
    scaled = frame.assign(**{name: frame[name] * 2.0**48 for name in ROOTS})
    log = read(scaled)
    assert log.estimate().noise_scale == pytest.approx(read(frame).estimate().noise_scale)
    assert log.problems[0].startswith("Squared norms are about 3e+14: a loss scale")


@pytest.mark.parametrize("average", ["0.9", "0.99", "0.999"])
def test_an_exponential_average_is_drawn_with_the_same_columns(average):
    log = read(own(rows=200))
    drawn, window = log.smoothed(average=average), log.smoothed()
    assert list(drawn.columns) == list(window.columns) and len(drawn) == 200
    assert drawn["noise_scale"].iloc[-1] == pytest.approx(68, rel=0.02)
    assert log.smoothed("all", average="window") is not drawn


def test_a_ratio_alone_has_no_exponential_average():
    log = read(pd.DataFrame({"step": [1, 2], "gns": [100.0, 300.0]}))
    assert log.smoothed(average="0.9")["noise_scale"].tolist() == [100, 300]
