"""Lines of home-made training loops: many shapes of one thing, and what must not be taken for them."""

import math
import time
from pathlib import Path

import pytest

from bsmath.trainers import generic

SAMPLE = Path(__file__).parents[3] / "data" / "samples" / "logs" / "generic.log"


def rows(text: str) -> list[dict]:
    return generic.read(text, "run.log").frame.to_dict("records")


def test_the_sample_is_read_with_its_units_and_steps_counted_on_over_epochs():
    table = generic.read(SAMPLE.read_text(), "generic.log").frame
    assert generic.recognizes(SAMPLE.read_text())
    assert table["step"].tolist() == [100, 200, 300, 400, 500, 600, 700, 800]
    first, last = table.iloc[0], table.iloc[-1]
    assert first[["train_loss", "learning_rate", "grad_norm", "tokens_per_s"]].tolist() == [
        6.1043,
        1.5e-4,
        2.11,
        35_914,
    ]
    assert first["step_time_s"] == pytest.approx(0.9124)
    assert last["val_loss"] == 3.5012 and table["val_loss"].count() == 2


@pytest.mark.parametrize(
    "line, wanted",
    [
        ("step 100 | loss 3.21 | lr 3e-4 | 12.3k tok/s", {"train_loss": 3.21, "learning_rate": 3e-4, "tokens_per_s": 12_300}),
        ("Step 100: train_loss=4.5, val_loss=4.7", {"train_loss": 4.5, "val_loss": 4.7}),
        ("[2026-01-02 10:11:12] step=100/5000 loss=4.2 lr=3e-4 tok/s=81,234", {"train_loss": 4.2, "tokens_per_s": 81_234}),
        ("iter 100: loss 3.5, time 250.0ms", {"train_loss": 3.5, "step_time_s": 0.25}),
        ("iteration 100 - Training loss: 3.5000 - Validation loss: 3.7", {"train_loss": 3.5, "val_loss": 3.7}),
        ("Iter: 100 Loss: nan", {"train_loss": math.inf}),
        ("global_step: 100, eval_loss: 2.5, samples/s: 40.5", {"val_loss": 2.5, "samples_per_s": 40.5}),
        ("step   100 loss 1.25 dt 1.5s 3.2 it/s", {"train_loss": 1.25, "step_time_s": 1.5, "steps_per_s": 3.2}),
        ("step 100 | aux loss 0.001 | loss 3.22", {"train_loss": 3.22}),
        ("step 100 | load balancing loss: 1.02 | loss: 3.22 | best val loss 2.9 | val loss 3.1", {"train_loss": 3.22, "val_loss": 3.1}),
        ("step 100 loss 3.2 | 32,768 tok/s/GPU", {"tokens_per_s_per_gpu": 32_768}),
        ("step 100 loss 3.2 | 32,768 tok/s per GPU", {"tokens_per_s_per_gpu": 32_768}),
        ("step 100 loss 3.2 | local tok/s 1,000 | global tok/s 8,000", {"tokens_per_s_per_gpu": 1000, "tokens_per_s": 8000}),
        ("step 100 loss 3.2 | avg tok/s 900 | tok/s 1000", {"tokens_per_s": 1000}),
        ("step 100 loss 3.2 | data time 0.01 s | step time 2 s", {"step_time_s": 2}),
        ("step 100 loss 2.0 2000 ms/step", {"step_time_s": 2.0}),
        ("step: 100 tokens: 1.5M loss: 2.0", {"tokens": 1.5e6, "train_loss": 2.0}),
    ],
)  # fmt: skip
def test_many_shapes_of_a_line_are_read(line, wanted):
    text = "\n".join(line.replace("100", str(step)) for step in (100, 200, 300))
    assert generic.recognizes(text)
    found = rows(text)[0]
    assert found["step"] == 100
    assert {name: found[name] for name in wanted} == pytest.approx(wanted)


