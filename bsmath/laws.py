"""Published laws for the batch size of language-model pretraining, each in its own words, units and range.

Critical laws say where tokens start to be wasted, optimal laws which batch has the least loss at a fixed budget. `LAWS`
lists both, from `critical_laws` and `optimal_laws`. Here are what they predict for a run, and the laws in the learning
rate, all empirical. nanochat's recipe is Power Lines' exponent from a reference run of its own, not one more law.
"""

from dataclasses import dataclass

import pandas as pd

from bsmath import critical_laws, optimal_laws
from bsmath.flops import flops_per_token
from bsmath.law import Law

LAWS: dict[str, Law] = critical_laws.LAWS | optimal_laws.LAWS


def step_law_learning_rate(num_params, tokens):
    """Peak rate of Step Law, 1.79 N^-0.713 D^0.307: rises with D, unlike the two below. Empirical, as `step_law`."""
    return 1.79 * num_params**-0.713 * tokens**0.307


def deepseek_learning_rate(compute):
    """Peak rate of DeepSeek LLM, 0.3118 C^-0.1250. Empirical, four rates over 2.5 decades: weaker than its batch."""
    return 0.3118 * compute**-0.1250


def moonlight_learning_rate(compute):
    """Peak rate of Moonlight, 0.0127339 C^-0.0574752. Empirical, as `moonlight`."""
    return 0.0127339 * compute**-0.0574752


def power_lines_timescale(num_params, tokens):
    """Best AdamW timescale B/(eta lambda D) as a share of the run, 1.084 (D/N)^-0.527.

    Empirical (Bergsma et al. 2025, arXiv 2505.13738): 111M-3.3B parameters, SlimPajama, muP, context 2048.
    """
    return 1.084 * (tokens / num_params) ** -0.527


def power_lines_weight_decay(tokens_per_step, learning_rate, num_params, tokens):
    """AdamW's lambda at that timescale, B/(eta D tau), for B well below B_crit. Range as `power_lines_timescale`."""
    return tokens_per_step / (learning_rate * tokens * power_lines_timescale(num_params, tokens))


def inputs(num_params, tokens, loss=None) -> dict:
    """What laws are written in: N, D, L and the compute C = 6 N D. [parameters, tokens, nats/token, FLOP]"""
    compute = flops_per_token(num_params) * tokens
    return {"num_params": num_params, "tokens": tokens, "compute": compute, "loss": loss}


def applicable(known: dict) -> dict[str, Law]:
    """The laws that inputs suffice for; an input that is not known is None."""
    return {name: law for name, law in LAWS.items() if all(known[need] is not None for need in law.needs)}


@dataclass(frozen=True, kw_only=True)
class Prediction:
    """What one law says of one run."""

    law: Law
    """The law."""
    tokens_per_step: float
    """Its batch. [tokens]"""
    inside: bool | None
    """Whether the run lies in the law's stated range; None where that is not known."""


def predict(num_params: float, tokens: float, loss: float | None = None) -> dict[str, Prediction]:
    """What every law that these inputs suffice for says, by its name; parameters as in `predictions`."""
    known = inputs(num_params, tokens, loss)
    return {
        name: Prediction(law=law, tokens_per_step=law.at(known), inside=law.inside(known))
        for name, law in applicable(known).items()
    }


def predictions(num_params: float, tokens: float, loss: float | None = None) -> pd.DataFrame:
    """Every law that these inputs suffice for, with compute C = 6 N D.

    Parameters
    ----------
    num_params : float
        N, those active per token.
    tokens : float
        D, tokens of the run. [tokens]
    loss : float, optional
        L; without it the laws in the loss are left out. [nats/token]

    Returns
    -------
    DataFrame
        law, label, kind, tokens_per_step [tokens], definition, valid_range, source; `inside`: whether the inputs lie in the
        law's stated range, None where none is stated; `evidence` and `unverified`, see `law.Law`.
    """
    found = predict(num_params, tokens, loss)
    laws = [one.law for one in found.values()]
    columns = {"law": list(found), "label": [law.label for law in laws], "kind": [law.kind for law in laws]}
    columns["tokens_per_step"] = [one.tokens_per_step for one in found.values()]
    columns |= {field: [getattr(law, field) for law in laws] for field in ("definition", "valid_range", "source")}
    columns["inside"] = pd.Series([one.inside for one in found.values()], dtype=object)
    return pd.DataFrame(
        columns | {field: [getattr(law, field) for law in laws] for field in ("evidence", "unverified")}
    )
