"""The harness on the command line: python -m bsmath.bench MEASURE [options], alone or under torchrun."""

import os
import shlex
import sys
import time
from argparse import Namespace
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from types import ModuleType

from bsmath.bench import options, record
from bsmath.bench.settings import Settings, Training

NEEDED = {"torch": "PyTorch", "numpy": "numpy", "scipy": "scipy", "pandas": "pandas"}
NO_TORCH = "the harness needs {}: make bench-install, then .venv/bin/python -m bsmath.bench; or pip install -r requirements-bench.txt"
INTERRUPTED = 130
"""Exit code of a program that Ctrl-C stopped."""


def command(arguments: list[str], processes: int) -> str:
    """The command that repeats this measurement."""
    here = int(os.environ.get("LOCAL_WORLD_SIZE", processes))
    nodes = f"--nnodes {processes // here} " if processes > here else ""
    start = f"torchrun {nodes}--nproc-per-node {here} -m bsmath.bench" if processes > 1 else options.PROGRAM
    return f"{start} {shlex.join(arguments)}"


def setup(measure: ModuleType, name: str, settings: Settings, ranks) -> record.Setup:
    """What is the same in every row."""
    import torch

    return record.Setup(
        measure=name,
        settings=settings,
        num_params=measure.num_params(settings),
        device=ranks.kind,
        device_name=torch.cuda.get_device_name() if ranks.kind == "cuda" else record.processor(),
        threads=torch.get_num_threads(),
        processes=ranks.size,
        torch_version=torch.__version__,
    )


def run(measure: ModuleType, found: record.Setup, ranks, given: Namespace, arguments: list[str]) -> None:
    """Measure; the first process prints every row and writes it as soon as it is there."""
    from bsmath.bench import corpus

    date = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    comments = record.preamble(found, command(arguments, ranks.size), date, measure.notes(found.settings))
    table, kept = opened(given.out, found, measure.COLUMNS, comments, ranks)
    say = print if ranks.first else lambda *_, **__: None
    say(*comments, sep="\n", flush=True)
    if kept:
        say(f"# goes on after the {len(kept)} rows in {given.out}", flush=True)
    since, before, told = time.monotonic(), None, 0.0
    for row, share in measure.rows(found, ranks, corpus.standard_library(), kept):
        table.append(row)
        say(measure.line(row), flush=True)
        if before is None:  # what an earlier run did took none of this one's time
            since, before = time.monotonic(), share
        elif ranks.first and share > max(before, told):
            told = share
            left = (time.monotonic() - since) * (1 - share) / (share - before)
            if left > 1:
                print(f"  {share:.0%} done, about {duration(left)} left", file=sys.stderr, flush=True)
    table.close()


def opened(
    out: Path | None, found: record.Setup, columns: tuple, comments: list[str], ranks
) -> tuple[record.Table, list]:
    """The first process's file and its earlier rows; where it cannot be used, every process refuses, so that none waits."""
    table, kept, refused = record.Table(None, columns, comments, None), None, ""
    if ranks.first and out:
        try:
            kept = record.done(out, found, columns)
            table = record.Table(out, columns, comments, kept)
        except (ValueError, OSError) as error:
            refused = str(error)
    kept, refused = ranks.agree((kept, refused))
    if refused:
        raise ValueError(refused)
    return table, kept or []


def settings_fit(settings: Training, processes: int) -> None:
    """Refuse batches that the processes cannot share equally, in equal micro-batches."""
    for batch in settings.batches:
        if batch % processes:
            raise ValueError(f"global_batch_size must be a multiple of the {processes} processes, got {batch!r}")
        settings.check_micro_batch(batch, processes)


def duration(seconds: float) -> str:
    """Seconds or minutes, as a person would say them."""
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"


def main(arguments: list[str]) -> int:
    """Measure what the arguments ask for; gives the exit code."""
    parser = options.parser()
    given = parser.parse_args(arguments)
    ranks, first = None, os.environ.get("RANK", "0") == "0"
    try:
        settings = options.read(given)
        if isinstance(settings, Training):
            settings_fit(settings, int(os.environ.get("WORLD_SIZE", 1)))
        # PyTorch loads only here, once the arguments are known to be good.
        measure = import_module(f"bsmath.bench.{given.measure}")
        from bsmath.bench import ranks as processes

        ranks = processes.start(settings)
        run(measure, setup(measure, given.measure, settings, ranks), ranks, given, arguments)
    except ModuleNotFoundError as error:
        parser.error(NO_TORCH.format(NEEDED[error.name]) if error.name in NEEDED else str(error))
    except (ValueError, OSError) as error:
        if first:
            parser.error(str(error))
        return 2
    except KeyboardInterrupt:
        if first:
            kept = f"; what was measured is in {given.out}, the same command goes on from there" if given.out else ""
            print(f"stopped{kept}", file=sys.stderr)
        return INTERRUPTED
    finally:
        if ranks is not None:
            ranks.stop()
    return 0


def leave(code: int) -> None:
    """End the process; under torchrun without Python's own tear-down.

    Once an optimizer has stepped, PyTorch 2.13 keeps gloo's threads although the group is destroyed, and one that drops a tensor
    while the interpreter ends aborts the process (pytorch/pytorch pull request 179291): all rows written, and yet a failure.
    """
    if "WORLD_SIZE" in os.environ:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    sys.exit(code)


if __name__ == "__main__":
    os.environ.setdefault("TORCH_CPP_LOG_LEVEL", "ERROR")
    leave(main(sys.argv[1:]))
