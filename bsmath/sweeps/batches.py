"""Tokens per optimizer step from whatever a file says about its batch.

A column in tokens comes first, then sequences times seq_len, then micro * accum * replicas, then a bare "batch".
Nothing that the file does not show is guessed in silence: it is inferred from an identity (tokens/s * step time =
tokens), or asked.
"""

import re

import numpy as np

from bsmath import batch
from bsmath.sweeps import cells, columns, infer
from bsmath.sweeps.draft import Draft

LIKELY_TOKENS = 16_384
"""A bare batch from this size on is more likely in tokens: few runs have that many sequences."""

_LIMIT = re.compile(r"(?i)max(?:imum)?[\s_]+((source|target|input|prompt)[\s_]+)?length")

_ROUTING = frozenset("router routers gini experts".split())

OFF = 0.01
"""Relative difference from which two statements of the batch disagree."""


def tokens_per_step(draft: Draft) -> tuple[np.ndarray, str]:
    """The batch of each row and its unit, "tokens" or "sequences"."""
    if headers := draft.headers("batch_tokens"):
        tokens = draft.used(headers[0], "row left out", "the batch, in tokens")
        _compare(draft, headers[0], tokens)
        return tokens, "tokens"
    if headers := draft.headers("batch_sequences"):
        return _in_tokens(draft, draft.used(headers[0], "row left out", "the batch, in sequences"), "sequences")
    product, complete = _product(draft)
    if bare := draft.headers("batch"):
        return _bare(draft, bare[0], product if complete else None)
    if product is not None:
        return _in_tokens(draft, product, draft.found[draft.headers("micro_batch_size")[0]].unit)
    accepted = "batch_tokens, batch_size with seq_len, or micro_batch with accum and replicas"
    raise draft.error(f"have a batch column such as {accepted}", f"the columns {listed(draft)}{_instead(draft)}")


def _instead(draft: Draft) -> str:
    """What a table without a batch holds, where that is known, and what to do about it."""
    headers = list(draft.found)
    said = {word for header in headers for word in re.split(r"[^a-z]+", header.lower())}
    if any(" - " in header for header in headers[1:]):
        axis = headers[0][:40]
        return f": a tracker's chart over {axis!r}; it is read where Step is its x axis and one of its metrics a loss"
    if said & _ROUTING:
        return ": figures of a router; its page reads the loads themselves, with the columns layer, expert and count"
    rates = [header for header, found in draft.found.items() if found.meaning in columns.RESULTS]
    if rates:
        return f": {rates[0][:40]!r} is a result, but the batch that it was measured at is missing; add it as a column"
    return ""


def listed(draft: Draft, most: int = 12) -> str:
    """The file's headers in one line."""
    headers = [header[:40] for header in draft.found]
    more = f" and {len(headers) - most} more" if len(headers) > most else ""
    return ", ".join(headers[:most]) + more


def _product(draft: Draft) -> tuple[np.ndarray | None, bool]:
    """micro * accum * replicas, and whether all three are in the file."""
    micro = draft.headers("micro_batch_size")
    if not micro:
        return None, False
    accum, replicas, draft.per_replica = _accum(draft), infer.replicas(draft), True
    if replicas is None and not draft.headers("batch"):
        text = "On how many replicas did this run? The file counts its batch per replica."
        size = draft.used(micro[0], "row left out", "batch per replica; the replicas are not in the file")
        return size * (1 if accum is None else accum) * float(draft.ask("num_devices", text, default="1")), False
    if replicas is None:
        return None, False
    one = "; one micro-batch per step, as no column says otherwise" if accum is None else ""
    size = draft.used(micro[0], "row left out", f"batch per replica, times replicas{one}")
    return batch.global_batch_size(size, 1 if accum is None else accum, replicas), accum is not None


def _accum(draft: Draft) -> np.ndarray | None:
    """Micro-batches per replica and step; a file that counts from 0 (AdaptDL) counts one less."""
    headers = draft.headers("grad_accum_steps")
    if not headers:
        return None
    if (counted := _from_zero(draft, headers[0])) is None:
        return draft.used(headers[0], "row left out", "micro-batches per replica and step")
    draft.notes[headers[0]] = "micro-batches per replica and step, less one: it counts from 0, as AdaptDL does"
    return counted


def _from_zero(draft: Draft, header: str) -> np.ndarray | None:
    """Accumulation of a column that counts one less; None where none of it is 0."""
    raw = cells.numbers(draft.raw.frame[header], cells.COUNTS, 1.0, draft.raw.decimal)
    return np.where(raw >= 0, raw + 1, np.nan) if (raw == 0).any() else None


