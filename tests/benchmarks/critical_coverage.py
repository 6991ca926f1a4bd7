"""How often the 90 % interval of B_crit covers the truth: python -m tests.benchmarks.critical_coverage [SWEEPS]

Simulated sweeps with log-normal noise, fitted with everything that the product does to a measured one (absurd runs, a U,
broken batches). Bar: 87 to 93 % in each design.
"""

import sys
from collections import Counter

import numpy as np

from bsmath import hyperbola_search, hyperbola_verdict
from bsmath.critical import steps_to_target
from bsmath.hyperbola_fit import fit_hyperbola

KNEE, LEAST = 2e6, 1e4
DESIGNS = {  # batches in units of the knee, standard deviation of log steps, repeats at each batch, steps between evaluations
    "bracketed": (2.0 ** np.arange(-4, 5, 1.5), 0.05, 1, 1),
    "low side": (2.0 ** np.arange(-5, 1), 0.04, 1, 1),
    "high side": (2.0 ** np.arange(-1, 5), 0.05, 1, 1),
    "noisy repeats": (2.0 ** np.arange(-3, 3), 0.20, 3, 1),
    "two seeds each": (2.0 ** np.arange(-4, 4), 0.08, 2, 1),
    "nine batches": (2.0 ** np.arange(-5, 4), 0.06, 1, 1),
    "four batches": (4.0 ** np.arange(-2, 2), 0.05, 1, 1),
    "coarse evaluations": (2.0 ** np.arange(-3, 3), 0.02, 1, 1000),
}


def simulate(design: str, count: int, seed: int = 20261202) -> tuple[float, Counter]:
    """Share of sweeps whose interval covers the truth, and what they were said to show."""
    shares, noise, repeats, spacing = DESIGNS[design]
    random, covered, kinds = np.random.default_rng(seed), 0, Counter()
    batch = np.repeat(shares * KNEE, repeats)
    for _ in range(count):
        steps = steps_to_target(batch, KNEE, LEAST) * np.exp(random.normal(0, noise, batch.size))
        steps = np.round(steps / spacing) * spacing if spacing > 1 else steps
        kept = ~hyperbola_search.absurd(batch, steps)
        resolution = np.full(kept.sum(), float(spacing)) if spacing > 1 else None
        fit = fit_hyperbola(batch[kept], steps[kept], resolution)
        low, high = fit.interval()["critical_batch_size"]
        covered += low <= KNEE <= high
        kinds[hyperbola_verdict.kind(fit)] += 1
    return covered / count, kinds


def main() -> None:
    """Print a line for each design."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    for design in DESIGNS:
        covered, kinds = simulate(design, count)
        said = ", ".join(f"{name} {number / count:.0%}" for name, number in kinds.most_common(4))
        print(f"{design:15} {covered:6.1%} of {count:,}   {said}")


if __name__ == "__main__":
    main()
