"""The harness on the command line: python -m bsmath.bench throughput [options]."""

import argparse
import shlex
import sys
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import fields
from datetime import UTC, datetime
from functools import partial
from typing import TextIO

from bsmath.bench import corpus, record, sweep
from bsmath.bench.settings import DEVICES, DTYPES, Settings

PROGRAM = "python -m bsmath.bench"
NO_TORCH = "the harness needs PyTorch, install it with: pip install -r requirements-bench.txt"
INTERRUPTED = 130
"""Exit code of a program that Ctrl-C stopped."""


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


def whole_numbers(text: str) -> tuple[int, ...]:
    """The text as ints between commas."""
    return tuple(whole_number(part) for part in text.split(","))


OPTIONS = {
    "global_batch_sizes": (whole_numbers, "batch sizes to time, between commas [sequences]"),
    "seq_len": (whole_number, "length of every sequence [tokens]"),
    "micro_batch_size": (whole_number, "accumulate larger batches from micro-batches of this size [sequences]"),
    "warmup_steps": (whole_number, "steps of each measurement that are left out"),
    "steps": (whole_number, "steps of each measurement that are timed"),
    "layers": (whole_number, "transformer blocks"),
    "width": (whole_number, "features per token"),
    "heads": (whole_number, "attention heads"),
    "device": (str, ", ".join(DEVICES)),
    "dtype": (str, ", ".join(DTYPES)),
    "threads": (whole_number, "CPU threads; PyTorch's own choice if left out"),
    "repeats": (whole_number, "measurements of each batch size"),
    "seed": (whole_number, "decides weights, data and order"),
}
"""Field of Settings: how its option is read, and what it means."""


def parser() -> Parser:
    """The options, with the defaults of Settings."""
    top = Parser(prog=PROGRAM, description="Time real training steps.", allow_abbrev=False)
    measures = top.add_subparsers(dest="measure", required=True, metavar="throughput")
    command = measures.add_parser("throughput", help="tokens per second against batch size", allow_abbrev=False)
    for name, (kind, meaning) in OPTIONS.items():
        default = getattr(Settings, name)
        shown = ",".join(map(str, default)) if isinstance(default, tuple) else default
        help_text = meaning if default is None else f"{meaning} (default {shown})"
        metavar = "N,N,..." if isinstance(default, tuple) else "NAME" if kind is str else "N"
        command.add_argument(f"--{name.replace('_', '-')}", type=kind, default=default, metavar=metavar, help=help_text)
    command.add_argument("--out", metavar="FILE.csv", help="write the measurements to this file, row by row")
    return top


def run(setup: record.Setup, step_times: Callable[[int], Sequence[float]], command: str, out: TextIO | None) -> None:
    """Measure; every measurement is printed as a line and written to `out` as soon as it is done."""
    date = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    preamble = record.preamble(setup, command=command, date=date)
    print(*preamble, sep="\n", flush=True)
    if out:
        record.start(out, preamble)
    for measurement in sweep.measurements(setup.settings, step_times):
        if out:
            record.append(out, record.row(measurement, setup))
        print(measurement.line(setup.settings.seq_len), flush=True)


def main(arguments: list[str]) -> int:
    """Measure what the arguments ask for; gives the exit code."""
    options = parser()
    given = options.parse_args(arguments)
    try:
        settings = Settings(**{field.name: getattr(given, field.name) for field in fields(Settings)})
        from bsmath.bench import throughput  # PyTorch loads only here, once the arguments are known to be good

        setup, text = throughput.setup(settings), corpus.standard_library()
        out = open(given.out, "w", encoding="utf-8", newline="") if given.out else None
    except ModuleNotFoundError as error:
        options.error(NO_TORCH if error.name == "torch" else str(error))
    except (ValueError, OSError) as error:
        options.error(str(error))
    try:
        with out or nullcontext():
            run(setup, partial(throughput.step_times, setup, text), f"{PROGRAM} {shlex.join(arguments)}", out)
    except KeyboardInterrupt:
        print("stopped" + (f"; the measurements that were done are in {given.out}" if out else ""), file=sys.stderr)
        return INTERRUPTED
    except OSError as error:
        options.error(str(error))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
