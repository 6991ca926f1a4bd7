"""The small mixture of experts: its size, its routing, its balancing loss."""

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the harness's own tests need requirements-bench.txt")

from torch.nn import functional  # noqa: E402

from bsmath.bench import moe_gpt  # noqa: E402
from bsmath.bench.gpt import GPT, Shape  # noqa: E402
from bsmath.bench.moe_gpt import ExpertGPT, Experts  # noqa: E402

pytestmark = pytest.mark.torch
SHAPE = Shape(seq_len=8, layers=2, width=16, heads=2)


@pytest.fixture(autouse=True)
def one_thread_and_seed():
    torch.set_num_threads(1)
    torch.manual_seed(0)


def model(top_k: int = 2, balancing_loss: float = 0.01, num_experts: int = 4) -> ExpertGPT:
    return ExpertGPT(SHAPE, num_experts=num_experts, top_k=top_k, balancing_loss=balancing_loss)


def layer(num_experts: int = 4, top_k: int = 2, width: int = 6) -> Experts:
    made = Experts(width, num_experts, top_k)
    for weight in made.parameters():
        torch.nn.init.normal_(weight)
    return made


def tokens(sequences: int = 5) -> torch.Tensor:
    return torch.randint(0, 256, (sequences, SHAPE.seq_len + 1))


@pytest.mark.parametrize("num_experts, top_k", [(4, 1), (4, 2), (5, 3)])
def test_the_parameters_are_those_that_the_formula_counts(num_experts, top_k):
    counted = sum(weight.numel() for weight in model(top_k, 0.0, num_experts).parameters())
    assert counted == moe_gpt.num_params(SHAPE, num_experts, top_k)


def test_a_token_uses_the_matrices_of_the_plain_layer():
    plain = sum(
        weight.numel() for name, weight in GPT(SHAPE).named_parameters() if "mlp" in name and "norm" not in name
    )
    experts = model(top_k=2).blocks[0].experts
    assert SHAPE.layers * 2 * (experts.up[0].numel() + experts.down[0].numel()) == plain


def test_the_output_is_the_sum_over_the_chosen_experts_weighted_with_their_own_probabilities():
    experts, x = layer(), torch.randn(3, 5, 6)
    out = experts(x).flatten(0, 1)
    for token, result in zip(x.flatten(0, 1), out, strict=True):
        probability = torch.softmax(experts.router.weight @ token, dim=0)
        best = probability.argsort(descending=True)[:2]
        expected = sum(
            probability[e] * (experts.down[e] @ functional.gelu(experts.up[e] @ token)) for e in best.tolist()
        )
        torch.testing.assert_close(result, expected, rtol=1e-4, atol=1e-4)


def test_every_token_picks_k_different_experts():
    chosen = model(top_k=3).chosen(tokens()[:, :-1])
    assert chosen.shape == (SHAPE.layers, 5 * SHAPE.seq_len, 3)
    assert all(len(set(picks)) == 3 for picks in chosen.flatten(0, 1).tolist())


def test_with_every_expert_chosen_the_layer_is_the_dense_sum():
    experts, x = layer(top_k=4), torch.randn(2, 3, 6)
    probability = torch.softmax(experts.router(x), dim=-1)
    each = torch.stack(
        [functional.gelu(x @ up.T) @ down.T for up, down in zip(experts.up, experts.down, strict=True)], -1
    )
    torch.testing.assert_close(experts(x), (each * probability[..., None, :]).sum(-1), rtol=1e-4, atol=1e-4)


def test_even_routing_has_a_balancing_loss_of_one_and_collapse_one_of_e_over_k():
    experts = layer(num_experts=4, top_k=2, width=4)
    even = torch.tensor([[9.0, 9, 0, 0], [0, 9, 9, 0], [0, 0, 9, 9], [9, 0, 0, 9]]) * 5
    with torch.no_grad():
        experts.router.weight.copy_(torch.eye(4))
    experts(even)
    assert experts.balance.item() == pytest.approx(1.0, abs=1e-4)
    experts(torch.tensor([[45.0, 45, 0, 0]] * 4))
    assert experts.balance.item() == pytest.approx(2.0, abs=1e-4)  # all on 2 of 4 experts: E (1/2 1/2 + 1/2 1/2)


def test_the_balancing_loss_is_there_in_training_and_not_in_evaluation():
    windows = tokens()
    weighted, plain = model(balancing_loss=0.5), model(balancing_loss=0.0)
    plain.load_state_dict(weighted.state_dict())
    inputs, targets = windows[:, :-1], windows[:, 1:]
    in_training, cross_entropy = weighted.loss(inputs, targets), plain.loss(inputs, targets)
    balance = sum(block.experts.balance for block in weighted.blocks)
    assert balance > SHAPE.layers * 0.99
    torch.testing.assert_close(in_training, cross_entropy + 0.5 * balance)
    torch.testing.assert_close(weighted.eval().loss(inputs, targets), cross_entropy)


def test_descending_the_balancing_loss_evens_the_loads_out():
    x = torch.randn(512, 6) + 1  # a common direction, which a random router sends to few experts
    experts = layer(num_experts=8)
    experts(x)
    before = experts.chosen.flatten().bincount(minlength=8).float()
    optimizer = torch.optim.SGD([experts.router.weight], lr=1.0)
    for _ in range(60):
        optimizer.zero_grad()
        experts(x)
        experts.balance.backward()
        optimizer.step()
    experts(x)
    after = experts.chosen.flatten().bincount(minlength=8).float()
    assert after.std(correction=0) / after.mean() < 0.5 * before.std(correction=0) / before.mean()


def test_the_router_learns_from_the_loss_even_with_one_expert_a_token():
    made, windows = model(top_k=1, balancing_loss=0.0), tokens()
    made.loss(windows[:, :-1], windows[:, 1:]).backward()
    assert all(block.experts.router.weight.grad.abs().max() > 0 for block in made.blocks)


def test_signals_start_at_the_size_that_the_plain_model_has():
    experts = model(num_experts=16).blocks[0].experts
    assert experts.up.std().item() == pytest.approx(16**-0.5, rel=0.05)
    assert experts.down.std().item() == pytest.approx(32**-0.5, rel=0.05)
    assert np.isfinite(model().loss(tokens()[:, :-1], tokens()[:, 1:]).item())


def test_bfloat16_products_run_and_keep_float32_weights():
    made, windows = model(), tokens()
    with torch.autocast("cpu", torch.bfloat16):
        loss = made.loss(windows[:, :-1], windows[:, 1:])
    loss.backward()
    assert made.blocks[0].experts.up.grad.dtype == torch.float32
    torch.testing.assert_close(loss.float(), made.loss(windows[:, :-1], windows[:, 1:]), rtol=0.05, atol=0)
