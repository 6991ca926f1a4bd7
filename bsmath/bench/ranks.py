"""The processes of one measurement: one alone, or several under torchrun, which speak gloo on CPUs and NCCL on GPUs."""

import os
from dataclasses import dataclass

import torch
from torch import distributed

from bsmath.bench.settings import Settings


@dataclass(frozen=True, kw_only=True)
class Ranks:
    """This process among all of them; each is one data-parallel replica."""

    rank: int
    """Number of this process, from 0."""
    size: int
    """Number of processes: the data-parallel size."""
    device: str
    """cpu, or cuda:n."""

    @property
    def first(self) -> bool:
        """Whether this process prints and writes."""
        return self.rank == 0

    @property
    def kind(self) -> str:
        """cpu or cuda."""
        return self.device.partition(":")[0]

    def mean(self, values: torch.Tensor) -> torch.Tensor:
        """The mean over processes, in place; every process gets the same bits."""
        if self.size > 1:
            distributed.all_reduce(values)
            values /= self.size
        return values

    def largest(self, values: torch.Tensor) -> torch.Tensor:
        """The largest over processes of each value, in place."""
        if self.size > 1:
            distributed.all_reduce(values, op=distributed.ReduceOp.MAX)
        return values

    def any(self, here: bool) -> bool:
        """Whether it is so in any process."""
        return bool(self.mean(torch.tensor(float(here), device=self.device)) > 0)

    def agree(self, value):
        """The first process's value, in every process."""
        if self.size == 1:
            return value
        held = [value]
        distributed.broadcast_object_list(held, device=torch.device(self.device))
        return held[0]

    def stop(self) -> None:
        """Leave the group."""
        if distributed.is_initialized():
            distributed.destroy_process_group()


def start(settings: Settings) -> Ranks:
    """Join the processes that torchrun started, if it did; ValueError where the device is not there."""
    found = torch.cuda.is_available()
    if settings.device == "cuda" and not found:
        raise ValueError("device must be one that PyTorch finds on this machine, got 'cuda'")
    if settings.threads is not None:
        torch.set_num_threads(settings.threads)
    rank, size = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
    device = f"cuda:{os.environ.get('LOCAL_RANK', 0)}" if found and settings.device != "cpu" else "cpu"
    if device != "cpu":
        torch.cuda.set_device(device)
    if size > 1 and not distributed.is_initialized():
        distributed.init_process_group("nccl" if device != "cpu" else "gloo")
    return Ranks(rank=rank, size=size, device=device)
