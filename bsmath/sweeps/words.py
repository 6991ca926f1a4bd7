"""Headers as lists of canonical words: `Throughput (T/s/GPU)`, `throughput/device/tokens_per_sec` and `tokPerSec` in
one alphabet."""

import re

CANON = {
    **dict.fromkeys(("token", "tok", "toks"), "tokens"),
    **dict.fromkeys(("sequence", "seq", "seqs", "sentences"), "sequences"),
    **dict.fromkeys(("sample", "example", "examples", "images", "imgs"), "samples"),
    **dict.fromkeys(("sec", "secs", "second", "seconds"), "s"),
    **dict.fromkeys(("msec", "millisecond", "milliseconds"), "ms"),
    **dict.fromkeys(("mins", "minute", "minutes"), "min"),
    **dict.fromkeys(("hour", "hours", "hr", "hrs"), "h"),
    **dict.fromkeys(("steps", "iteration", "iterations", "iter", "iters", "it", "its", "update", "updates"), "step"),
    **dict.fromkeys(
        ("gpus", "device", "devices", "accelerator", "accelerators", "chip", "chips", "tpu", "tpus"), "gpu"
    ),
    **dict.fromkeys(("replicas", "rank", "ranks"), "replica"),
    **dict.fromkeys(("n", "number", "nb", "no", "count"), "num"),
    **dict.fromkeys(("gradient", "gradients", "grads"), "grad"),
    **dict.fromkeys(("accumulation", "accumulate", "acc"), "accum"),
    **dict.fromkeys(("bsz", "bs", "batchsize"), "batch size"),
    **dict.fromkeys(("batches", "minibatch", "seqs per batch"), "batch"),
    **dict.fromkeys(("microbatch", "microbatches"), "micro batch"),
    "mbs": "micro batch size",
    "gbs": "global batch size",
    "seqlen": "sequences len",
    "length": "len",
    "lr": "learning rate",
    "ngpus": "num gpu",
    "ngpu": "num gpu",
    "nnodes": "num node",
    "nodes": "node",
    "ktok": "k tokens",
    "mtok": "m tokens",
    "goal": "target",
    "tps": "tokens per s",
    "wps": "tokens per s",
}
"""Spellings of one word."""

DROPPED = frozenset("avg average mean median the of in".split())
"""Words that change nothing."""

_RATE_LETTERS = {"t": "tokens", "s": "samples"}
_BRACKETS = re.compile(r"[\[(]([^\])]*)[\])]")


def words(header: str) -> list[str]:
    """The header's canonical words; what stands in brackets comes last."""
    text = re.sub(r"<br\s*/?>", " ", header)
    bracketed = [_bracket(inside) for inside in _BRACKETS.findall(text)]
    text = " ".join([_BRACKETS.sub(" ", text), *bracketed]).replace("#", " num ").replace("/", " per ")
    text = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", text).lower()
    found = " ".join(CANON.get(word, word) for word in re.split(r"[^a-z0-9]+", text) if word)
    return [word for word in found.split() if word not in DROPPED]


def _bracket(inside: str) -> str:
    """`T/s` and `S/s` are tokens and samples per second, `T` alone is tokens."""
    first, slash, rest = inside.strip().partition("/")
    if first.lower() == "t" or slash and first.lower() == "s":
        return f"{_RATE_LETTERS[first.lower()]}{slash}{rest}"
    return inside
