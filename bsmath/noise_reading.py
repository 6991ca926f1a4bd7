"""What two gradient norms by themselves say of the noise scale, and how many steps would make it sure.

A pair of norms has no spread of its own: its uncertainty is that of the theory for Gaussian gradients (see `bsmath.noise`),
which needs the effective dimension of the noise d = tr(Sigma)^2/tr(Sigma^2). Nobody publishes it, so it is assumed and said
to be. A log measures the spread itself.
"""

from dataclasses import dataclass

from bsmath import checks, noise

EFFECTIVE_DIMENSION = 50.0
"""Assumed where none is given: the spread of |G|^2 in the second half of data/measured/noise_0.1M.csv is that of 48 directions. One
model of 0.1M parameters; a larger one may well have more, and would then be surer."""
WANTED = 0.10
"""Relative standard deviation that `steps_needed` is for."""


@dataclass(frozen=True, kw_only=True)
class NoiseReading:
    """Both parts of the noise scale from two squared gradient norms."""

    tokens_big: float
    """B. [tokens]"""
    small_batches: float
    """n = B/b, the small batches that make up the big one."""
    averaged: float
    """How many of their norms were averaged, n at most."""
    steps: float
    """Steps averaged in both norms. [steps]"""
    effective_dimension: float
    """d, assumed."""
    grad_sq_norm: float
    """|G|^2, the signal; may be negative."""
    trace: float
    """tr(Sigma), the noise at a batch of one token; may be negative."""

    @property
    def noise_scale(self) -> float | None:
        """B_simple; None where one of its parts is not positive. [tokens]"""
        return noise.noise_scale(self.trace, self.grad_sq_norm) if self.refusal is None else None

    @property
    def refusal(self) -> str | None:
        """Why there is no noise scale; None where there is one."""
        if not self.grad_sq_norm > 0:
            return (
                "The signal |G|² comes out at zero or below: the noise in both norms hides the gradient. Average more steps, or measure "
                "with a larger big batch; a log of many rows says how many."
            )
        if not self.trace > 0:
            return (
                "The noise tr(Σ) comes out at zero or below: the small batch's squared norm should be the larger one. Check that both are "
                "of mean gradients, and that the small one was taken before the all-reduce."
            )
        return None

    @property
    def relative_error(self) -> float:
        """r = B_simple/B; needs a noise scale."""
        return noise.relative_error(self.tokens_big, self.noise_scale)

    @property
    def one_step(self) -> float:
        """Relative variance of the noise scale from one step; needs a noise scale."""
        given = (self.relative_error, self.small_batches, self.effective_dimension, self.averaged)
        return noise.relative_variance(*given)

    @property
    def signal_deviation(self) -> float:
        """Relative standard deviation of |G|^2 from one step; needs a noise scale."""
        given = (self.relative_error, self.small_batches, self.effective_dimension, self.averaged)
        return noise.grad_sq_norm_relative_variance(*given) ** 0.5

    @property
    def relative_deviation(self) -> float:
        """Relative standard deviation of the noise scale from all steps averaged; needs a noise scale."""
        return (self.one_step / self.steps) ** 0.5

    @property
    def steps_needed(self) -> float:
        """Steps to average for a relative standard deviation of WANTED; needs a noise scale. [steps]"""
        return noise.steps_needed(self.one_step, WANTED)


def reading(
    *,
    tokens_small: float,
    tokens_big: float,
    norm_small: float,
    norm_big: float,
    squared: bool = True,
    averaged: float | None = None,
    steps: float = 1,
    effective_dimension: float = EFFECTIVE_DIMENSION,
) -> NoiseReading:
    """Both parts from two gradient norms.

    Parameters
    ----------
    tokens_small, tokens_big : float
        b and B; B holds two small batches or more. [tokens]
    norm_small, norm_big : float
        Mean squared norm of the small batches' mean gradients, and squared norm of the big batch's; or their roots.
    squared : bool
        Whether the norms are squared already.
    averaged : float, optional
        Small norms that were averaged in a step, 1 where a single replica logs its own; all by default.
    steps : float
        Steps that both norms are averages of. [steps]
    effective_dimension : float
        d, assumed.

    Raises
    ------
    ValueError
        Where a value is out of its range.
    """
    size = checks.between("b", tokens_small, 1, 1e12)
    whole = checks.between("B", tokens_big, 1, 1e12)
    if whole < 2 * size:
        raise ValueError(f"B must be at least twice b ({size:g}), got {tokens_big!r}")
    power = 1 if squared else 2
    norms = [
        checks.between(name, value, 0, 1e60) ** power
        for name, value in (("small norm", norm_small), ("big norm", norm_big))
    ]
    count = whole / size
    return NoiseReading(
        tokens_big=whole,
        small_batches=count,
        averaged=count if averaged is None else checks.between("small norms averaged", averaged, 1, count),
        steps=checks.between("steps averaged", steps, 1, 1e12),
        effective_dimension=checks.between("effective dimension", effective_dimension, 1, 1e15),
        grad_sq_norm=noise.grad_sq_norm(size, whole, *norms),
        trace=noise.trace(size, whole, *norms),
    )
