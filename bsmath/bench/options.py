"""The command line of the harness: one subcommand a measurement, one option a field of its settings. Needs no PyTorch."""

import argparse
from dataclasses import fields
from pathlib import Path

from bsmath.bench import settings

PROGRAM = "python -m bsmath.bench"
MEASURES = {
    "throughput": (settings.Throughput, "tokens per second against batch size"),
    "convergence": (settings.Convergence, "steps to a target loss over batch sizes, learning rates and seeds"),
    "noise": (settings.Noise, "the gradient noise scale through one training run"),
    "branch": (settings.Branch, "the critical batch size by branching a run"),
    "router": (settings.Router, "expert loads of a small mixture of experts"),
}
"""What can be measured; each is a module of this folder with the same name."""


class Parser(argparse.ArgumentParser):
    """Says what is wrong in one line, without the usage."""

    def error(self, message: str):
        self.exit(2, f"{self.prog}: {message}\n")


def whole_number(text: str) -> int:
    """The text as an int."""
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"must be a whole number, got {text!r}") from None


def number(text: str) -> float:
    """The text as a float."""
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"must be a number, got {text!r}") from None


def whole_numbers(text: str) -> tuple[int, ...]:
    """The text as ints between commas."""
    return tuple(whole_number(part) for part in text.split(","))


def numbers(text: str) -> tuple[float, ...]:
    """The text as floats between commas."""
    return tuple(number(part) for part in text.split(","))


OPTIONS = {
    "global_batch_sizes": (whole_numbers, "batch sizes, between commas [sequences]"),
    "global_batch_size": (whole_number, "batch size of the run [sequences]"),
    "micro_batch_sizes": (whole_numbers, "sequences that a process forwards at once, between commas [sequences]"),
    "micro_batch_size": (whole_number, "sequences that a process forwards at once [sequences]"),
    "seq_len": (whole_number, "length of every sequence [tokens]"),
    "layers": (whole_number, "transformer blocks"),
    "width": (whole_number, "features per token"),
    "heads": (whole_number, "attention heads"),
    "warmup_steps": (whole_number, "steps of each measurement that are left out"),
    "steps": (whole_number, "steps that are measured; of the run, where there is one"),
    "repeats": (whole_number, "measurements of each batch size"),
    "compile": (bool, "compile the model with torch.compile"),
    "peak_flops": (number, "dense peak of one device, for the MFU [FLOP/s]"),
    "learning_rates": (numbers, "peak rates to try at every batch, between commas"),
    "learning_rate": (number, "peak rate"),
    "lr_warmup_steps": (whole_number, "steps over which the rate rises from 0"),
    "seeds": (whole_number, "runs of each kind, each with its own data"),
    "target_loss": (number, "held-out loss that ends a run [nats/token]"),
    "max_steps": (whole_number, "steps after which a run counts as not arrived"),
    "patience": (number, "a run ends at this multiple of the fewest steps at its batch"),
    "eval_sequences": (whole_number, "held-out sequences of every evaluation"),
    "average_steps": (whole_number, "steps averaged into one row"),
    "checkpoint_steps": (whole_numbers, "steps at which the run is branched, between commas"),
    "batch_factors": (whole_numbers, "multiples of the batch to branch to, between commas"),
    "branch_tokens": (whole_number, "length of every branch [tokens]"),
    "tolerance": (number, "loss above the unchanged branch that still counts as recovered [nats/token]"),
    "num_experts": (whole_number, "experts of every layer"),
    "top_k": (whole_number, "experts that each token is sent to"),
    "balancing_losses": (numbers, "weights of the balancing loss, between commas"),
    "routed_tokens_list": (whole_numbers, "tokens routed together, between commas [tokens]"),
    "groups": (whole_number, "groups of tokens routed at each size"),
    "device": (str, ", ".join(settings.DEVICES)),
    "dtype": (str, ", ".join(settings.DTYPES)),
    "threads": (whole_number, "CPU threads of each process; PyTorch's own choice if left out"),
    "seed": (whole_number, "decides weights, data and order"),
}
"""Field of the settings: how its option is read, and what it means."""


def option(field: str) -> str:
    """The option of a field: --routed-tokens for routed_tokens_list."""
    return "--" + field.removesuffix("_list").replace("_", "-")


def parser() -> Parser:
    """The subcommands and their options, with the defaults of the settings."""
    top = Parser(prog=PROGRAM, description="Measure real training steps.", allow_abbrev=False)
    measures = top.add_subparsers(dest="measure", required=True, metavar="|".join(MEASURES))
    for measure, (kind, meaning) in MEASURES.items():
        command = measures.add_parser(measure, help=meaning, description=f"Measure {meaning}.", allow_abbrev=False)
        asked = {field.name: field.default for field in fields(kind)}
        for name in sorted(asked, key=list(OPTIONS).index):
            _add(command, name, asked[name])
        out = "write the rows to this file; an interrupted measurement goes on with what it holds"
        command.add_argument("--out", type=Path, metavar="FILE.csv", help=out)
    return top


def _add(command: argparse.ArgumentParser, name: str, default) -> None:
    kind, meaning = OPTIONS[name]
    if kind is bool:
        command.add_argument(option(name), dest=name, action="store_true", help=meaning)
        return
    several = kind in (whole_numbers, numbers)
    shown = ",".join(f"{value:g}" for value in default) if several else default
    help_text = meaning if default in (None, ()) else f"{meaning} (default {shown})"
    metavar = "N,N,..." if several else "NAME" if kind is str else "N"
    command.add_argument(option(name), dest=name, type=kind, default=default, metavar=metavar, help=help_text)


def read(given: argparse.Namespace) -> settings.Settings:
    """The settings that the arguments give; ValueError where one is out of its range."""
    kind = MEASURES[given.measure][0]
    return kind(**{field.name: getattr(given, field.name) for field in fields(kind)})
