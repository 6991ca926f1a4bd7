import numpy as np
import pytest
from numpy.testing import assert_allclose

from bsmath.batch import global_batch_size, num_devices, padded_tokens, tokens_per_step


@pytest.mark.parametrize(
    "micro, accumulation, replicas, sequences",
    [(48, 1, 1, 48), (2, 4, 8, 64), (6, 4, 8, 192), (1, 26, 60, 1560)],  # nanotron's 2x4x8, llm-foundry's 7B row
)
def test_global_batch_is_the_product_of_its_split(micro, accumulation, replicas, sequences):
    assert global_batch_size(micro, accumulation, replicas) == sequences


def test_default_run_consumes_98304_tokens():
    assert tokens_per_step(48, 2048) == 98_304


def test_forty_percent_padding_leaves_sixty_percent_real_tokens():
    assert_allclose(tokens_per_step(256, 1024, padding_fraction=0.4), 0.6 * 256 * 1024)


def test_padded_tokens_undo_padding():
    real = tokens_per_step(256, 1024, padding_fraction=0.4)
    assert_allclose(padded_tokens(real, 0.4), tokens_per_step(256, 1024))


def test_devices_count_every_rank_of_every_replica():
    assert num_devices(128, 128) == 16_384  # Llama 3.1 405B


def test_arrays_broadcast_like_scalars():
    micro = np.array([1, 2, 4])
    assert_allclose(global_batch_size(micro, 2, 3), [global_batch_size(m, 2, 3) for m in micro])
