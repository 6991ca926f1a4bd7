"""What real files are like: the fifteen things that an importer must survive, each on a small synthetic file."""

import json
import pickle

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from bsmath import intake, sweeps
from bsmath.logs.curves import LossCurves
from bsmath.measured import measurement
from bsmath.sweeps import Sweep, SweepError


def read(text: str | bytes, name: str = "file.csv"):
    found = intake.read_file(text.encode() if isinstance(text, str) else text, name)
    assert len(found) == 1
    return found[0]


def said(sweep: Sweep) -> str:
    return "; ".join(f"{one.row} {one.column} {one.what}: {one.action}" for one in sweep.problems)


def steps(batch: float, knee: float = 100.0) -> float:
    return 1000 * (1 + knee / batch)


# 1. the unit of the batch: sequences, samples or tokens, per GPU or global


def test_1_a_bare_batch_is_asked_about_and_never_guessed_in_silence():
    sweep = read("batch_size,n_gpus,tok/s\n8,8,100\n16,8,190\n32,8,330\n64,8,500\n")
    assert {"seq_len", "batch_scope"} <= {question.key for question in sweep.questions}
    assert sweep.batch_unit == "sequences"


# 2. the unit of the result under one key


def test_2_a_result_whose_unit_the_key_does_not_name_is_asked_about():
    entries = {
        f"ref_{size}": {"BS": size, "Epochs to converge": [3e6 + 1e4 * size] * 2} for size in (64, 128, 256, 512)
    }
    sweep = read(json.dumps(entries), "rcp.json")
    assert "target_unit" in {question.key for question in sweep.questions}


# 3. a ten-fold typo in one value


def test_3_a_tenfold_typo_in_one_value_is_named_and_does_not_move_the_fit():
    rows = [(size, round(steps(size))) for size in (16, 32, 64, 128, 256, 512, 1024) for _ in range(3)]
    clean = pd.DataFrame(rows, columns=["batch_tokens", "steps_to_target"])
    typo = clean.copy()
    typo.loc[4, "steps_to_target"] *= 10
    found = [measurement(read(table.to_csv(index=False)), sweeps.ALL_ROWS, "steps") for table in (clean, typo)]
    assert_allclose(found[1].fit.critical_batch_size, found[0].fit.critical_batch_size, rtol=0.02)
    assert "left out as a likely mistake" in found[1].verdict


# 4. results on the grid of the evaluations, all seeds equal


def test_4_equal_seeds_on_a_grid_of_evaluations_do_not_make_an_interval_of_nothing():
    rows = [(size, 500 * np.ceil(steps(size) / 500)) for size in (16, 32, 64, 128, 256, 512) for _ in range(3)]
    found = measurement(
        read(pd.DataFrame(rows, columns=["batch_tokens", "steps_to_target"]).to_csv(index=False)),
        sweeps.ALL_ROWS,
        "steps",
    )
    low, high = found.fit.interval()["critical_batch_size"]
    assert high > 1.2 * low


# 5. several entries at one batch, one data set under two names


def test_5_of_several_rates_at_one_batch_the_best_is_taken():
    rows = [
        (size, rate, steps(size) * (1 if rate == 2e-3 else 1.5))
        for size in (16, 64, 256)
        for rate in (1e-3, 2e-3, 4e-3)
    ]
    sweep = read(pd.DataFrame(rows, columns=["batch_tokens", "lr", "steps_to_target"]).to_csv(index=False))
    assert sweeps.aggregate(sweep, sweeps.ALL_ROWS, "steps")["median"].tolist() == [
        steps(size) for size in (16, 64, 256)
    ]


# 6. nan, inf, runs that diverged or were cut short


def test_6_runs_that_diverged_or_were_cut_short_are_kept_and_marked():
    rows = ["step,loss,val_loss,batch_tokens,run"]
    rows += [f"{step},{9 / step**0.3:.4f},nan,1024,fine" for step in range(1, 30)]
    rows += [f"{step},{9 if step < 9 else 'nan'},,2048,lost" for step in range(1, 30)]
    found = read("\n".join(rows))
    assert isinstance(found, LossCurves) and found.overview()["ended"].tolist() == ["", "diverged"]


# 7. empty files, OOM as a row, rows with a field fewer or more, zeros


def test_7_rows_without_a_result_are_named_with_their_line():
    sweep = read("batch_tokens,tok/s\n1024,100\n2048,OOM\n4096,0\n8192\n16384,300,7\n32768,400\n")
    assert sweep.table["tokens_per_second"].tolist() == [100, 400]
    assert all(f"{row} " in said(sweep) for row in (3, 4, 5, 6)) and "'OOM'" in said(sweep)
    with pytest.raises(SweepError, match="empty"):
        read(b"", "empty.csv")


# 8. no header, ", " separators, odd headers, notes behind cells


def test_8_headers_with_units_breaks_and_slashes_and_cells_with_notes_are_understood():
    table = "| Global batch<br/>(tokens) | Throughput (T/s) |\n|---|---|\n| 1,024 | 5,762 |\n| 2,048 | 9,100 <- best |\n| 4,096 | 8,000 |\n"
    sweep = read(table, "notes.md")
    assert sweep.table["tokens_per_step"].tolist() == [1024, 2048, 4096]
    assert sweep.table["tokens_per_second"].tolist() == [5762, 9100, 8000]


