"""One training run: its gradient, its data, its state."""

from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the harness's own tests need requirements-bench.txt")

from bsmath.bench import corpus, train  # noqa: E402
from bsmath.bench.gpt import GPT  # noqa: E402
from bsmath.bench.ranks import Ranks  # noqa: E402
from bsmath.bench.settings import Convergence  # noqa: E402
from bsmath.bench.train import Run  # noqa: E402

pytestmark = pytest.mark.torch
SMALL = Convergence(seq_len=16, layers=1, width=16, heads=2, device="cpu", lr_warmup_steps=4, eval_sequences=8)
TEXT = corpus.standard_library(200_000)
ALONE = Ranks(rank=0, size=1, device="cpu")


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    torch.set_num_threads(1)


def gradient(micro_batch_size: int, dtype: str = "float32"):
    """Loss and gradient of one batch of 12 sequences in micro-batches."""
    torch.manual_seed(0)
    model = GPT(train.shape(SMALL))
    windows = torch.from_numpy(corpus.windows(TEXT, 12, SMALL.seq_len, np.random.default_rng(0)))
    loss = train.accumulate_gradient(model, windows, micro_batch_size, dtype)
    return loss, torch.cat([weight.grad.flatten() for weight in model.parameters()])


@pytest.mark.parametrize("micro_batch_size", [1, 3, 6])
def test_accumulating_micro_batches_gives_the_gradient_of_the_whole_batch(micro_batch_size):
    loss, whole = gradient(12)
    accumulated_loss, accumulated = gradient(micro_batch_size)
    torch.testing.assert_close(accumulated, whole, rtol=1e-4, atol=1e-6)
    torch.testing.assert_close(accumulated_loss, loss, rtol=1e-5, atol=0)
    assert whole.abs().max() > 1e-2


def test_bfloat16_gives_nearly_the_same_gradient_in_float32_weights():
    (_, exact), (_, rough) = gradient(12), gradient(12, "bfloat16")
    assert rough.dtype == torch.float32 and not torch.equal(rough, exact)
    assert torch.nn.functional.cosine_similarity(rough, exact, dim=0) > 0.99


@pytest.mark.parametrize("processes", [2, 4])
def test_the_shares_of_all_processes_are_the_global_batch_of_one(processes):
    runs = [Run(SMALL, Ranks(rank=rank, size=processes, device="cpu"), TEXT, 3) for rank in range(processes)]
    alone = Run(SMALL, ALONE, TEXT, 3)
    for _ in range(2):
        torch.testing.assert_close(torch.cat([run.batch(8) for run in runs]), alone.batch(8), rtol=0, atol=0)


def test_the_mean_gradient_of_the_shares_is_that_of_the_global_batch():
    shares = []
    for rank in range(2):
        run = Run(SMALL, Ranks(rank=rank, size=2, device="cpu"), TEXT, 3)
        train.accumulate_gradient(run.model, run.batch(8), 4)
        shares.append(run.model.head.weight.grad)
    alone = Run(SMALL, ALONE, TEXT, 3)
    alone.gradient(8)
    torch.testing.assert_close(sum(shares) / 2, alone.model.head.weight.grad, rtol=1e-4, atol=1e-7)


def test_training_data_are_never_those_of_the_evaluation():
    ramp = np.arange(200_000)  # every value says where it comes from
    training, held_out = corpus.split(ramp)
    assert np.intersect1d(training, held_out).size == 0 and len(training) + len(held_out) == len(ramp)
    assert len(held_out) == pytest.approx(len(ramp) / 16, abs=corpus.BLOCK)


def test_the_rate_rises_linearly_from_the_first_step_and_then_stays():
    run = Run(SMALL, ALONE, TEXT, 0)
    rates = []
    for _ in range(6):
        rates.append(run.warmed_up(0.4))
        run.steps += 1
    assert rates == pytest.approx([0.1, 0.2, 0.3, 0.4, 0.4, 0.4])


def test_a_run_that_is_restored_goes_on_as_if_it_had_never_stopped():
    run = Run(SMALL, ALONE, TEXT, 0)
    run.step(4, 1e-2)
    held = run.state()
    losses = [run.step(4, 1e-2) for _ in range(3)]
    other = Run(SMALL, ALONE, TEXT, 9)
    other.restore(held)
    assert [other.step(4, 1e-2) for _ in range(3)] == losses and other.steps == run.steps == 4


def test_an_evaluation_changes_nothing_and_is_the_mean_over_its_tokens():
    run = Run(SMALL, ALONE, TEXT, 0)
    before = run.evaluate()
    assert run.evaluate() == before
    generator = np.random.default_rng(train.EVALUATION_SEED)
    windows = torch.from_numpy(corpus.windows(run.held_out, 8, 16, generator))
    with torch.no_grad():
        each = [run.model.loss(one[None, :-1], one[None, 1:]).item() for one in windows]
    assert before == pytest.approx(np.mean(each), rel=1e-5)


def test_an_evaluation_in_micro_batches_is_that_of_the_whole():
    whole = Run(SMALL, ALONE, TEXT, 0).evaluate()
    for micro_batch_size in (1, 3, 100):  # 8 sequences are two times 3 and 2
        parts = Run(replace(SMALL, micro_batch_size=micro_batch_size), ALONE, TEXT, 0).evaluate()
        assert parts == pytest.approx(whole, rel=1e-6)
