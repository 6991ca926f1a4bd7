"""Times optimizer steps of a small GPT on this machine.

A step is what a trainer repeats: clear the gradients, forward and backward over the micro-batches, AdamW. Data are drawn
before the clock starts. The device is synchronized before every reading of the clock, because CUDA returns before its work
is done. CUDA is written for one device and, unlike the CPU, has not been tried on real hardware.
"""

import time

import numpy as np
import torch

from bsmath.bench import corpus
from bsmath.bench.gpt import GPT, Shape, num_params
from bsmath.bench.record import Setup, processor
from bsmath.bench.settings import Settings

LEARNING_RATE = 3e-4
"""Any rate costs the same time; this one trains."""


def setup(settings: Settings) -> Setup:
    """What the settings come to on this machine, with the CPU threads set; ValueError where the device is not there."""
    found = torch.cuda.is_available()
    if settings.device == "cuda" and not found:
        raise ValueError("device must be one that PyTorch finds on this machine, got 'cuda'")
    if settings.threads is not None:
        torch.set_num_threads(settings.threads)
    device = "cuda" if found and settings.device != "cpu" else "cpu"
    return Setup(
        settings=settings,
        num_params=num_params(shape(settings)),
        device=device,
        device_name=torch.cuda.get_device_name() if device == "cuda" else processor(),
        threads=torch.get_num_threads(),
        torch_version=torch.__version__,
    )


def shape(settings: Settings) -> Shape:
    """The model that the settings ask for."""
    return Shape(seq_len=settings.seq_len, layers=settings.layers, width=settings.width, heads=settings.heads)


def accumulate_gradient(
    model: GPT, windows: torch.Tensor, micro_batch_size: int, dtype: str = "float32"
) -> torch.Tensor:
    """Add the gradient of the mean loss over all tokens to the parameters, and give that loss. [nats/token]

    Parameters
    ----------
    model : GPT
    windows : torch.Tensor
        The global batch: sequences of seq_len + 1 tokens, a multiple of micro_batch_size of them.
    micro_batch_size : int
        Sequences forwarded at once. [sequences]
    dtype : str
        Type of the matrix products.
    """
    micro_batches = windows.split(micro_batch_size)
    total = torch.zeros((), device=windows.device)
    for micro_batch in micro_batches:
        with torch.autocast(windows.device.type, torch.bfloat16, enabled=dtype == "bfloat16"):
            loss = model.loss(micro_batch[:, :-1], micro_batch[:, 1:]) / len(micro_batches)
        loss.backward()
        total += loss.detach()
    return total


def step_times(setup: Setup, text: np.ndarray, global_batch_size: int) -> list[float]:
    """Time each measured optimizer step of a fresh model at one batch size. [s]

    Parameters
    ----------
    setup : Setup
        What is measured, and on what.
    text : numpy.ndarray
        The corpus, one byte an element.
    global_batch_size : int
        [sequences]

    Raises
    ------
    MemoryError
        Where the batch does not fit the device.
    """
    try:
        return _step_times(setup.settings, setup.device, text, global_batch_size)
    except torch.cuda.OutOfMemoryError:
        raise MemoryError from None
    except RuntimeError as error:  # what PyTorch raises where the CPU's memory runs out
        if "can't allocate memory" not in str(error):
            raise
        raise MemoryError from None


def _step_times(settings: Settings, device: str, text: np.ndarray, global_batch_size: int) -> list[float]:
    torch.manual_seed(settings.seed)
    generator = np.random.default_rng(settings.seed)
    micro_batch_size = settings.micro_batch(global_batch_size)
    model = GPT(shape(settings)).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=LEARNING_RATE)
    times = []
    for _ in range(settings.warmup_steps + settings.steps):
        windows = torch.from_numpy(corpus.windows(text, global_batch_size, settings.seq_len, generator)).to(device)
        start = _clock(device)
        optimizer.zero_grad()
        accumulate_gradient(model, windows, micro_batch_size, settings.dtype)
        optimizer.step()
        times.append(_clock(device) - start)
    return times[settings.warmup_steps :]


def _clock(device: str) -> float:
    if device == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter()
