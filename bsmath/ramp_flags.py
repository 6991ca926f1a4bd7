"""A batch ramp in Megatron-LM's flags, and in settings of the same names in YAML or Python (NeMo).

    --step-batch-size-schedule "0:768 250B:1536"   since April 2026: from so many tokens on, so many sequences a step
    --rampup-batch-size 192 16 9_765_625           before: start, increment, samples, all in sequences, to the global batch

Readers take a text, the length of a sequence where the text has none [tokens], and the last batch where it has none
[sequences]; they return thresholds and batches [tokens, their padding with them], and sentences on what was not in the text.
"""

import re

from bsmath import ramp_kinds
from bsmath.exports import flags
from bsmath.ramp_stages import MOST_STAGES

Read = tuple[list[float], list[float], tuple[str, ...]]
_STEP = re.compile(r"step[-_]batch[-_]size[-_]schedule[\s=:\"']*(.?)([0-9KMBTkmbt.eE+:,_ \t]*)")
_RAMPUP = re.compile(r"rampup[-_]batch[-_]size[\s=:\"'\[]*(.{0,80})")
_THREE = re.compile(r"([0-9][0-9_]{0,11})[\s,]+([0-9][0-9_]{0,11})[\s,]+([0-9][0-9_]{0,15})(?![\w.])")
_BARE = re.compile(r"[\s\"']*[0-9][0-9KMBTkmbt.eE+_]*:[0-9KMBTkmbt.eE+:,_\s]*[\"']?\s*")
LONGEST = 200_000


def has_schedule(text: str) -> bool:
    """Whether --step-batch-size-schedule is in the text."""
    return bool(_STEP.search(text))


def has_rampup(text: str) -> bool:
    """Whether --rampup-batch-size is in the text."""
    return bool(_RAMPUP.search(text))


def is_stages(text: str) -> bool:
    """Whether the text is stages alone."""
    return bool(_BARE.fullmatch(text))


def schedule(text: str, seq_len: int, last: int | None = None) -> Read:
    """--step-batch-size-schedule."""
    found = _STEP.search(text)
    if not found[1].isdigit():
        raise ValueError(
            f"--step-batch-size-schedule must be followed by stages such as 0:768 250B:1536, got {short(found[0])}"
        )
    length, said = _length(text, seq_len)
    return *_of_stages(found[1] + found[2], length), said


def stages(text: str, seq_len: int, last: int | None = None) -> Read:
    """Stages alone."""
    return *_of_stages(text.strip(" \t\r\n\"'"), seq_len), ()


def _of_stages(written: str, length: int) -> tuple[list[float], list[float]]:
    found = ramp_kinds.read_stages(written, most_text=LONGEST, most_stages=MOST_STAGES)
    return [seen for seen, _ in found], [size * length for _, size in found]


def rampup(text: str, seq_len: int, last: int | None = None) -> Read:
    """--rampup-batch-size: each batch before the last gets an equal share of the samples."""
    found = _RAMPUP.search(text)
    numbers = _THREE.match(text, found.start(1))
    if numbers is None:
        raise ValueError(
            f"--rampup-batch-size must be followed by start, increment and samples in whole numbers, got {short(found[0])}"
        )
    start, increment, samples = (int(number.replace("_", "")) for number in numbers.groups())
    length, said = _length(text, seq_len)
    end = _count(text, "global-batch-size")
    if end is None:
        if last is None:
            raise ValueError("text must name --global-batch-size, where --rampup-batch-size ends, got none")
        end, named = (
            last,
            f"The text names no --global-batch-size, so it ends at this run's batch of {last:,} sequences.",
        )
        said = (*said, named)
    rises, rest = divmod(end - start, increment) if increment else (0, 0)
    if rest or not 1 <= rises < MOST_STAGES:
        whose = "" if _count(text, "global-batch-size") else ", this run's batch, as the text names none"
        raise ValueError(
            f"--rampup-batch-size must rise to --global-batch-size by 1 to {MOST_STAGES - 1} whole increments, "
            f"got {increment:,} from {start:,} to {end:,}{whose}"
        )
    seen = [samples * length * index / rises for index in range(rises + 1)]
    return seen, [(start + index * increment) * length for index in range(rises + 1)], said


def _length(text: str, seq_len: int) -> tuple[int, tuple[str, ...]]:
    """Tokens of the text's sequences, and a sentence where the run's are of another length."""
    said = _count(text, "seq-length")
    if said is None or said == seq_len:
        return seq_len, ()
    return said, (f"The text's sequences have {said:,} tokens, this run's {seq_len:,}: its tokens are kept.",)


def _count(text: str, flag: str) -> int | None:
    """The number of a flag, or of a setting of the same name; None where the text has neither."""
    value = flags.parse(text).get(flag)
    if value is None:
        name = flag.replace("-", "[-_]")
        setting = re.search(rf"(?<![\w-])(?:encoder_)?{name}[\"']?[ \t]*[:=][ \t]*[\"']?([0-9][0-9_]*)", text)
        value = setting and setting[1]
    if value is None:
        return None
    if not re.fullmatch("[1-9][0-9_]{0,11}", value):
        raise ValueError(f"--{flag} must be a whole number from 1, got {short(value)}")
    return int(value.replace("_", ""))


def short(text: str) -> str:
    """A text on one line for a sentence, cut."""
    text = " ".join(text.split())
    return repr(text if len(text) <= 60 else f"{text[:60]}...")
