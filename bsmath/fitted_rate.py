"""What a fitted throughput sweep means for a scenario: the plateau's MFU, the gain of a doubling, how weights matter."""

from dataclasses import dataclass

import numpy as np

from bsmath import batch, flops
from bsmath.measured import Measurement, own_params
from bsmath.outlook import Outlook
from bsmath.scenario import Scenario


@dataclass(frozen=True, kw_only=True)
class FittedRate:
    """Consequences of one fitted series; every triple is (value, low, high) with a 90 % interval."""

    mfu: tuple[float, float, float]
    """MFU of the fitted plateau by 6N, on the scenario's devices and peak."""
    active_params: float
    """Parameters that it was counted with: the file's where it names them, else the scenario's."""
    gain: tuple[float, float, float]
    """By how much twice the scenario's batch raises the rate, as a share."""
    unweighted: tuple[float, float]
    """Plateau [real tokens/s] and B_half [tokens] of an ordinary fit of the rates, for comparison."""


def consequences(scenario: Scenario, run: Outlook, found: Measurement) -> FittedRate | None:
    """None where two batch sizes leave nothing to say, or the plateau is infinite."""
    if found.fit is None or found.fit.line.exact or not np.isfinite(found.fit.plateau):
        return None
    params = own_params(scenario, found) or scenario.active_params
    plateaus = batch.padded_tokens(np.array([found.fit.plateau, *found.bounds["plateau"]]), scenario.padding_fraction)
    work = flops.flops_per_token(params)
    shares = flops.mfu(plateaus, work, scenario.peak_flops, run.num_devices)
    return FittedRate(
        mfu=tuple(map(float, shares)),
        active_params=params,
        gain=found.fit.doubling_gain(run.tokens_per_step),
        unweighted=found.unweighted,
    )
