"""The meter in training loops that are not the harness's: what it takes for the small and the big batch."""

import csv
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the harness's own tests need requirements-bench.txt")

from bsmath import noise, noise_estimate  # noqa: E402
from bsmath.bench.gpt import GPT, Shape  # noqa: E402
from bsmath.bench.noise_meter import ALL, COLUMNS, NoiseScaleMeter, layer_group  # noqa: E402

pytestmark = pytest.mark.torch
ROOT = Path(__file__).parents[3]
SEQ_LEN, MICRO, ACCUMULATED = 8, 3, 4


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    torch.set_num_threads(1)


def gpt() -> GPT:
    torch.manual_seed(0)
    return GPT(Shape(seq_len=SEQ_LEN, layers=1, width=8, heads=2))


def batches(seed: int = 0) -> list[torch.Tensor]:
    """Micro-batches of one step."""
    generator = torch.Generator().manual_seed(seed)
    return list(torch.randint(256, (ACCUMULATED, MICRO, SEQ_LEN + 1), generator=generator))


def backward(model, micro_batches, divisor: float) -> None:
    for tokens in micro_batches:
        (model.loss(tokens[:, :-1], tokens[:, 1:]) / divisor).backward()


def metered(model, micro_batches, divisor: float = ACCUMULATED, **given) -> dict[str, dict]:
    """The rows of one step by group."""
    meter = NoiseScaleMeter(model, micro_batch_size=MICRO, seq_len=SEQ_LEN, average_steps=1, **given)
    model.zero_grad()
    backward(model, micro_batches, divisor)
    return {row["group"]: row for row in meter.update()}


def gradient(model, tokens) -> torch.Tensor:
    """Of the mean loss of some sequences, in float64."""
    loss = model.loss(tokens[:, :-1], tokens[:, 1:])
    return torch.cat([part.flatten().double() for part in torch.autograd.grad(loss, list(model.parameters()))])


def test_small_and_big_are_the_gradients_of_mean_losses_of_a_micro_batch_and_of_the_step():
    model, micro_batches = gpt(), batches()
    row = metered(model, micro_batches)[ALL]
    each = [float(gradient(model, tokens).square().sum()) for tokens in micro_batches]
    whole = float(gradient(model, torch.cat(micro_batches)).square().sum())
    assert row["grad_sq_norm_small"] == pytest.approx(np.mean(each), rel=1e-4)
    assert row["grad_sq_norm_big"] == pytest.approx(whole, rel=1e-4)
    assert whole < 0.9 * np.mean(each)
    sizes = (MICRO * SEQ_LEN, ACCUMULATED * MICRO * SEQ_LEN)
    assert (row["tokens_small"], row["tokens_big"], row["tokens"]) == (*sizes, sizes[1])
    assert row["trace"] == pytest.approx(noise.trace(*sizes, np.mean(each), whole), rel=1e-3)
    assert row["grad_sq_norm"] == pytest.approx(noise.grad_sq_norm(*sizes, np.mean(each), whole), rel=1e-3)


def test_losses_that_are_not_divided_give_the_same_row_when_the_meter_is_told():
    model, micro_batches = gpt(), batches()
    divided = metered(model, micro_batches)
    undivided = metered(model, micro_batches, divisor=1, loss_divided=False)
    for name in ("grad_sq_norm_small", "grad_sq_norm_big", "trace", "grad_sq_norm"):
        assert undivided[ALL][name] == pytest.approx(divided[ALL][name], rel=1e-4)


def test_a_wrong_scale_leaves_the_noise_scale():
    model, micro_batches = gpt(), batches()
    right, wrong = metered(model, micro_batches)[ALL], metered(model, micro_batches, divisor=1)[ALL]
    assert wrong["trace"] == pytest.approx(ACCUMULATED**2 * right["trace"], rel=1e-4)
    assert wrong["trace"] / wrong["grad_sq_norm"] == pytest.approx(right["trace"] / right["grad_sq_norm"], rel=1e-3)


def test_a_loss_scale_is_divided_out_of_both_parts():
    model, micro_batches = gpt(), batches()
    right = metered(model, micro_batches)[ALL]
    meter = NoiseScaleMeter(model, micro_batch_size=MICRO, seq_len=SEQ_LEN, average_steps=1)
    model.zero_grad()
    backward(model, micro_batches, ACCUMULATED / 1024)
    scaled = meter.update(loss_scale=1024.0)[0]
    assert scaled["trace"] == pytest.approx(right["trace"], rel=1e-4)
    assert scaled["grad_sq_norm"] == pytest.approx(right["grad_sq_norm"], rel=1e-3)


def test_layer_groups_add_up_to_all_parameters():
    rows = metered(gpt(), batches())
    assert list(rows) == [ALL, "embedding", "norm", "attention", "mlp"]
    for name in ("grad_sq_norm_small", "grad_sq_norm_big", "trace", "grad_sq_norm"):
        assert sum(row[name] for row in rows.values()) == pytest.approx(2 * rows[ALL][name], rel=1e-5)


