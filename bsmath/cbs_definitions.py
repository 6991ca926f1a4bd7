"""What "critical batch size" means to different authors, side by side, and how one number becomes another.

    hyperbola          B_crit = E_min/S_min: steps and tokens are both twice their least
    20 % overhead      S(B*) = 1.2 S(B_opt) B_opt/B*      B* = 1.2 B_opt + 0.2 B_crit
    share x of tokens  E = (1 + x) E_min at x B_crit      share x of steps  S = (1 + x) S_min at B_crit/x

Derived from S = S_min (1 + B_crit/B), exact where that holds (McCandlish et al. 2018, arXiv 1812.06162, eq. 2.11; Zhang et
al. 2024, arXiv 2410.21676, from B_opt = 256 sequences of 512). Two more have no conversion: the loss recovery of Merrill
et al. 2025 (arXiv 2505.23971) is read off branches of one run, with no closed form, and the noise scale predicts B_crit at
best to an order of magnitude. `numeric` is a float, an array or a Series; nothing is validated.
"""

from collections.abc import Callable
from dataclasses import dataclass

from bsmath import critical

OVERHEAD = 0.2
"""Share of tokens that Zhang et al. allow above linear scaling."""
ZHANG_OPTIMAL_BATCH = 256 * 512.0
"""B_opt of Zhang et al., 256 sequences of 512. [tokens]"""
NOISE_RATIOS = (0.4, 18.0)
"""Least and most that B_simple was, over B_crit measured in the same runs. One study found far less (arXiv 2505.23971)."""


def overhead_batch(critical_batch_size, optimal_batch, overhead=OVERHEAD):
    """Batch whose steps are `overhead` above linear scaling from B_opt, (1 + x) B_opt + x B_crit. Derived. [tokens]

    Its tokens are the same share above those at B_opt, which are themselves B_opt/B_crit above the least.

    Parameters
    ----------
    critical_batch_size : numeric
        B_crit of the hyperbola. [tokens]
    optimal_batch : numeric
        B_opt, from which ideal linear scaling is counted. [tokens]
    overhead : numeric
        x, a share.
    """
    return (1 + overhead) * optimal_batch + overhead * critical_batch_size


def from_overhead_batch(overhead_batch, optimal_batch, overhead=OVERHEAD):
    """B_crit from such a batch; not positive where B* is at most (1 + x) B_opt, which no hyperbola allows. [tokens]"""
    return (overhead_batch - (1 + overhead) * optimal_batch) / overhead


def linear_scaling_overhead(tokens_per_step, critical_batch_size, optimal_batch):
    """Share by which steps at B exceed linear scaling from B_opt, and tokens those at B_opt. Derived."""
    tokens = critical.token_overhead(tokens_per_step, critical_batch_size)
    return tokens / critical.token_overhead(optimal_batch, critical_batch_size) - 1


def token_share_batch(critical_batch_size, overhead):
    """Batch at which tokens are `overhead` above their least, x B_crit. Derived. [tokens]"""
    return overhead * critical_batch_size


def from_token_share_batch(tokens_per_step, overhead):
    """B_crit from a batch at which tokens are `overhead` above their least. [tokens]"""
    return tokens_per_step / overhead


def step_share_batch(critical_batch_size, overhead):
    """Batch at which steps are `overhead` above their least, B_crit/x. Derived. [tokens]"""
    return critical_batch_size / overhead


def from_step_share_batch(tokens_per_step, overhead):
    """B_crit from a batch at which steps are `overhead` above their least. [tokens]"""
    return tokens_per_step * overhead


def from_noise_scale(noise_scale):
    """Least and largest B_crit that went with a noise scale where both were measured. Rule of thumb. [tokens]"""
    least, most = NOISE_RATIOS
    return noise_scale / most, noise_scale / least


@dataclass(frozen=True, kw_only=True)
class Definition:
    """One meaning of the critical batch."""

    label: str
    """Name for people."""
    author: str
    """Whose words, with the source."""
    says: str
    """What happens at that batch."""
    status: str
    """Derived, empirical or rule of thumb, and how far it converts."""
    batch: Callable | None
    """The batch from B_crit and B_opt [tokens]; None where nothing converts it."""


DEFINITIONS = {
    "hyperbola": Definition(
        label="Hyperbola, 2x/2x",
        author="McCandlish et al. 2018, arXiv 1812.06162",
        says="steps and tokens are both twice their least",
        status="derived under a local quadratic model",
        batch=lambda critical_batch_size, optimal_batch: critical_batch_size,
    ),
    "overhead20": Definition(
        label="20 % CBS",
        author="Zhang et al. 2024, arXiv 2410.21676",
        says="20 % more steps than linear scaling from B_opt, so 20 % more tokens than at B_opt",
        status="derived: exact on the hyperbola",
        batch=overhead_batch,
    ),
    "tokens20": Definition(
        label="20 % over the least tokens",
        author="follows from the hyperbola",
        says="20 % more tokens than the smallest batches need",
        status="derived: exact on the hyperbola",
        batch=lambda critical_batch_size, optimal_batch: token_share_batch(critical_batch_size, OVERHEAD),
    ),
    "recovery": Definition(
        label="Loss recovery",
        author="Merrill et al. 2025, arXiv 2505.23971",
        says="the largest batch to which a run can switch at one checkpoint and end at most 0.01 nats worse after 2 billion tokens",
        status="empirical: no closed form, lies between the last batch that recovered and the next one tried",
        batch=None,
    ),
    "noise": Definition(
        label="Noise scale B_simple",
        author="McCandlish et al. 2018, arXiv 1812.06162",
        says="a gradient holds as much noise as signal; a rough predictor of B_crit",
        status="rule of thumb: equal only for plain SGD where the loss curves alike in all directions",
        batch=None,
    ),
}  # fmt: skip


def batches(critical_batch_size: float, optimal_batch: float = ZHANG_OPTIMAL_BATCH) -> dict[str, float]:
    """The batch of every definition that follows from the hyperbola, by its key in DEFINITIONS. [tokens]"""
    return {
        key: one.batch(critical_batch_size, optimal_batch) for key, one in DEFINITIONS.items() if one.batch is not None
    }