def split(draft: Draft) -> dict[str, np.ndarray]:
    """The micro-batch [sequences] and the accumulation of each row, where the file has them: a fit must know whether
    they change."""
    found = {}
    for header in draft.headers("micro_batch_size")[:1]:
        lengths = draft.headers("seq_len")
        per = 1.0
        if draft.found[header].unit == "tokens":
            per = draft.answers.get("seq_len") or (draft.numbers(lengths[0]) if lengths else np.nan)
        found["micro_batch_size"] = draft.numbers(header) / per
        draft.notes.setdefault(header, "kept beside the batch: the micro-batch of one replica")
    for header in draft.headers("grad_accum_steps")[:1]:
        counted = _from_zero(draft, header)
        found["grad_accum_steps"] = draft.numbers(header) if counted is None else counted
        draft.notes.setdefault(header, "kept beside the batch: micro-batches per replica and step")
    return found


def _bare(draft: Draft, header: str, product: np.ndarray | None) -> tuple[np.ndarray, str]:
    """A column that is only called batch: per replica or global, tokens or sequences."""
    values = draft.used(header, "row left out", "the batch")
    draft.per_replica = False
    if "batch_unit" not in draft.answers and product is not None:
        ratio = infer.constant(values / product)
        if ratio == 1 or ratio is not None and ratio >= infer.LEAST_SEQ_LEN:
            return (values, "tokens") if ratio > 1 else _in_tokens(draft, values, "sequences")
        used = header if draft.found[header].scope == "job" else "the product"
        draft.warn(f"{header!r} is not micro-batch x accumulation x replicas", f"{used} was used", header)
        if used == "the product":
            return _in_tokens(draft, product, "sequences")
    values = values * infer.batch_replicas(draft, header, values, _accum(draft))
    return _in_tokens(draft, values, draft.answers.get("batch_unit") or _unit(draft, header, values))


def _unit(draft: Draft, header: str, values: np.ndarray) -> str:
    """What a bare batch counts: as tokens/s * step time says, else as answered, else as is likelier for its size."""
    ratio = infer.tokens_in_batch(draft, values)
    if ratio is not None:
        return "tokens" if ratio == 1 else "sequences"
    likely = "tokens" if np.nanmax(np.append(values, 0)) >= LIKELY_TOKENS else "sequences"
    if likely == "sequences" and ("seq_len" in draft.answers or infer.seq_len_known(draft) is None):
        return likely  # the question for the tokens per sequence covers this one: 1 means tokens
    return draft.ask("batch_unit", f"Does {header!r} count tokens or sequences?", ("tokens", "sequences"), likely)


def _in_tokens(draft: Draft, values: np.ndarray, unit: str) -> tuple[np.ndarray, str]:
    if unit == "tokens":
        return values, "tokens"
    seq_len = infer.seq_len(draft, values)
    for header in draft.headers("seq_len")[:1]:
        if _LIMIT.search(header) and "seq_len" not in draft.answers:
            what = f"{header!r} is the longest that a sample may be"
            draft.warn(what, "taken for the length of each; tokens/s are too high where samples are shorter", header)
    return (values, "sequences") if seq_len is None else (_product_of(values, seq_len), "tokens")


def _product_of(values: np.ndarray, seq_len: np.ndarray | float) -> np.ndarray:
    """Tokens of each batch; of constant columns a constant, which takes no memory."""
    if np.ndim(seq_len) and len(values) and values.strides == seq_len.strides == (0,):
        return np.broadcast_to(batch.tokens_per_step(values[0], seq_len[0]), len(values))
    return batch.tokens_per_step(values, seq_len)


def _compare(draft: Draft, header: str, tokens: np.ndarray) -> None:
    """Name the rows whose sequences times seq_len are not the tokens."""
    sequences, lengths = draft.headers("batch_sequences", "batch"), draft.headers("seq_len")
    if not sequences:
        return
    draft.notes[sequences[0]] = f"not used: {header!r} has the batch in tokens"
    if lengths:
        draft.notes[lengths[0]] = "tokens per sequence; compared with the batch"
        expected = batch.tokens_per_step(draft.numbers(sequences[0]), draft.numbers(lengths[0]))
        wrong = np.flatnonzero(np.abs(tokens / expected - 1) > OFF)
        what = [
            f"{tokens[i]:,.0f} tokens are not {sequences[0]} x {lengths[0]} = {expected[i]:,.0f}" for i in wrong[:100]
        ]
        draft.report(wrong, header, what, f"{header!r} was used")
