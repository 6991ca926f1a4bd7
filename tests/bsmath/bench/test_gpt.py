"""The model that is timed: its shapes, its size, its first loss, its causality."""

import math
from dataclasses import replace

import pytest

torch = pytest.importorskip("torch", reason="the harness's own tests need requirements-bench.txt")

from bsmath.bench.gpt import BYTES, GPT, Shape, num_params  # noqa: E402

pytestmark = pytest.mark.torch
SMALL = Shape(seq_len=16, layers=2, width=32, heads=4)


def model(shape: Shape = SMALL) -> GPT:
    torch.manual_seed(0)
    return GPT(shape)


def random_tokens(sequences: int, seq_len: int):
    return torch.randint(0, BYTES, (sequences, seq_len), generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize("sequences, seq_len", [(1, 1), (3, 16), (5, 7)])
def test_every_token_gets_one_logit_a_byte(sequences, seq_len):
    assert model()(random_tokens(sequences, seq_len)).shape == (sequences, seq_len, 256)


@pytest.mark.parametrize(
    "shape, parameters",
    [
        # 4 x (12 x 16,384 + 256) blocks + 32,768 bytes + 16,384 positions + 128 last norm
        (Shape(seq_len=128, layers=4, width=128, heads=4), 836_736),
        (Shape(seq_len=128, layers=4, width=128, heads=4, tied_head=False), 836_736 + 32_768),
        # 2 x (12 x 1,024 + 64) + 8,192 + 512 + 32
        (SMALL, 33_440),
    ],
)
def test_parameters_are_counted_as_by_hand(shape, parameters):
    assert num_params(shape) == parameters
    assert sum(weight.numel() for weight in GPT(shape).parameters()) == parameters


def test_the_first_loss_is_that_of_logits_of_variance_one():
    """Independent normal logits of variance 1 lose ln 256 by guessing, and 1/2 more by their spread (E exp = e^1/2)."""
    tokens = random_tokens(64, 17)
    for shape in (SMALL, replace(SMALL, tied_head=False), replace(SMALL, width=128, layers=4)):
        assert model(shape).loss(tokens[:, :-1], tokens[:, 1:]).item() == pytest.approx(math.log(256) + 0.5, rel=0.02)


def test_no_token_sees_a_later_one():
    tokens = random_tokens(2, 16)
    changed = tokens.clone()
    changed[:, 9] = (changed[:, 9] + 1) % BYTES
    gpt = model()
    before, after = gpt(tokens), gpt(changed)
    torch.testing.assert_close(before[:, :9], after[:, :9])
    assert (before[:, 9:] - after[:, 9:]).abs().amax(dim=(0, 2)).min() > 1e-6


def test_a_token_knows_its_position():
    same = torch.full((1, 16), 65)
    logits = model()(same)
    assert (logits[0, 0] - logits[0, 1]).abs().max() > 1e-4
