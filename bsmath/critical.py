"""Steps and tokens to a target loss against batch size: the hyperbola, its knee, and its fit.

    S = S_min (1 + B_crit / B)          E = B S = E_min (1 + B / B_crit)          E_min = S_min B_crit
    (S / S_min - 1) (E / E_min - 1) = 1

Derived from a local quadratic model of the loss with the learning rate tuned at every batch (McCandlish, Kaplan, Amodei
et al. 2018, arXiv 1812.06162, eq. 2.11-2.12). Measured: holds to 4-8 % on language models whose rate was tuned at every
batch; fails where it was not. `numeric` is a float, an array or a Series; nothing is validated.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from bsmath import logline
from bsmath.logline import LogLine


def steps_to_target(tokens_per_step, critical_batch_size, min_steps):
    """Optimizer steps to the target loss, S = S_min (1 + B_crit/B). [steps]

    Parameters
    ----------
    tokens_per_step : numeric
        Global batch size B. [tokens]
    critical_batch_size : numeric
        B_crit = E_min/S_min: there both steps and tokens are twice their least. [tokens]
    min_steps : numeric
        S_min, the steps that remain however large the batch. [steps]
    """
    return min_steps * (1 + critical_batch_size / tokens_per_step)


def tokens_to_target(tokens_per_step, critical_batch_size, min_steps):
    """Real tokens to the target loss, E = E_min (1 + B/B_crit). Parameters as in `steps_to_target`. [tokens]"""
    return min_steps * (critical_batch_size + tokens_per_step)


def min_tokens(critical_batch_size, min_steps):
    """E_min, the tokens that remain however small the batch. [tokens]"""
    return critical_batch_size * min_steps


def step_overhead(tokens_per_step, critical_batch_size):
    """S/S_min: how many times the least possible steps."""
    return 1 + critical_batch_size / tokens_per_step


def token_overhead(tokens_per_step, critical_batch_size):
    """E/E_min: how many times the least possible tokens; its inverse is the statistical efficiency."""
    return 1 + tokens_per_step / critical_batch_size


def doubling_step_ratio(tokens_per_step, critical_batch_size):
    """S(2B)/S(B), from 1/2 far below the critical batch to 1 far above."""
    return step_overhead(2 * tokens_per_step, critical_batch_size) / step_overhead(tokens_per_step, critical_batch_size)


def doubling_token_ratio(tokens_per_step, critical_batch_size):
    """E(2B)/E(B), from 1 far below the critical batch to 2 far above."""
    return token_overhead(2 * tokens_per_step, critical_batch_size) / token_overhead(
        tokens_per_step, critical_batch_size
    )


def tradeoff(critical_batch_size, min_steps, tokens_per_step=None) -> pd.DataFrame:
    """The hyperbola as a table, one row per batch size.

    Parameters
    ----------
    critical_batch_size, min_steps : float
        B_crit [tokens] and S_min [steps].
    tokens_per_step : array_like, optional
        Batch sizes; by default 121 of them over three decades either side of B_crit. [tokens]

    Returns
    -------
    DataFrame
        tokens_per_step [tokens], steps, tokens [tokens], step_overhead, token_overhead.
    """
    if tokens_per_step is None:
        tokens_per_step = critical_batch_size * np.logspace(-3, 3, 121)
    batch = np.asarray(tokens_per_step, float)
    return pd.DataFrame(
        {
            "tokens_per_step": batch,
            "steps": steps_to_target(batch, critical_batch_size, min_steps),
            "tokens": tokens_to_target(batch, critical_batch_size, min_steps),
            "step_overhead": step_overhead(batch, critical_batch_size),
            "token_overhead": token_overhead(batch, critical_batch_size),
        }
    )


U_SHAPED = 0.15
"""Share by which the smallest batch may need more tokens than the cheapest before the sweep is called U-shaped."""


@dataclass(frozen=True, kw_only=True)
class HyperbolaFit:
    """The hyperbola fitted to measured steps to one target loss."""

    line: LogLine
    """S = S_min + E_min (1/B), fitted in log space."""

    @property
    def critical_batch_size(self) -> float:
        """B_crit = E_min/S_min; inf where every step count is still proportional to 1/B. [tokens]"""
        return self.line.ratio

    @property
    def min_steps(self) -> float:
        """S_min. [steps]"""
        return self.line.intercept

    @property
    def min_tokens(self) -> float:
        """E_min. [tokens]"""
        return self.line.slope

    @property
    def parameters(self) -> dict[str, float]:
        """The fitted numbers by name; the keys of `interval`."""
        return {name: getattr(self, name) for name in ("critical_batch_size", "min_steps", "min_tokens")}

    def predict(self, tokens_per_step):
        """Steps to the target at these batch sizes; the same formula that predicts without a fit. [steps]"""
        if np.isinf(self.critical_batch_size):
            return self.min_tokens / np.asarray(tokens_per_step, float)
        return steps_to_target(tokens_per_step, self.critical_batch_size, self.min_steps)

    def interval(self, level: float = 0.90) -> dict[str, tuple[float, float]]:
        """Profile-likelihood interval of each parameter; an end of 0 or inf says that the data set no bound there."""
        bounds = self.line.interval(level)
        return {
            "critical_batch_size": bounds["ratio"],
            "min_steps": bounds["intercept"],
            "min_tokens": bounds["slope"],
        }

    def band(self, tokens_per_step, level: float = 0.90):
        """Lower and upper end of the curve's interval at these batch sizes. [steps]"""
        return self.line.band(1 / np.asarray(tokens_per_step, float), level)

    def verdict(self, level: float = 0.90) -> tuple[bool, str]:
        """Whether the data identify B_crit, and the sentence that says why."""
        low, high = self.interval(level)["critical_batch_size"]
        if self.tokens_fall:
            return False, (
                "Tokens to the target fall as the batch grows, which no hyperbola does: most often the learning rate was "
                "held fixed over the batches. No critical batch can be read from this."
            )
        if self.line.exact:
            return False, "Two batch sizes always fit exactly: measure a third before trusting either number."
        cheapest, excess = self.cheapest
        if excess > U_SHAPED:
            return False, (
                f"Tokens are U-shaped in the batch: the smallest needs {excess:.0%} more than {cheapest:,.0f} tokens per step, "
                "which no hyperbola does (fixed betas, decay or minimum rate are the likely cause). Leave out what lies below."
            )
        if np.isinf(high):
            return False, (
                "Every batch lies below the knee: S_min is not identified, and B_crit has only a lower bound. "
                "Measure a larger batch."
            )
        if low == 0:
            return False, (
                "Steps hardly fall with the batch: every batch lies above the knee, B_crit has only an upper bound. "
                "Measure a smaller batch."
            )
        wide = " The interval is wide: one more batch size near the knee would help." if high > 4 * low else ""
        return True, f"The knee lies inside what the data can tell.{wide}"

    @property
    def tokens(self) -> np.ndarray:
        """Measured tokens to the target, from the smallest to the largest batch. [tokens]"""
        return (np.exp(self.line.log_y) / self.line.x)[::-1]

    @property
    def tokens_fall(self) -> bool:
        """Whether tokens fall by a fifth or more from the smallest to the largest batch and are about least there."""
        return bool(self.tokens[-1] < 0.8 * self.tokens[0] and self.tokens[-1] <= 1.05 * self.tokens.min())

    @property
    def cheapest(self) -> tuple[float, float]:
        """The batch with the least measured tokens [tokens], and how much more the smallest batch needs, as a share."""
        return float(1 / self.line.x[::-1][self.tokens.argmin()]), float(self.tokens[0] / self.tokens.min() - 1)


def fit_hyperbola(tokens_per_step, steps) -> HyperbolaFit:
    """Fit B_crit and S_min to measured steps to one target loss.

    Least squares on log S (a linear-space fit lets the smallest batch alone decide: on the five public language-model
    sweeps it is off by up to 4.5 times). Repeats at one batch enter as their median; the scale of every interval comes
    from the residuals over batches with Student's t, since seeds alone are far too narrow where the model misfits.

    Parameters
    ----------
    tokens_per_step, steps : array_like
        Batch sizes [tokens] and steps to the target [steps], one pair a run; at least two different batch sizes.

    Returns
    -------
    HyperbolaFit

    Raises
    ------
    ValueError
        Where lengths differ, a value is not positive and finite, or there are fewer than two batch sizes.
    """
    batch, count = logline.pairs("tokens_per_step", tokens_per_step, "steps", steps)
    return HyperbolaFit(line=logline.fit(1 / batch, count))