def test_8_numbers_without_a_header_are_refused_by_that_name():
    with pytest.raises(SweepError, match="header"):
        read("1024 100 3\n2048 180 4\n4096 330 5\n", "bare.txt")


# 9. encodings and terminals


@pytest.mark.parametrize(
    "encode",
    [
        lambda text: text.encode("utf-16"),
        lambda text: b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode(),
        lambda text: text.replace("\n", "\r").encode(),
        lambda text: text.replace("1024", "\x1b[31m1024\x1b[0m").encode(),
    ],
)
def test_9_utf_16_line_ends_marks_and_terminal_colors_change_nothing(encode):
    sweep = read(encode("batch_tokens,tok/s\n1024,100\n2048,190\n"))
    assert sweep.table["tokens_per_second"].tolist() == [100, 190]


# 10. thousands separators, units glued on, decimal commas


def test_10_units_separators_and_decimal_commas_are_read():
    sweep = read(
        "batch_tokens;step_time\n1.024;138,60ms\n2.048;0,25 s\n4.096;0,4\n".replace("1.024", "1024")
        .replace("2.048", "2048")
        .replace("4.096", "4096")
    )
    assert_allclose(sweep.table["step_time"], [0.1386, 0.25, 0.4])
    sweep = read("batch_tokens,tok/s,params\n64k,1.05M,85M\n128k,1.9M,85M\n")
    assert sweep.table["tokens_per_step"].tolist() == [64_000, 128_000] and sweep.table["num_params"].tolist() == [
        85e6,
        85e6,
    ]


# 11. train and evaluation as ragged rows, several runs in one file, resumed runs, ranks


def test_11_ragged_rows_several_runs_and_a_resumed_run_are_told_apart():
    def run(size, resumed):
        rows = [f"{step},{9 / step**0.3:.4f},,{size}" for step in range(1, 20)]
        rows += [f"{step},{9 / step**0.3:.4f},,{size}" for step in range(15, 25)] if resumed else []
        return rows + [f"24,,{9 / 24**0.3:.4f},{size}"]

    found = read("\n".join(["step,train_loss,val_loss,batch_tokens", *run(512, False), *run(1024, True)]))
    assert found.runs["batch"].tolist() == [512, 1024] and set(found.losses) == {"validation", "training"}
    assert found.points.groupby("run")["step"].max().tolist() == [24, 24]
    assert not found.points.duplicated(["run", "step"]).any()


# 12. confounders


def test_12_hardware_that_changes_with_the_batch_is_named_and_not_fitted_through():
    sweep = read("batch_tokens,n_gpus,tok/s\n1024,1,100\n2048,2,210\n4096,4,400\n8192,8,780\n")
    assert "confounded" in said(sweep)
    found = measurement(sweep, sweeps.ALL_ROWS, "tokens_per_second")
    assert found.fit is None and "number of devices changes" in found.verdict


# 13. sentinels and values that are not what they look like


def test_13_placeholders_of_mfu_and_gradient_norm_are_no_values():
    lines = ["step 0: train loss 10.9, val loss 10.9", "iter 0: loss 10.9, time 2915.44ms, mfu -100.00%"]
    lines += [f"iter {step}: loss {9 - step / 100:.4f}, time 400.00ms, mfu 41.86%" for step in range(10, 100, 10)]
    found = read("\n".join(lines), "nanogpt.log")
    rates = found.rates
    assert rates["kind"].tolist() == ["s/step"] and rates["median"].tolist() == [0.4]


# 14. pickles, and logs that open with source code


class Evil:
    def __reduce__(self):
        return (pytest.fail, ("the pickle was opened",))


@pytest.mark.parametrize("protocol", range(6))
def test_14_a_pickle_is_refused_unread(protocol):
    with pytest.raises(SweepError):
        read(pickle.dumps(Evil(), protocol), "data.csv")
    with pytest.raises(SweepError):
        read(pickle.dumps({"batch_tokens": [1, 2], "x": Evil()}, protocol), "data.pkl")


def test_14_source_code_before_a_log_is_passed_over_and_never_shown():
    source = "\n".join(
        f"    password_{number} = f'iter {{step}}: loss {{loss}}, time {{dt}}ms'" for number in range(500)
    )
    lines = [f"iter {step}: loss {9 - step / 100:.4f}, time 400.00ms, mfu 41.86%" for step in range(0, 100, 10)]
    found = read("import torch\n" + source + "\n" + "\n".join(lines), "run-b64.log")
    assert len(found.points) == 10
    assert "password" not in repr(found.problems)


# 15. an optimum at the edge of the grid of rates


def test_15_a_best_rate_at_the_edge_of_the_grid_is_a_bound():
    rows = [(size, rate, steps(size) * rate**-0.3) for size in (16, 64, 256) for rate in (1e-3, 2e-3, 4e-3)]
    sweep = read(pd.DataFrame(rows, columns=["batch_tokens", "lr", "steps_to_target"]).to_csv(index=False))
    found = measurement(sweep, sweeps.ALL_ROWS, "steps")
    assert not found.identified and "outermost" in found.verdict
