"""The gradient noise scale of any PyTorch training loop, in three lines; `python -m bsmath.bench noise` uses it too.

    from bsmath.bench.noise_meter import NoiseScaleMeter
    meter = NoiseScaleMeter(model, micro_batch_size=4, seq_len=1024, out="noise.csv")  # before the loop
    ...                       # loss.backward() once per micro-batch, as before
    meter.update()            # once per step: after the last backward, before clipping and optimizer.step()

The file opens on the dashboard's Upload page. The small batch is a micro-batch: a hook on every parameter takes the
squared norm of each backward's own gradient before it is added up. The big batch is the step's, from `.grad` at
`update`. A step needs two micro-batches or more over all processes, of equal size; more and smaller ones make the
estimate surer. Their number may change between steps: that begins a new row.

Data parallel: every process makes a meter and calls `update` at the same time, once `.grad` holds the mean over the
processes. That is so after `backward` under DistributedDataParallel, with or without `no_sync`, whose own reduction
comes after these hooks, and after an all-reduce of one's own. Not supported, since a process then sees no whole
gradient: FSDP and other sharded parameters (refused), tensor and pipeline parallelism, and reentrant checkpoints of
shared weights.

Scale: the losses are taken for means over a micro-batch, divided by the micro-batches of a process; with
`loss_divided=False` for undivided ones. A GradScaler multiplies all gradients: call
`update(loss_scale=scaler.get_scale())` before `unscale_`. A wrong scale multiplies both parts alike, so that their
ratio is right while it stays the same.
"""

import re
from collections.abc import Callable
from pathlib import Path

import torch
from torch import distributed

from bsmath import noise
from bsmath.bench.record import Table

COLUMNS = (
    "tokens_per_step", "step", "tokens", "steps_averaged", "group", "tokens_small", "tokens_big", "grad_sq_norm_small",
    "grad_sq_norm_big", "grad_sq_norm", "trace", "ema_grad_sq_norm", "ema_trace",
)  # fmt: skip
"""Of the meter's own file."""
ALL = "all"
"""The group of all parameters."""
EMA_DECAY = 0.9
"""Weight of a row against the next in the ema_ columns; with rows of 10 steps about 0.99 a step, as in GPT-NeoX."""
GROUPS = {
    "norm": r"norm|^ln|^rms",
    "head": r"^lm_head$|^head$|^embed_out$|unembed|^output$",
    "embedding": r"emb|^wte$|^wpe$|^position",
    "attention": r"att|query|key|value|qkv|^[qkvo]_proj$",
    "mlp": r"mlp|ffn|feed_forward|expert|moe|^fc|_fc|gate_proj|up_proj|down_proj",
}
"""Layer groups, and what one component of a parameter's name then holds; the first that matches is taken."""


def layer_group(name: str) -> str:
    """The layer group of a parameter by its name; where no word of GROUPS is in it, its first component."""
    parts = [part for part in name.lower().split(".") if part not in ("module", "_orig_mod", "weight", "bias")]
    for group, pattern in GROUPS.items():
        if any(re.search(pattern, part) for part in (parts[-1:] if group == "norm" else parts)):
            return group
    return parts[0] if parts else name


