"""Noise-scale logs with a column for each layer group, made long; and batch sizes that stand in a file's comment lines.

A group's columns are paths such as `layer3/grad_sq_norm_small`, `train/gns/ln_f/norm` or `noise/attention/trace`: the last
part says what is measured, what is left before it without the words of PREFIXES names the group.
"""

import re

import numpy as np
import pandas as pd

from bsmath.logs import noise_headers
from bsmath.quantities import parse_number

PREFIXES = ("train", "training", "gns", "noise", "noise_scale", "grad", "grads", "gradients", "metrics", "ddp", "optim", "all",
            "total", "global", "model", "debug", "throughput")  # fmt: skip
"""Parts of a path that name no layer group."""
ALL = "all"
SIZES = ("tokens_small", "tokens_big", "sequences_small", "sequences_big", "tokens_per_step", "seq_len")
"""Meanings that a comment line may give for all rows."""
GIVEN = re.compile(r"\b([A-Za-z][A-Za-z_ ]*?)\s*[:=]\s*(\d+\^\d+|\d[\d.,_]*+(?:[eE]\+?\d+)?+\s?[kKMBG]?+i?+)(?![\w^])")
PER_EXAMPLE = "pegn"
"""nanoGNS's name for norms of single sequences: its column batch_size is then the big batch."""


def group_of(header: str) -> str:
    """The layer group whose column this is, or ALL."""
    parts = [part.strip() for part in noise_headers.last(header).split("/")[:-1]]
    return "/".join(part for part in parts if part and part.lower() not in PREFIXES) or ALL


def per_example(headers: list[str]) -> list[str]:
    """The headers, those of nanoGNS under names that say which batch is which: its big one, and one sequence."""
    ends = {str(header).split("/")[-1] for header in headers}
    if not {PER_EXAMPLE, "batch_size"} <= ends:
        return headers
    return [*(re.sub(r"(^|/)batch_size$", r"\1sequences_big", str(header)) for header in headers), "sequences_small"]


def long(frame: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    """The table with a row for each layer group where groups have columns of their own, else as it is; and what is to be said."""
    renamed = dict(zip(frame, per_example(list(frame)), strict=False))
    if list(renamed.values()) != list(frame):
        frame = frame.rename(columns=renamed).assign(sequences_small=1.0)
    parts = {header: group_of(header) for header in frame if noise_headers.meaning(header) in noise_headers.PARTS}
    names = list(dict.fromkeys(parts.values()))
    if not set(names) - {ALL} or "group" in noise_headers.meanings(list(frame)):
        return frame, []
    wanted, runs = _source(parts), list(dict.fromkeys(map(_run, parts)))
    tables = []
    for name in names:
        mine = [header for header in parts if parts[header] == name and _run(header) == runs[0]]
        if wanted <= _meanings(mine):
            tables.append(_of_group(frame, name, mine, names))
    said = [f"Only {runs[0]!r} was read, not {', '.join(runs[1:6])}."] if runs[1:] else []
    return (pd.concat(tables, ignore_index=True), said) if tables else (frame, said)


def _of_group(frame: pd.DataFrame, name: str, parts: list[str], names: list[str]) -> pd.DataFrame:
    """The rows of one group: its parts, its own batch sizes and what all groups share, under the last words of their headers."""
    rest = [header for header in frame if noise_headers.meaning(header) not in {*noise_headers.PARTS, None}]
    own = [header for header in rest if name != ALL and group_of(header) == name]
    shared = [header for header in rest if group_of(header) not in set(names) - {ALL}]
    taken = {noise_headers.meaning(header): header for header in (*reversed(shared), *reversed(own), *reversed(parts))}
    table = frame[list(taken.values())]
    return table.set_axis([noise_headers.last(header).split("/")[-1] for header in table], axis=1).assign(group=name)


def constants(comments: tuple[str, ...]) -> dict[str, float]:
    """Batch sizes and sequence length in comment lines such as `# tokens_small: 4096, tokens_big: 131072`, by header."""
    found = {}
    for comment in comments:
        for words, number in GIVEN.findall(comment):
            if noise_headers.meaning(words) in SIZES:
                found.setdefault(noise_headers.reduced(words), _number(number))
    return {name: value for name, value in found.items() if np.isfinite(value)}


def with_constants(frame: pd.DataFrame, comments: tuple[str, ...]) -> tuple[pd.DataFrame, list[str]]:
    """The table with a column for each size that comment lines give and no column holds, and a sentence that says so."""
    known = _meanings(frame)
    new = {name: value for name, value in constants(comments).items() if noise_headers.meaning(name) not in known}
    listed = ", ".join(f"{name} = {value:,.10g}" for name, value in new.items())
    return frame.assign(**new), [f"Taken from the lines above the header: {listed}."] if new else []


def _source(headers) -> set[str]:
    """The parts among these columns that a noise scale can be made from, batch sizes aside."""
    known = _meanings(headers)
    sources = (
        *map(set, noise_headers.NORMS),
        {"grad_sq_norm", "trace"},
        {"grad_sq_norm", "initial_variance"},
        {"ratio"},
    )
    return next((source for source in sources if source <= known), known)


def _meanings(headers) -> set[str]:
    return {noise_headers.meaning(header) for header in headers} - {None}


def _run(header: str) -> str:
    """The name of the run before " - " in the header of a table of several runs."""
    return str(header).rpartition(" - ")[0]


def _number(text: str) -> float:
    try:
        return parse_number(text.strip().strip(",."))
    except ValueError:
        return np.nan
