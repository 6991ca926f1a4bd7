"""Ways to split a wanted global batch into micro-batch, accumulation and replicas, and the nearest batches that can be split.

    global_batch_size = micro_batch_size * grad_accum_steps * data_parallel_size          all whole
    feasible on R replicas: the multiples of R m for some micro-batch m that fits; with m = 1, every multiple of R

Exact arithmetic (derived). The cost grows with the square root of the batch or with the largest micro-batch, whichever is
smaller, never with the number of devices.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, kw_only=True)
class Split:
    """One way to make a global batch."""

    micro_batch_size: int
    """What one replica forwards at once. [sequences]"""
    grad_accum_steps: int
    """Micro-batches per replica and step."""
    data_parallel_size: int
    """Replicas."""


def feasible(
    global_batch_size: int,
    num_devices: int,
    model_parallel_size: int,
    largest_micro_batch: int,
    *,
    smallest_micro_batch: int = 1,
    idle_devices: bool = False,
) -> list[Split]:
    """Every split of a global batch, most replicas first and then largest micro-batch; empty where there is none.

    Parameters
    ----------
    global_batch_size : int
        Wanted. [sequences]
    num_devices : int
        Devices of the job, all of them used unless `idle_devices`: then none is feasible where a replica's devices do not
        divide them.
    model_parallel_size : int
        Devices per replica.
    largest_micro_batch : int
        What fits in memory; 0 where nothing does. [sequences]
    smallest_micro_batch : int
        What is still worth forwarding at once. [sequences]
    idle_devices : bool
        Whether devices may be left out.
    """
    micros = [m for m in _divisors(global_batch_size, largest_micro_batch) if m >= smallest_micro_batch]
    splits = []
    for replicas in _replicas(global_batch_size, num_devices, model_parallel_size, idle_devices):
        share = global_batch_size // replicas
        splits += [
            Split(micro_batch_size=m, grad_accum_steps=share // m, data_parallel_size=replicas)
            for m in micros
            if share % m == 0
        ]
    return splits


def _replicas(global_batch_size: int, num_devices: int, model_parallel_size: int, idle_devices: bool) -> list[int]:
    """Numbers of replicas that divide the batch, largest first."""
    most, left = divmod(num_devices, model_parallel_size)
    if idle_devices:
        return _divisors(global_batch_size, most)
    return [most] if most > 0 and left == 0 and global_batch_size % most == 0 else []


def _divisors(number: int, most: int) -> list[int]:
    """Divisors of a positive number up to `most`, largest first."""
    candidates = np.arange(1, min(most, math.isqrt(number)) + 1)
    small = candidates[number % candidates == 0].tolist()
    return sorted({*small, *(number // d for d in small if number // d <= most)}, reverse=True)


def ranked(splits: Iterable[Split], rate: Callable[[Split], float]) -> list[Split]:
    """The splits by predicted rate, fastest first; of equals the larger micro-batch, then more replicas.

    Parameters
    ----------
    splits : iterable of Split
    rate : callable
        Tokens per second of a split. [tokens/s]
    """
    return sorted(splits, key=lambda split: (-rate(split), -split.micro_batch_size, -split.data_parallel_size))


def nearest(
    global_batch_size: int,
    num_devices: int,
    model_parallel_size: int,
    largest_micro_batch: int,
    *,
    smallest_micro_batch: int = 1,
) -> tuple[int | None, int | None]:
    """Largest feasible global batch up to the wanted one, smallest from it on, all devices used. [sequences]

    Both are the wanted one where it is feasible. None: no batch is so small, or (both) nothing fits or a replica's devices
    do not divide the devices. Since a micro-batch of one always divides, the plain answer may be a batch that runs only
    with that; with `smallest_micro_batch` equal to `largest_micro_batch` it is the nearest that keeps this micro-batch. The
    other parameters are those of `feasible`; with idle devices every batch is feasible.
    """
    replicas, left = divmod(num_devices, model_parallel_size)
    if left or replicas < 1 or largest_micro_batch < smallest_micro_batch:
        return None, None
    if smallest_micro_batch == 1:
        smallest_steps = np.array([replicas])
    else:
        smallest_steps = replicas * np.arange(smallest_micro_batch, largest_micro_batch + 1)
    below = int((global_batch_size // smallest_steps * smallest_steps).max())
    above = int((-(-global_batch_size // smallest_steps) * smallest_steps).min())
    return below or None, above