class NoiseScaleMeter:
    """Squared gradient norms of the small and the big batch, summed on the device."""

    def __init__(
        self,
        model: torch.nn.Module,
        *,
        micro_batch_size: int,
        seq_len: int,
        out: str | Path | None = None,
        average_steps: int = 10,
        group: Callable[[str], str] = layer_group,
        loss_divided: bool = True,
    ):
        """Put a hook on every parameter that is trained.

        Parameters
        ----------
        model : torch.nn.Module
            Bare, compiled or in DistributedDataParallel.
        micro_batch_size : int
            Of every backward of one process. [sequences]
        seq_len : int
            [tokens/sequence]
        out : path, optional
            File that the first process writes, which must not exist yet.
        average_steps : int
            Steps averaged into one row. [steps]
        group : callable
            Layer group of a parameter's name.
        loss_divided : bool
            Whether the loop divides its losses by the number of micro-batches of a process.
        """
        trained = [(name, weight) for name, weight in model.named_parameters() if weight.requires_grad]
        check(trained)
        self.groups = tuple(dict.fromkeys(group(name) for name, _ in trained))
        self.weights = [(self.groups.index(group(name)), weight) for name, weight in trained]
        self.tokens_small = micro_batch_size * seq_len
        self.average_steps, self.loss_divided = average_steps, loss_divided
        self.step = self.tokens = 0
        self.ema: dict[str, tuple[float, float, float]] = {}
        self.calls = [0] * len(self.weights)
        self.device = trained[0][1].device
        self.small = torch.zeros(len(self.groups), device=self.device)
        self._clear_row()
        self.table = opened(out)
        self.hooks = [weight.register_hook(self._hook(i)) for i, (_, weight) in enumerate(self.weights)]

    def _hook(self, index: int) -> Callable[[torch.Tensor], None]:
        group = self.weights[index][0]

        def add(gradient: torch.Tensor) -> None:
            self.small[group] += squared_norm(gradient).to(self.device)
            self.calls[index] += 1

        return add

    def update(self, loss_scale: float = 1.0) -> list[dict[str, object]]:
        """Take in the step that is in `.grad`; the rows of COLUMNS that it completes, ALL first, else none.

        A step whose gradient is not finite, as a GradScaler skips it, is left out of the averages. Where the processes
        have not had equally many micro-batches, or only one had one, a ValueError says so.
        """
        small, micro_batches = self._reduced()
        big = torch.zeros_like(small)
        for group, weight in self.weights:
            if weight.grad is not None:
                big[group] += squared_norm(weight.grad).to(self.device)
        local = micro_batches / processes()
        divisor = local if self.loss_divided else 1.0
        # With h what a hook saw: a micro-batch's gradient is divisor h, and .grad is the mean over processes of sum(h).
        both = torch.stack([small * (divisor**2 / micro_batches), big * (divisor / local) ** 2]) / loss_scale**2
        tokens_big = micro_batches * self.tokens_small
        before = self.flush() if self.row_steps and tokens_big != self.tokens_big else []  # a row has one batch size
        finite = both.isfinite().all()
        self.sums += torch.where(finite, both, 0.0)
        self.counted += finite
        self.step += 1
        self.row_steps += 1
        self.tokens_big = tokens_big
        self.tokens += tokens_big
        return before + (self.flush() if self.row_steps == self.average_steps else [])

    def _reduced(self) -> tuple[torch.Tensor, int]:
        """Squared norms of all processes' small batches, summed in each group, and how many batches those are."""
        here = max(self.calls)
        small, total, squares = self.small.clone(), here, here**2
        if processes() > 1:
            told = torch.cat([small, small.new_tensor([here, here**2])])
            distributed.all_reduce(told)
            small, (total, squares) = told[:-2], told[-2:].tolist()
        self.small.zero_()
        self.calls = [0] * len(self.calls)
        if total < 2:
            rule = "two or more over all processes: the noise scale needs two batch sizes"
            raise ValueError(f"micro-batches of a step must be {rule}, got {total:.0f}")
        if squares * processes() != total**2:
            raise ValueError(
                f"micro-batches of a step must be equally many on every process, got {here} here of {total:.0f}"
            )
        return small, int(total)

    def flush(self) -> list[dict[str, object]]:
        """The rows of the steps since the last ones, were they fewer than `average_steps`; none without a step."""
        counted = int(self.counted)
        sums = self.sums.double().cpu() / max(counted, 1)
        means = dict(zip(self.groups, sums.T.tolist(), strict=True))
        self._clear_row()
        if not counted:
            return []
        means = {ALL: sums.sum(dim=1).tolist()} | means
        rows = [self._row(group, counted, *pair) for group, pair in means.items()]
        for row in rows if self.table else ():
            self.table.append(row)
        return rows

    def _row(self, group: str, counted: int, small: float, big: float) -> dict[str, object]:
        sizes = (self.tokens_small, self.tokens_big)
        parts = noise.grad_sq_norm(*sizes, small, big), noise.trace(*sizes, small, big)
        held = self.ema.get(group, (0.0, 0.0, 0.0))
        self.ema[group] = tuple(EMA_DECAY * old + new for old, new in zip(held, (1.0, *parts), strict=True))
        total, *sums = self.ema[group]
        cells = (
            self.tokens_big,
            self.step,
            self.tokens,
            counted,
            group,
            *sizes,
            small,
            big,
            *parts,
            *(s / total for s in sums),
        )
        return dict(zip(COLUMNS, cells, strict=True))

    def _clear_row(self) -> None:
        self.sums = torch.zeros(2, len(self.groups), device=self.device)
        self.counted = torch.zeros((), dtype=torch.int64, device=self.device)
        self.row_steps = 0

    def close(self) -> None:
        """Write what is left, close the file and take the hooks away."""
        self.flush()
        for hook in self.hooks:
            hook.remove()
        if self.table:
            self.table.close()


def squared_norm(gradient: torch.Tensor) -> torch.Tensor:
    """|g|^2 in float32, on the gradient's device."""
    return torch.linalg.vector_norm(gradient.detach(), dtype=torch.float32) ** 2


def processes() -> int:
    """Data-parallel replicas: all processes of torch.distributed, where it is in use."""
    return distributed.get_world_size() if distributed.is_available() and distributed.is_initialized() else 1


def check(trained: list[tuple[str, torch.nn.Parameter]]) -> None:
    """Refuse a model without trained parameters, or whose processes hold only shards of them."""
    if not trained:
        raise ValueError("model must have parameters that are trained, got none")
    for name, weight in trained:
        if hasattr(weight, "placements") or "_fsdp" in name or "_flat_param" in name:
            raise ValueError(f"model must hold whole parameters in every process, got the sharded {name!r}")


def opened(out: str | Path | None) -> Table | None:
    """The file of the first process; an existing one is never written over."""
    if out is None or (processes() > 1 and distributed.get_rank()):
        return None
    if Path(out).exists():
        raise ValueError(f"out must be a file that does not exist yet, got {str(out)!r}")
    return Table(Path(out), COLUMNS, (), None)
