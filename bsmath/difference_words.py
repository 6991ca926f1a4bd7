"""The difference of two measured series as sentences: plain words, three digits, no claim that an interval does not support."""

CANNOT = "The two cannot be compared:"
"""How a sentence begins that says why there is no comparison."""
LABELS = {"plateau": "plateau", "critical_batch_size": "B_crit", "min_steps": "S_min"}
"""Names of the fitted numbers."""


def sentences(found) -> list[str]:
    """The sentences about a `difference.Difference`."""
    said = [_overall(found)]
    if (ends := _ends(found)) and not found.mean.clear:
        said.append(ends)
    said += _per_device(found)
    if found.reason:
        return [*said, f"Their fitted numbers are not compared: {found.reason}."]
    said += [_parameter(found, name) for name in found.parameters]
    return [*said, _meaning(found)] if found.quantity == "tokens_per_second" else [*said, _about_steps(found)]


def _overall(found) -> str:
    """The ratio over the common batches, with its interval where one is known."""
    mean, (first, second) = found.mean, found.names
    where = _where(found)
    how = " by the two fits" if found.by_fits else ""
    if mean.low != mean.low:
        return (
            f"{second} has {_times(mean.value)} the {_noun(found)} of {first} {where}{_at_ends(found)}; nothing says how sure that is, as not both "
            "have a fit that describes their scatter."
        )
    sure = f"90 % interval {_interval(mean)}"
    if not mean.clear:
        return f"{second} and {first} are not distinguishable {where}{how}: the ratio of their {_noun(found)} is {_times(mean.value)} ({sure})."
    if found.quantity == "steps":
        return f"{second} needs {_times(mean.value)} the steps of {first} {where}{how}{_at_ends(found)}; {sure}."
    return f"{second} is {_times(mean.value)} {first} {where}{how}{_at_ends(found)}; {sure}."


def _where(found) -> str:
    low, high = found.batches[0], found.batches[-1]
    return (
        f"at {_count(low)} {found.batch_unit} per step"
        if low == high
        else f"over {_count(low)}-{_count(high)} {found.batch_unit} per step"
    )


def _at_ends(found) -> str:
    if len(found.batches) < 2:
        return ""
    return f" ({_times(found.smallest.value)} at the smallest, {_times(found.largest.value)} at the largest)"


def _ends(found) -> str:
    """A difference at one end alone, as where two curves cross."""
    ends = (("smallest", found.batches[0], found.smallest), ("largest", found.batches[-1], found.largest))
    clear = [
        f"at the {name} batch, {_count(size)}, the ratio is {_times(change.value)} ({_interval(change)})"
        for name, size, change in ends
        if change.clear
    ]
    return f"But {' and '.join(clear)}." if clear and len(found.batches) > 1 else ""


def _per_device(found) -> list[str]:
    """The ratio of the rates per device, where the numbers of devices differ."""
    if found.quantity != "tokens_per_second" or not all(found.devices) or found.devices[0] == found.devices[1]:
        return []
    each = found.mean.over(found.devices[1] / found.devices[0])
    counts = f"{found.devices[1]:g} devices against {found.devices[0]:g}"
    sure = "" if each.low != each.low else f" ({_interval(each)}{'' if each.clear else ', not distinguishable'})"
    return [f"Per device ({counts}) that is {_times(each.value)}{sure}."]


def _parameter(found, name: str) -> str:
    change = found.parameters[name]
    unsure = "" if change.clear else ", not distinguishable from no change"
    if name == "fixed_time":
        return f"Fixed time changes by {_seconds(change.value)} (90 % interval {_seconds(change.low)} to {_seconds(change.high)}){unsure}."
    return f"{LABELS[name][0].upper()}{LABELS[name][1:]}: {_times(change.value)} (90 % interval {_interval(change)}){unsure}."


def _meaning(found) -> str:
    """Which of overhead and plateau changed."""
    plateau, fixed = found.parameters["plateau"], found.parameters["fixed_time"]
    if plateau.clear and fixed.clear:
        return "Both changed: what a token costs, which large batches feel, and what a step costs whatever its batch, which small ones feel."
    if plateau.clear:
        return "The plateau changed, that is what a token costs; a change of the fixed time of a step cannot be told from the scatter."
    if fixed.clear:
        return "The fixed time of a step changed, which small batches feel; a change of the plateau cannot be told from the scatter."
    if found.mean.clear:
        return "Whether the fixed time or the plateau changed cannot be told from the scatter."
    return "Neither a change of the fixed time nor one of the plateau can be told from the scatter."


def _about_steps(found) -> str:
    knee, least = found.parameters["critical_batch_size"], found.parameters["min_steps"]
    if knee.clear and least.clear:
        return "Both the critical batch and the least number of steps changed."
    if knee.clear:
        return "The critical batch changed; a change of the least number of steps cannot be told from the scatter."
    if least.clear:
        return "The least number of steps changed; a change of the critical batch cannot be told from the scatter."
    return "A change of neither the critical batch nor the least number of steps can be told from the scatter."


def _noun(found) -> str:
    return "rate" if found.quantity == "tokens_per_second" else "steps"


def _interval(change) -> str:
    low = "no lower bound" if change.low == 0 else _times(change.low)
    high = "no upper bound" if change.high == float("inf") else _times(change.high)
    return f"{low} to {high}"


def _times(value: float) -> str:
    """A ratio with three digits: 1.18x."""
    return f"{value:#.3g}".rstrip(".") + "x" if 0.001 <= abs(value) < 1000 else f"{value:.3g}x"


def _seconds(value: float) -> str:
    if value != value or abs(value) == float("inf"):
        return "no bound"
    return f"{value:+.3g} s" if abs(value) >= 1 else f"{1e3 * value:+.3g} ms"


def _count(value: float) -> str:
    """A batch with three digits: 65.5k, 1.05M."""
    for factor, letter in ((1e9, "B"), (1e6, "M"), (1e3, "k")):
        if value >= 0.9995 * factor:
            return f"{value / factor:.3g}{letter}"
    return f"{value:.3g}"
