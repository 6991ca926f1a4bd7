"""The time of one optimizer step, term by term, and which term is the longest.

    step = fixed + a (micro + C + reads) + exchange          C = m d / R, arithmetic of one micro-batch on d replicas
    reads    = max(0, 3 weights/memory bandwidth - C)        per micro-batch, which is busy for C + reads
    exchange = max(0, T_reduce - overlap 2/3 busy) + a max(0, T_gather - overlap busy)

Inside the plateau R, that is inside the MFU that the user states: the efficiency of matmuls at large micro-batches, attention,
recomputation, pipeline and tensor parallelism. Beside it: the fixed time of a step, the overhead of every micro-batch, reading
the weights where a micro-batch is small, and communication that nothing hides. An MFU measured on a whole step holds some of
these already: then they are counted twice, unless R is that of large batches.

Gradients are reduced once a step, behind the backward pass (2/3) of the last micro-batch. ZeRO-3 gathers parameters twice
(T_gather) in every micro-batch, behind all of it; in the last one the reduction gets what the gathers leave.
That is the best case: DeepSpeed reduces in every micro-batch at stages 2 and 3 (its `no_sync` refuses them,
https://github.com/deepspeedai/DeepSpeed/blob/master/deepspeed/runtime/engine.py).

At a fixed micro-batch each term is constant per step or per micro-batch, so the step time is exactly linear in the batch,
with a fixed time and a plateau of its own (`effective`). Derived from the parts; `overlap` is an assumption of the user.
`numeric` is a float, an array or a Series.
"""

from dataclasses import dataclass, fields

import numpy as np

from bsmath import communication, roofline

BACKWARD_SHARE = 2 / 3
"""Backward's part of a micro-batch: 4N of 6N FLOPs per token, and two of three passes over the weights."""


@dataclass(frozen=True, kw_only=True, eq=False)
class StepTerms:
    """The time of one optimizer step in parts that add up; numbers or arrays of one shape."""

    fixed: float | np.ndarray
    """t_fixed: seconds per step that do not grow with the batch. [s]"""
    micro_overhead: float | np.ndarray
    """Overhead of the micro-batches: launches, data loading. [s]"""
    compute: float | np.ndarray
    """Arithmetic at the plateau's rate. [s]"""
    weight_reads: float | np.ndarray
    """What reading the weights takes beyond the arithmetic of the same micro-batch; 0 where these are large. [s]"""
    all_reduce: float | np.ndarray
    """Communication that no micro-batch hides: gradients, and the gathers of ZeRO-3. [s]"""

    @property
    def total(self) -> float | np.ndarray:
        """The step time. [s]"""
        return self.fixed + self.micro_overhead + self.compute + self.weight_reads + self.all_reduce

    @property
    def dominant(self) -> str | np.ndarray:
        """Name of the longest term; the first of equals."""
        return np.array(TERMS)[np.argmax([getattr(self, name) for name in TERMS], axis=0)]


TERMS = tuple(field.name for field in fields(StepTerms))


def step_terms(
    *,
    fixed_time,
    micro_batch_time,
    micro_tokens,
    grad_accum_steps,
    data_parallel_size,
    plateau,
    gradient_bytes_total,
    bandwidth,
    latency=0,
    overlap,
    zero_stage,
    weight_bytes,
    memory_bandwidth,
) -> StepTerms:
    """The terms of one optimizer step. [s]

    Parameters
    ----------
    fixed_time : numeric
        Seconds per step. [s]
    micro_batch_time : numeric
        Seconds per micro-batch beside its arithmetic. [s]
    micro_tokens : numeric
        Padded tokens of one micro-batch of one replica. [tokens]
    grad_accum_steps : numeric
        a, micro-batches per replica and step.
    data_parallel_size : numeric
        d, replicas.
    plateau : numeric
        R, of the whole job and without the other terms. [padded tokens/s]
    gradient_bytes_total : numeric
        Gradients that one device reduces; its parameters have as many bytes where ZeRO-3 gathers them. [bytes]
    bandwidth : numeric
        Of one device, one way, in the network between the replicas. [bytes/s]
    latency : numeric
        Of one message of the ring. [s]
    overlap : numeric
        Share of a micro-batch's busy time that can hide communication, 0 (none) to 1.
    zero_stage : numeric
        0 to 3.
    weight_bytes : numeric
        Weights that one device uses in a micro-batch, two bytes for each active parameter. [bytes]
    memory_bandwidth : numeric
        Of one device; np.inf leaves reading the weights out. [bytes/s]
    """
    compute = micro_tokens * data_parallel_size / plateau
    reads = roofline.weight_read_excess(compute, weight_bytes, memory_bandwidth)
    hiding = overlap * (compute + reads)
    one_pass = communication.ring_gather_time(gradient_bytes_total, data_parallel_size, bandwidth, latency)
    sharded = np.equal(zero_stage, 3)
    gather = 2 * sharded * one_pass
    left = np.minimum(hiding * BACKWARD_SHARE, np.maximum(hiding - gather, 0))
    terms = np.broadcast_arrays(
        fixed_time,
        grad_accum_steps * micro_batch_time,
        grad_accum_steps * compute,
        grad_accum_steps * reads,
        np.maximum((2 - sharded) * one_pass - left, 0) + grad_accum_steps * np.maximum(gather - hiding, 0),
    )
    return StepTerms(**{name: term[()] for name, term in zip(TERMS, terms, strict=True)})


def effective(*, micro_tokens, data_parallel_size, **costs):
    """Fixed time [s] and plateau [padded tokens/s] of the straight line that the step time is at this micro-batch.

    fixed time + tokens/plateau equals the total of `step_terms` at any accumulation. The parameters are those of `step_terms`
    but for `grad_accum_steps`.
    """
    job = {"micro_tokens": micro_tokens, "data_parallel_size": data_parallel_size, **costs}
    none = step_terms(grad_accum_steps=0, **job).total
    return none, micro_tokens * data_parallel_size / (step_terms(grad_accum_steps=1, **job).total - none)


def over_batch(padded_tokens_per_step, smallest_step, *, data_parallel_size, **costs) -> StepTerms:
    """The terms at every batch: below one full micro-batch on every replica that shrinks, above it accumulation grows.

    Accumulation is taken as continuous: real steps are the points of the curve at whole numbers of micro-batches.

    Parameters
    ----------
    padded_tokens_per_step : numeric
        The batches. [tokens]
    smallest_step : numeric
        One full micro-batch on every replica. [padded tokens]
    data_parallel_size, **costs
        Those of `step_terms`, but for `micro_tokens` and `grad_accum_steps`.
    """
    return step_terms(
        micro_tokens=np.minimum(padded_tokens_per_step, smallest_step) / data_parallel_size,
        grad_accum_steps=np.maximum(padded_tokens_per_step / smallest_step, 1),
        data_parallel_size=data_parallel_size,
        **costs,
    )