def test_groups_may_be_ones_own():
    rows = metered(gpt(), batches(), group=lambda name: name.split(".")[0])
    assert list(rows) == [ALL, "embedding", "position", "blocks", "norm"]


@pytest.mark.parametrize(
    "name, group",
    [
        ("embedding.weight", "embedding"),
        ("position.weight", "embedding"),
        ("blocks.0.attention_norm.weight", "norm"),
        ("blocks.0.query_key_value.weight", "attention"),
        ("blocks.3.attention_out.weight", "attention"),
        ("blocks.0.mlp_norm.weight", "norm"),
        ("blocks.0.mlp_up.weight", "mlp"),
        ("norm.weight", "norm"),
        ("head.weight", "head"),
        ("module._orig_mod.transformer.wte.weight", "embedding"),
        ("transformer.h.0.ln_1.bias", "norm"),
        ("transformer.h.0.attn.c_proj.weight", "attention"),
        ("transformer.h.0.mlp.c_fc.weight", "mlp"),
        ("model.embed_tokens.weight", "embedding"),
        ("model.layers.0.self_attn.q_norm.weight", "norm"),
        ("model.layers.0.input_layernorm.weight", "norm"),
        ("model.layers.0.mlp.experts.3.down_proj.weight", "mlp"),
        ("lm_head.weight", "head"),
        ("gpt_neox.embed_out.weight", "head"),
        ("convolution.2.weight", "convolution"),
    ],
)
def test_layer_groups_know_the_names_of_common_models(name, group):
    assert layer_group(name) == group


class Known(torch.nn.Module):
    """A linear loss: the gradient of a sequence is the sequence itself, drawn with |G|^2 = 1 and tr(Sigma) = 68."""

    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.zeros(100))

    def forward(self, drawn):
        return (drawn @ self.weight).mean()


def test_a_known_noise_scale_is_found_and_lies_in_its_interval():
    torch.manual_seed(1)
    model = Known()
    meter = NoiseScaleMeter(model, micro_batch_size=2, seq_len=1, average_steps=4)
    rows = []
    for _ in range(400):
        model.zero_grad()
        for _ in range(8):
            drawn = torch.randn(2, 100) * 0.68**0.5
            drawn[:, 0] += 1
            (model(drawn) / 8).backward()
        rows += meter.update()
    trace, grad_sq_norm = ([row[name] for row in rows[::2]] for name in ("trace", "grad_sq_norm"))
    found = noise_estimate.estimate(trace, grad_sq_norm)
    low, high = found.interval()
    assert low < 68 < high and high / low < 1.5
    assert found.trace == pytest.approx(68, rel=0.02) and found.grad_sq_norm == pytest.approx(1, rel=0.15)


def test_a_row_averages_its_steps_and_the_rest_comes_at_the_end():
    model = gpt()
    singles = [metered(model, batches(seed))[ALL] for seed in range(5)]
    meter = NoiseScaleMeter(model, micro_batch_size=MICRO, seq_len=SEQ_LEN, average_steps=2)
    rows = []
    for seed in range(5):
        model.zero_grad()
        backward(model, batches(seed), ACCUMULATED)
        rows += meter.update()
    rows = [row for row in rows + meter.flush() if row["group"] == ALL]
    assert [(row["step"], row["steps_averaged"]) for row in rows] == [(2, 2), (4, 2), (5, 1)]
    for row, steps in zip(rows, (singles[:2], singles[2:4], singles[4:]), strict=True):
        assert row["trace"] == pytest.approx(np.mean([step["trace"] for step in steps]), rel=1e-4)
    first, second, _ = (row["trace"] for row in rows)
    assert rows[1]["ema_trace"] == pytest.approx((0.9 * first + second) / 1.9)
    assert meter.flush() == []


def test_a_change_of_the_batch_begins_a_new_row():
    model = gpt()
    meter = NoiseScaleMeter(model, micro_batch_size=MICRO, seq_len=SEQ_LEN, average_steps=3)
    rows = []
    for micro_batches in (2, 2, 4, 4, 4):
        model.zero_grad()
        backward(model, batches()[:micro_batches], micro_batches)
        rows += meter.update()
    small = MICRO * SEQ_LEN
    found = [
        (row["step"], row["steps_averaged"], row["tokens_big"], row["tokens"]) for row in rows if row["group"] == ALL
    ]
    assert found == [(2, 2, 2 * small, 4 * small), (5, 3, 4 * small, 16 * small)]


def test_a_step_whose_gradient_is_not_finite_is_left_out():
    model = gpt()
    meter = NoiseScaleMeter(model, micro_batch_size=MICRO, seq_len=SEQ_LEN, average_steps=2)
    for scale in (1, float("inf")):
        model.zero_grad()
        backward(model, batches(), ACCUMULATED / scale)
        rows = meter.update()
    assert rows[0]["steps_averaged"] == 1 and rows[0]["step"] == 2
    assert rows[0]["trace"] == pytest.approx(metered(model, batches())[ALL]["trace"], rel=1e-5)


def test_one_micro_batch_a_step_is_refused():
    with pytest.raises(ValueError, match="micro-batches of a step must be two or more over all processes: .*, got 1"):
        metered(gpt(), batches()[:1])


