"""Which rates to try at a new batch: factor-2 steps around the suggested one, as far as the rules disagree.

The optimum is flat: in the largest public grid (AdamW) a factor 2 in rate stays within 0.2 % of the best loss, so finer steps tell
noise. The range covers what every rule for the optimizer says, and a factor 2 either side of the suggestion at least, so that the
optimum is not the last rate tried.
"""

import math

STEP = 2.0
"""Factor between neighboring rates."""
MOST = 9
"""Rates at most: rules that disagree by more than 2^8 say nothing."""


def rates(suggested: float, lowest: float, highest: float) -> list[float]:
    """Rates to try, ascending; the suggested one is among them.

    Parameters
    ----------
    suggested : float
        Rate by the usual rule.
    lowest, highest : float
        Least and largest of what the rules say.
    """
    below = max(math.ceil(math.log(suggested / lowest, STEP) - 1e-9), 1)
    above = max(math.ceil(math.log(highest / suggested, STEP) - 1e-9), 1)
    while below + above + 1 > MOST:
        below, above = (below - 1, above) if below >= above else (below, above - 1)
    return [suggested * STEP**power for power in range(-below, above + 1)]
