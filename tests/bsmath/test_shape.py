"""Assumed dimensions: the family itself, what lies between, and how far real models are from it."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from bsmath import presets
from bsmath.architecture import num_params
from bsmath.shape import FAMILY, assumed_shape

MODELS = presets.models()
DENSE = [key for key, model in MODELS.items() if model.architecture is not None and model.num_experts is None]
COUNTS = np.geomspace(1e5, 1e13, 401)


@pytest.mark.parametrize("key", FAMILY)
def test_members_of_the_family_get_their_own_dimensions(key):
    own, assumed = MODELS[key].architecture, assumed_shape(MODELS[key].num_params)
    for name in ("num_layers", "hidden_size", "num_heads", "head_dim", "vocab_size", "ffn_size", "gated_mlp"):
        assert getattr(assumed, name) == getattr(own, name)


def test_the_founding_run_is_taken_for_24_layers_of_1536():
    shape = assumed_shape(7.96e8)
    assert (shape.num_layers, shape.hidden_size, shape.num_heads, shape.head_dim) == (24, 1536, 16, 96)


def test_eight_times_the_parameters_of_the_largest_member_double_depth_and_width():
    shape = assumed_shape(8 * 174.6e9)
    assert (shape.num_layers, shape.hidden_size, shape.head_dim) == (192, 2 * 12_288, 128)


def test_the_parameters_come_out_as_asked():
    counted = np.array([num_params(assumed_shape(count)) for count in COUNTS]) / COUNTS
    assert_allclose(counted[COUNTS > 1e6], 1, atol=0.31)
    assert_allclose(counted[COUNTS > 1e7], 1, atol=0.15)
    assert_allclose(counted[COUNTS > 1e10], 1, atol=0.03)


def test_layers_hold_12_l_h_squared_once_the_embedding_is_small():
    for count in COUNTS[COUNTS > 1e11]:
        shape = assumed_shape(count)
        assert_allclose(12 * shape.num_layers * shape.hidden_size**2, count, rtol=0.02)


def test_width_is_a_multiple_of_64_and_of_whole_heads_at_any_size():
    for count in COUNTS:
        shape = assumed_shape(count)
        assert shape.hidden_size % 64 == 0
        assert shape.num_heads * shape.head_dim == shape.hidden_size
        assert shape.vocab_size * shape.hidden_size <= max(count / 3, 50_257 * shape.hidden_size)


def test_a_tiny_model_does_not_get_a_vocabulary_larger_than_itself():
    assert assumed_shape(1e6).vocab_size < 1e6 / 128


def test_real_dense_models_have_0_69_to_1_41_times_the_assumed_layers_times_width():
    ratios = []
    for key in DENSE:
        own, assumed = MODELS[key].architecture, assumed_shape(MODELS[key].num_params)
        ratios.append(own.num_layers * own.hidden_size / (assumed.num_layers * assumed.hidden_size))
    assert 0.69 < min(ratios) < 0.75
    assert 1.35 < max(ratios) < 1.415


def test_the_nearest_member_is_the_nearest_in_ratio():
    # 540M is 184M above 356M and 220M below 760M, but a factor of 1.52 and 1.41 away. Heads of 64 and of 96 tell them apart.
    assert assumed_shape(540e6).head_dim == 96
    assert assumed_shape(500e6).head_dim == 64