def test_a_model_without_trained_parameters_is_refused():
    with pytest.raises(ValueError, match="model must have parameters that are trained, got none"):
        NoiseScaleMeter(gpt().requires_grad_(False), micro_batch_size=1, seq_len=SEQ_LEN)


def test_frozen_and_unused_parameters_count_nothing():
    model, micro_batches = gpt(), batches()
    model.position.requires_grad_(False)
    model.unused = torch.nn.Linear(2, 2)
    row = metered(model, micro_batches)
    assert row[ALL]["trace"] > 0 and row["unused"]["grad_sq_norm_big"] == 0


def test_the_file_holds_the_rows_and_an_existing_one_is_left_alone(tmp_path):
    model, out = gpt(), tmp_path / "noise.csv"
    meter = NoiseScaleMeter(model, micro_batch_size=MICRO, seq_len=SEQ_LEN, out=out)
    for seed in range(12):
        model.zero_grad()
        backward(model, batches(seed), ACCUMULATED)
        meter.update()
    assert [row["step"] for row in csv.DictReader(out.open()) if row["group"] == ALL] == ["10"]
    meter.close()
    written = list(csv.DictReader(out.open()))
    assert tuple(written[0]) == COLUMNS
    assert [row["steps_averaged"] for row in written if row["group"] == ALL] == ["10", "2"]
    with pytest.raises(ValueError, match="out must be a file that does not exist yet, got '.*noise.csv'"):
        NoiseScaleMeter(model, micro_batch_size=MICRO, seq_len=SEQ_LEN, out=out)
    backward(model, batches(), ACCUMULATED)  # without hooks


def test_a_compiled_model_is_measured_like_a_bare_one():
    model, micro_batches = gpt(), batches()
    bare = metered(model, micro_batches)
    compiled = torch.compile(model, backend="aot_eager")
    meter = NoiseScaleMeter(compiled, micro_batch_size=MICRO, seq_len=SEQ_LEN, average_steps=1)
    model.zero_grad()
    for tokens in micro_batches:
        logits = compiled(tokens[:, :-1]).flatten(0, 1)
        (torch.nn.functional.cross_entropy(logits, tokens[:, 1:].flatten()) / ACCUMULATED).backward()
    found = {row["group"]: row for row in meter.update()}
    assert list(found) == list(bare)
    assert found["norm"]["trace"] == pytest.approx(bare["norm"]["trace"], rel=1e-3)


DATA_PARALLEL = """
import contextlib, sys, torch
from torch import distributed
from torch.nn.parallel import DistributedDataParallel
sys.path.insert(0, {tests!r})
from test_noise_meter import *

torch.set_num_threads(1)
distributed.init_process_group("gloo")
rank = distributed.get_rank()
for kind in ("no_sync", "every", "own"):
    model = gpt()
    wrapped = model if kind == "own" else DistributedDataParallel(model)
    out = f"{{sys.argv[1]}}/{{kind}}.csv"
    meter = NoiseScaleMeter(wrapped, micro_batch_size=MICRO, seq_len=SEQ_LEN, average_steps=1, out=out)
    mine = batches()[2 * rank : 2 * rank + 2]
    for i, tokens in enumerate(mine):
        quiet = wrapped.no_sync() if kind == "no_sync" and i == 0 else contextlib.nullcontext()
        with quiet:
            logits = wrapped(tokens[:, :-1]).flatten(0, 1)
            (torch.nn.functional.cross_entropy(logits, tokens[:, 1:].flatten()) / 2).backward()
    if kind == "own":
        for weight in model.parameters():
            distributed.all_reduce(weight.grad)
            weight.grad /= 2
    meter.update()
    meter.close()
meter = NoiseScaleMeter(model, micro_batch_size=MICRO, seq_len=SEQ_LEN)
backward(model, mine[: rank + 1], 1)
try:
    meter.update()
except ValueError as error:
    open(f"{{sys.argv[1]}}/refused{{rank}}", "w").write(str(error))
distributed.barrier()
distributed.destroy_process_group()
"""


def test_two_processes_give_the_row_of_one_whoever_averages_the_gradient(tmp_path):
    """DistributedDataParallel with and without no_sync, and an all-reduce of one's own."""
    script = tmp_path / "train.py"
    script.write_text(DATA_PARALLEL.format(tests=str(Path(__file__).parent)))
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", script, tmp_path]
    environment = os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, env=environment)
    alone = metered(gpt(), batches())
    for kind in ("no_sync", "every", "own"):
        assert (tmp_path / f"{kind}.csv").exists(), done.stderr
        rows = list(csv.DictReader((tmp_path / f"{kind}.csv").open()))
        assert [row["group"] for row in rows] == list(alone)
        for row in rows:
            for name in ("tokens", "tokens_small", "tokens_big", "grad_sq_norm_small", "grad_sq_norm_big"):
                assert float(row[name]) == pytest.approx(alone[row["group"]][name], rel=1e-4), (kind, name)
    for rank in range(2):
        said = (tmp_path / f"refused{rank}").read_text()
        assert said == f"micro-batches of a step must be equally many on every process, got {rank + 1} here of 3"
