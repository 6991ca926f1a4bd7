"""The bytes that the model is trained on."""

import numpy as np
import pytest

from bsmath.bench import corpus


def test_the_same_call_gives_the_same_bytes_up_to_the_size():
    text = corpus.standard_library(200_000)
    assert text.dtype == np.uint8 and len(text) == 200_000
    assert np.array_equal(corpus.standard_library(50_000), text[:50_000])


def test_the_text_is_python_source():
    assert corpus.standard_library(200_000).tobytes().count(b"    def ") > 100


def test_windows_are_runs_of_consecutive_bytes_from_the_whole_corpus():
    ramp = np.arange(100, dtype=np.uint8)
    drawn = corpus.windows(ramp, 2_000, 9, np.random.default_rng(0))
    assert drawn.shape == (2_000, 10) and drawn.dtype == np.int64
    assert (np.diff(drawn, axis=1) == 1).all()
    assert drawn.min() == 0 and drawn.max() == 99


def test_the_seed_decides_the_windows():
    text = corpus.standard_library(10_000)
    one, same, other = (corpus.windows(text, 8, 32, np.random.default_rng(seed)) for seed in (1, 1, 2))
    assert np.array_equal(one, same) and not np.array_equal(one, other)


def test_a_sequence_longer_than_the_corpus_is_refused():
    with pytest.raises(ValueError, match="seq_len must be shorter than the corpus of 100 bytes, got 100"):
        corpus.windows(np.zeros(100, np.uint8), 1, 100, np.random.default_rng(0))
