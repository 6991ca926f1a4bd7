"""The step that is timed is the step of a trainer."""

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the harness's own tests need requirements-bench.txt")

from bsmath.bench import corpus, throughput  # noqa: E402
from bsmath.bench.gpt import GPT  # noqa: E402
from bsmath.bench.settings import Settings  # noqa: E402

pytestmark = pytest.mark.torch
SMALL = Settings(
    global_batch_sizes=(1, 4), seq_len=16, layers=1, width=16, heads=2, warmup_steps=2, steps=3, device="cpu"
)


def windows(sequences: int):
    text = corpus.standard_library(100_000)
    return torch.from_numpy(corpus.windows(text, sequences, SMALL.seq_len, np.random.default_rng(0)))


def gradient(micro_batch_size: int, dtype: str = "float32"):
    """Loss and gradient of one batch of 12 sequences in micro-batches."""
    torch.manual_seed(0)
    model = GPT(throughput.shape(SMALL))
    loss = throughput.accumulate_gradient(model, windows(12), micro_batch_size, dtype)
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


def test_warm_up_steps_are_left_out_of_the_times():
    times = throughput.step_times(throughput.setup(SMALL), corpus.standard_library(100_000), 4)
    assert len(times) == SMALL.steps and min(times) > 0


def test_a_batch_that_memory_cannot_hold_is_a_memory_error():
    endless = Settings(seq_len=16, layers=1, width=100_000, heads=1, device="cpu")
    with pytest.raises(MemoryError):
        throughput.step_times(throughput.setup(endless), corpus.standard_library(1_000), 1)


def test_the_setup_names_the_machine_and_the_model():
    found = throughput.setup(SMALL)
    assert (found.device, found.num_params, found.threads) == ("cpu", 7_472, torch.get_num_threads())
    assert found.torch_version == torch.__version__ and found.device_name


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has a CUDA device")
def test_a_device_that_is_not_there_is_refused():
    with pytest.raises(ValueError, match="device must be one that PyTorch finds on this machine, got 'cuda'"):
        throughput.setup(Settings(device="cuda"))
