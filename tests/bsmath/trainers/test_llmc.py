"""main.log of llm.c and what llm.c prints."""

import math
import re
import time
from pathlib import Path

import pytest

from bsmath.sweeps.model import SweepError
from bsmath.trainers import llmc

SAMPLE = Path(__file__).parents[3] / "data" / "samples" / "logs" / "llmc.log"
REAL = Path(__file__).parents[4] / "shared" / "data" / "6_import_formats"


def table(text: str):
    return llmc.read(text, "run.log").frame


@pytest.fixture(scope="module")
def sample():
    return table(SAMPLE.read_text())


MAIN = SAMPLE.with_name("llmc_main.log")


def test_printed_times_are_in_seconds_and_running_means_of_rates_are_left_out(sample):
    row = sample[sample["step"] == 2].iloc[0]
    assert (row["train_loss"], row["grad_norm"], row["learning_rate"]) == (10.960002, 15.1007, 1.71e-6)
    assert row["step_time_s"] == pytest.approx(2.8604) and row["mfu"] == pytest.approx(0.454)
    assert "tokens_per_s" not in sample and math.isnan(sample["mfu"].iloc[1])


def test_a_validation_belongs_to_the_steps_before_it(sample):
    validated = sample[sample["val_loss"].notna()]
    assert validated[["step", "val_loss"]].values.tolist() == [[0, 11.0071], [3, 10.74012]]


def test_a_loss_that_is_no_number_is_infinite_and_such_a_norm_is_left_out(sample):
    last = sample.iloc[-1]
    assert (last["step"], last["train_loss"]) == (4, math.inf) and math.isnan(last["grad_norm"])


def test_the_table_of_parameters_gives_the_batch_in_tokens(sample):
    row = sample.iloc[0]
    assert (row["batch_tokens"], row["micro_batch"], row["seq_len"], row["accum"]) == (524_288, 32, 1024, 4)
    assert (row["replicas"], row["n_gpus"], row["params"]) == (4, 4, 124_475_904)


def test_without_the_table_the_batch_follows_from_the_first_times_and_rates():
    text = "".join(line + "\n" for line in SAMPLE.read_text().split("\n") if line.startswith("step "))
    assert (table(text)["batch_tokens"] == 524_288).all()


def test_main_log_counts_from_zero_and_joins_validations():
    assert llmc.recognizes(MAIN.read_text())
    frame = table(MAIN.read_text())
    assert frame["step"].tolist() == [0, 1, 2, 3, 4]
    assert frame.iloc[0].tolist() == [0, 11.0082, 11.0071, 1e-6, 15.22]
    assert frame["train_loss"].iloc[3] == math.inf and frame["val_loss"].iloc[-1] == 10.7401
    assert 0.248 not in frame["val_loss"].tolist()  # an accuracy


def test_older_forms_are_read():
    old = "val loss 4.5\nstep    1/74: train loss 4.367631 (80.500000 ms, 50882 tok/s)\n"
    torch = "step   64/19560 | train loss 7.5 | norm 1.2500 | lr 1.00e-04 | (331.47 ms | 12358 tok/s)\n"
    cpu = "val loss 5.325\nstep 0: train loss 5.356 (took 1500.250 ms)\nstep 1: train loss 4.3 (took 1499 ms)\n"
    assert all(llmc.recognizes(text) for text in (old, torch, cpu))
    assert table(old)["step_time_s"].iloc[-1] == pytest.approx(0.0805) and table(old)["batch_tokens"].iloc[0] == 4096
    row = table(torch).iloc[0]
    assert (row["train_loss"], row["grad_norm"], row["step_time_s"]) == (7.5, 1.25, pytest.approx(0.33147))
    assert table(cpu)["step"].tolist() == [0, 1] and table(cpu)["step_time_s"].iloc[0] == pytest.approx(1.50025)


def test_a_resumed_run_repeats_its_steps():
    assert table("s:1 trl:3\ns:2 trl:2\ns:1 trl:3\n")["step"].tolist() == [1, 2, 1]


def test_other_text_is_not_recognized():
    code = 'fprintf(logfile, "s:%d trl:%.4f lr:%.6f norm:%.2f\\n", step);\n'
    code += 'printf0("step %4d/%d | loss %7.6f")\n'
    modded = "step:1/5 train_loss:3.0 train_time:5ms step_avg:nanms\n" * 3
    loop = "step 100/5000 | loss 3.21 | lr 3e-4 | 12.3k tok/s\n" * 3
    rows = "| s | trl |\n|---|---|\n| 1 | 3 |\ns,trl\n1,3\n"
    assert not any(llmc.recognizes(text) for text in (code, modded, loop, rows, ""))


@pytest.mark.skipif(not REAL.is_dir(), reason="the folder of real files is not beside the project")
@pytest.mark.parametrize(
    "name, count, validations, first, last",
    [
        ("llmc_main_log_lr_norm.log", 19_561, 80, (0, 11.0091, 11.0092), (19_560, 3.2722)),
        ("llmc_style_s_trl_modded_2024-06-06.log", 9537, 76, (0, 10.965596, 10.968871), (9536, 3.275959)),
    ],
)
def test_real_runs(name, count, validations, first, last):
    text = (REAL / name).read_text()
    assert llmc.recognizes(text)
    frame = table(text)
    assert (len(frame), frame["val_loss"].count()) == (count, validations)  # grep -c trl + 1, grep -c tel
    assert tuple(frame[["step", "train_loss", "val_loss"]].iloc[0]) == first
    assert tuple(frame[["step", "val_loss"]].iloc[-1]) == last
    if "learning_rate" in frame:
        row = frame[frame["step"] == 1000].iloc[0]
        assert row[["train_loss", "val_loss", "learning_rate", "grad_norm"]].tolist() == [4.3055, 4.317, 6e-4, 0.42]


def test_a_log_without_steps_is_refused():
    with pytest.raises(SweepError, match="run.log must have lines of steps"):
        table("saving checkpoint to out\n")


@pytest.mark.parametrize("value", ["1e999", "0", "-1", "nan", ",,,", "9" * 30])
def test_numbers_that_no_run_has_end_in_a_table_or_a_refusal(value):
    text = re.sub(r"(?<=[:= ])\d[\d.,]*(e[+-]?\d+)?", value, SAMPLE.read_text())
    try:
        assert len(table(text))
    except SweepError as error:
        assert "must" in str(error)


def test_a_log_that_is_cut_anywhere_ends_in_a_table_or_a_refusal():
    text = SAMPLE.read_text()
    for end in range(0, len(text), 7):
        try:
            assert len(table(text[:end]))
        except SweepError as error:
            assert "must" in str(error)


@pytest.mark.parametrize("part", ["s:1 trl:1 ", "step 1/2 | loss 1 ", " ", "| norm 1 ", "| a "])
def test_a_line_of_a_hundred_thousand_characters_is_read_at_once(part):
    text = part * (100_000 // len(part)) + "\n" + SAMPLE.read_text()
    begun = time.perf_counter()
    assert llmc.recognizes(text) and len(table(text)) >= len(table(SAMPLE.read_text()))
    assert time.perf_counter() - begun < 1
