"""A measurement in the process of its test: what the tests of the measurements share."""

from collections.abc import Iterable
from types import ModuleType

from bsmath.bench import corpus, record
from bsmath.bench.ranks import Ranks
from bsmath.bench.record import Setup
from bsmath.bench.settings import Settings

TEXT = corpus.standard_library(100_000)
ALONE = Ranks(rank=0, size=1, device="cpu")


def rows(measure: ModuleType, settings: Settings, kept: Iterable[dict[str, str]] = ()) -> list[tuple[dict, float]]:
    """The rows of a measurement, each with the share that is then done."""
    setup = Setup(
        measure=measure.__name__.rpartition(".")[2],
        settings=settings,
        num_params=measure.num_params(settings),
        device="cpu",
        device_name="a processor",
        threads=1,
        processes=1,
        torch_version="2",
    )
    return list(measure.rows(setup, ALONE, TEXT, list(kept)))


def as_text(row: dict) -> dict[str, str]:
    """A row as the file holds it."""
    return {name: record.text(value) for name, value in row.items()}
