import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

from bsmath import moe
from bsmath.moe_balancing import METHODS, SCOPES
from bsmath.moe_capacity import CAPACITIES, converted, deepspeed_capacity, dropless_factor, megatron_capacity, room


@pytest.mark.parametrize(
    "name, tokens, experts, top_k, factor, replicas, capacity",
    [
        ("switch", 6, 3, 1, 1.0, 1, 2),
        ("switch", 6, 3, 1, 1.5, 1, 3),
        ("switch", 4096, 8, 2, 1.0, 1, 512),  # the second expert of a token gets no room of its own
        ("switch", 4096, 64, 1, 1.26, 1, 80),  # 80.64
        ("switch", 16, 8, 1, 20.0, 1, 16),  # no more than the group has
        ("megatron", 4096, 8, 2, 1.0, 1, 1024),
        ("megatron", 4096, 64, 1, 1.26, 1, 81),
        ("megatron", 4096, 256, 8, 1.25, 64, 160),  # of each device
        ("megablocks", 4096, 64, 1, 1.26, 1, 80),
        ("megablocks", 4096, 256, 8, 1.25, 64, 10_240),  # of the group
        ("megablocks", 4096, 8, 2, 0.0, 1, 0),  # dropless
        ("deepspeed", 4096, 8, 2, 1.0, 1, 1024),
        ("deepspeed", 4096, 64, 1, 1.26, 1, 81),
        ("deepspeed", 64, 256, 1, 1.0, 1, 4),  # min_capacity
        ("expert_choice", 4096, 64, 1, 2.0, 1, 128),
    ],
)
def test_capacity_by_hand(name, tokens, experts, top_k, factor, replicas, capacity):
    assert CAPACITIES[name].capacity(tokens, experts, top_k, factor, replicas) == capacity


def test_min_capacity_of_deepspeed_can_be_zero():
    assert deepspeed_capacity(64, 256, 1, 1.0, min_capacity=0) == 1


def test_float_noise_lifts_megatrons_capacity_but_not_ours_nor_deepspeeds():
    assert megatron_capacity(1000, 10, 1, 1.1) == math.ceil((1000 / 10) * 1.1) == 111
    assert moe.expert_capacity(1000, 10, 1, 1.1) == deepspeed_capacity(1000, 10, 1, 1.1) == 110


def test_megatron_is_the_capacity_of_the_moe_module_where_no_noise_matters():
    tokens = np.array([512, 1000, 4096])
    assert_allclose(megatron_capacity(tokens, 256, 8, 1.25), moe.expert_capacity(tokens, 256, 8, 1.25))


@pytest.mark.parametrize("name", CAPACITIES)
def test_room_is_the_same_in_every_definition_once_the_factor_is_converted(name):
    factor = converted(1.25, "megatron", name, top_k=8)
    assert room(name, 4096, 256, 8, factor, expert_parallel_size=4) == 640


def test_switch_needs_the_factor_times_the_experts_of_a_token():
    assert converted(1.25, "megatron", "switch", top_k=8) == 10
    assert converted(2.0, "expert_choice", "deepspeed", top_k=2) == 1  # GShard's 2 M/E
    assert converted(1.25, "megablocks", "deepspeed", top_k=8) == 1.25


@pytest.mark.parametrize("source", CAPACITIES)
@pytest.mark.parametrize("target", CAPACITIES)
def test_conversion_comes_back(source, target):
    assert_allclose(converted(converted(1.1, source, target, 6), target, source, 6), 1.1)


@pytest.mark.parametrize("name", ["switch", "megatron", "megablocks", "deepspeed"])
def test_dropless_factor_has_room_for_every_token(name):
    assert room(name, 4096, 256, 8, dropless_factor(name, 256, 8), expert_parallel_size=2) == 2 * 4096


def test_wrong_names_and_factors_are_named():
    with pytest.raises(ValueError, match="target must be one of switch, megatron, .*, got 'tutel'"):
        converted(1.0, "switch", "tutel", 1)
    with pytest.raises(ValueError, match="factor must be above 0 .*, got 0"):
        converted(0, "megablocks", "megatron", 2)


def test_arrays_and_scalars_agree():
    tokens = np.array([64, 1000, 4096])
    for name, definition in CAPACITIES.items():
        expected = [definition.capacity(m, 64, 2, 1.26, 2) for m in tokens.tolist()]
        assert_allclose(definition.capacity(tokens, 64, 2, 1.26, 2), expected, err_msg=name)


def test_every_balancing_method_says_what_it_balances_over():
    assert len({method.name for method in METHODS}) == len(METHODS) == 6
    for method in METHODS:
        assert method.scope in SCOPES
        assert method.source.startswith("https://")
        assert method.what.endswith(".")