@pytest.mark.parametrize("clock", ["elapsed time: 20s", "Time: 20s", "total time 20 s"])
def test_the_time_since_the_start_is_not_that_of_a_step(clock):
    assert "step_time_s" not in rows(f"step 1 loss 3 {clock}\nstep 2 loss 2 {clock}")[0]


def test_a_time_without_a_unit_is_not_taken_for_that_of_a_step():
    assert "step_time_s" not in rows("step 1 loss 3 time 12.5\nstep 2 loss 2 time 25.0")[0]


@pytest.mark.parametrize(
    "text",
    [
        "step,loss\n1,3\n2,2\n3,1\n",
        "| step | loss |\n|---|---|\n| 1 | 3 |\n| 2 | 2 |\n| 3 | 1 |\n",
        '{"step": 1, "loss": 3}\n{"step": 2, "loss": 2}\n{"step": 3, "loss": 1}\n',
        "B=   8  step_time=  146.3ms  tok/s=111,989\n" * 3,
        "    print(f'step {step}: loss {loss}')\n" * 5,
        "In step 3 we saw that the loss of 4 customers was high.\nThe next step is to sleep.\n" * 5,
        "At step 3, loss 4.2 was seen.\nAt step 4, loss 4.1 was seen.\nAt step 5, loss 4.0 was seen.\n",
        "batch_size: 64\nlearning_rate: 3e-4\nsteps: 1000\n",
        "step 1 of 3: open the box\nstep 2 of 3: take it out\nstep 3 of 3: done\n",
    ],
)
def test_tables_code_and_prose_are_not_taken_for_a_log(text):
    assert not generic.recognizes(text)


@pytest.mark.parametrize("unit", ["loss ", "step 1 ", "tok/s 1 ", "1", ",", " "])
def test_a_line_of_a_hundred_thousand_characters_is_read_at_once(unit):
    line = "step 1 loss 2 " + unit * (100_000 // len(unit))
    start = time.process_time()
    generic.recognizes(line)
    assert time.process_time() - start < 0.5


STEPS = "".join(f"step {step} | loss {9 - step / 10} | 12.3k tok/s\n" for step in range(1, 6))


@pytest.mark.parametrize(
    "line, told",
    [
        ("batch_tokens=524288", {"batch_tokens": 524288}),
        ("batch size: 524,288 tokens", {"batch_tokens": 524288}),
        (
            "config: batch_size=256 seq_len=2048 lr=3e-4 seed=0",
            {"batch_seqs": 256, "seq_len": 2048, "learning_rate": 3e-4, "seed": 0},
        ),
        (
            "{'batch_size': 32, 'block_size': 1_024, 'grad_accum_steps': 4}",
            {"micro_batch": 32, "seq_len": 1024, "accum": 4, "batch_seqs": 128},
        ),
        (
            "micro_batch_size: 8, world_size: 4, accum_steps: 2",
            {"micro_batch": 8, "n_gpus": 4, "accum": 2, "batch_seqs": 64},
        ),
        ("global_batch_size=512 micro_batch_size=8 world_size=16", {"batch_seqs": 512, "micro_batch": 8, "n_gpus": 16}),
    ],
)
def test_a_loop_tells_its_batch(line, told):
    frame = generic.read(f"{line}\n{STEPS}", "x.log").frame
    found = frame.drop(columns=["step", "train_loss", "tokens_per_s"])
    assert {header: found[header].unique().tolist() for header in found} == {
        header: [value] for header, value in told.items()
    }


@pytest.mark.parametrize(
    "line", ["we found that batch_size=256 was too large", "eval_batch_size=8", "batch_size_per=3", "lr.min=1e-5"]
)
def test_what_is_no_setting_of_the_run_tells_nothing(line):
    assert list(generic.read(f"{line}\n{STEPS}", "x.log").frame) == ["step", "train_loss", "tokens_per_s"]
