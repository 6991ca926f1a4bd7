"""The kinds of batch ramp by name, the ways in which a critical batch may move, and ramps written as text.

A staircase as text is `0:768 250B:1536`: from how many tokens on, how many sequences a step. It is the form of Megatron-LM's
--step-batch-size-schedule, with thresholds in tokens.
"""

from bsmath import numerals, quantities

KINDS = {
    "flat": "Flat",
    "linear_tokens": "Linear in tokens",
    "linear_steps": "Linear in steps",
    "staircase": "Staircase of equal rises",
    "doubling": "Doubling",
    "law": "In proportion to B_crit",
    "law_doubling": "Doubling when B_crit has doubled",
    "adaptive": "Square-root rule (adaptive)",
    "seesaw": "Seesaw: batch up instead of rate down",
    "stages": "Typed stages",
}
"""Every kind and its label."""

GROWTHS = {
    "constant": "does not grow",
    "power_lines_critical": "grows as D^0.462 (Power Lines)",
    "zhang_data": "grows as D^0.47 (Zhang et al.)",
    "kaplan_compute": "grows as C^0.24 (Kaplan et al.)",
    "step_law": "as Step Law's best batch, D^0.571",
    "power_lines_optimal": "as Power Lines' best batch, D^0.383",
    "deepseek": "as DeepSeek's best batch, C^0.327",
    "moonlight": "as Moonlight's best batch, C^0.414",
    "schaipp": "as Schaipp's best batch, D^0.566",
    "noise": "as the noise scale of a log",
    "branch": "as measured by branching",
}
"""How the critical batch moves through a run: a law of `laws.LAWS` by its name, or a measurement."""

MOST_TEXT, MOST_STAGES, MOST_NAMES = 2_000, 64, 12


def read_stages(text: str, most_text: int = MOST_TEXT, most_stages: int = MOST_STAGES) -> list[tuple[float, int]]:
    """(threshold [tokens], global batch [sequences]) of every stage, the first at 0; a ValueError names what is wrong."""
    if len(text) > most_text:
        raise ValueError(f"ramp_stages must have at most {most_text:,} characters, got {len(text):,}")
    stages = []
    for part in text.replace(",", " ").split():
        threshold, colon, size = part.partition(":")
        try:
            stage = quantities.parse_number(threshold), quantities.parse_number(size)
        except ValueError:
            stage = None
        if not colon or stage is None or stage[1] != int(stage[1]) or not 1 <= stage[1] <= 10**12:
            raise ValueError(f"ramp_stages must be tokens:sequences such as 0:768 250B:1536, got {part[:60]!r}")
        stages.append((stage[0], int(stage[1])))
    if not 1 <= len(stages) <= most_stages:
        raise ValueError(f"ramp_stages must hold 1 to {most_stages} stages, got {len(stages)}")
    if stages[0][0] != 0:
        raise ValueError(f"ramp_stages must begin at 0 tokens, got {stages[0][0]:g}")
    for (before, _), (after, _) in zip(stages, stages[1:], strict=False):
        if not before < after <= 1e15:
            raise ValueError(f"ramp_stages must have rising thresholds up to 1e15, got {after:g} after {before:g}")
    return stages


def write_stages(thresholds, sizes) -> str:
    """The text of thresholds [tokens] and whole batches [sequences] that `read_stages` reads back as the same numbers."""
    return " ".join(f"{_exact(float(seen))}:{size}" for seen, size in zip(thresholds, sizes, strict=True))


def _exact(tokens: float) -> str:
    """The shortest text of a number that is read back as the same."""
    plain = str(int(tokens)) if tokens == int(tokens) else repr(tokens)
    written = [plain, *(f"{tokens / size:.12g}{suffix}" for size, suffix in numerals.SUFFIXES if tokens >= size)]
    return min((each for each in written if quantities.parse_number(each) == tokens), key=len)


def checked_stages(text) -> str:
    """The text if it can be read or is empty, else a TypeError or ValueError."""
    text = _words("ramp_stages", text)
    if text:
        read_stages(text)
    return text


def checked_names(text) -> str:
    """Names of ramps between spaces, each once; which of them are known is for the reader to say."""
    text = _words("ramps_compared", text)
    names = list(dict.fromkeys(text.split()))
    if len(names) > MOST_NAMES:
        raise ValueError(f"ramps_compared must hold at most {MOST_NAMES} names, got {len(names)}")
    for name in names:
        if not name.replace("_", "").isalnum() or len(name) > 60:
            raise ValueError(f"ramps_compared must be names of ramps, got {name[:60]!r}")
    return " ".join(names)


def _words(name: str, text) -> str:
    if not isinstance(text, str):
        raise TypeError(f"{name} must be text, got {text!r}")
    return " ".join(text.split())
