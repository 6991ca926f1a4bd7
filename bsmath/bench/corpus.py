"""Text to train on that every machine has: the sources of Python's own standard library, one token a byte."""

import sysconfig
from pathlib import Path

import numpy as np

SIZE = 4_000_000
"""Bytes kept: enough that random windows hardly repeat, little enough to load at once."""
THIRD_PARTY = {"site-packages", "dist-packages"}
BLOCK, HELD_OUT = 4_096, 16
"""One block of bytes in HELD_OUT is kept from training. Whole files would not do: neighbors differ too much."""


def standard_library(size: int = SIZE) -> np.ndarray:
    """The first `size` bytes of the standard library's sources, files in sorted order, as a uint8 array.

    The same Python version gives the same bytes.
    """
    root = Path(sysconfig.get_path("stdlib"))
    texts, total = [], 0
    for path in sorted(root.rglob("*.py")):
        if total >= size:
            break
        if THIRD_PARTY.isdisjoint(path.relative_to(root).parts):
            texts.append(path.read_bytes())
            total += len(texts[-1])
    if not total:
        raise ValueError(f"the standard library must be installed as source files, got none in {str(root)!r}")
    return np.frombuffer(b"".join(texts)[:size], dtype=np.uint8)


def split(corpus: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The bytes to train on and those held out: every sixteenth block of 4,096, so that both come from the same files."""
    block = np.arange(-(-len(corpus) // BLOCK)) % HELD_OUT == HELD_OUT - 1
    held_out = np.repeat(block, BLOCK)[: len(corpus)]
    return corpus[~held_out], corpus[held_out]


def windows(corpus: np.ndarray, sequences: int, seq_len: int, generator: np.random.Generator) -> np.ndarray:
    """Random windows of seq_len + 1 bytes: inputs are all but the last column, targets all but the first.

    Parameters
    ----------
    corpus : numpy.ndarray
        One byte an element.
    sequences : int
        Windows to draw, with replacement. [sequences]
    seq_len : int
        [tokens]
    generator : numpy.random.Generator
        Its seed decides the windows.

    Returns
    -------
    numpy.ndarray
        int64, sequences x (seq_len + 1).
    """
    if len(corpus) <= seq_len:
        raise ValueError(f"seq_len must be shorter than the corpus of {len(corpus)} bytes, got {seq_len!r}")
    starts = generator.integers(0, len(corpus) - seq_len, size=(sequences, 1))
    return corpus[starts + np.arange(seq_len + 1)].astype(np.int64)
