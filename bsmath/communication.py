"""Time that devices spend exchanging gradients and parameters, and the batch that hides it.

    all-reduce               2 (n-1)/n bytes/W + 2 (n-1) alpha        a ring of n devices
    reduce-scatter, gather     (n-1)/n bytes/W +   (n-1) alpha        half of it, each
    hidden behind compute      tokens per device > (n-1)/n C/W        gradients of two bytes, C achieved

Derived for a ring, in which every device sends in one direction at bandwidth W. Switches that add up on the way (NVLS,
SHARP) beat it: 8 H200 measured 482e9 bytes/s where the ring reaches 368e9. W is what one device sends one way: for GPUs
the one-way NVLink figure or its share of the network, for TPUs all axes of the torus together. `numeric` is a float, an
array or a Series.
"""

SPEC_SHARE = 0.8
"""Share of a link's printed bandwidth to expect, a rule of thumb: https://github.com/stas00/ml-engineering (network)."""

ZERO3_TRAFFIC = 1.5
"""Bytes of ZeRO stage 3 over those of stages 0-2, without accumulation. Follows from one reduce-scatter and two gathers of
equal size; that the implementations keep to it is unverified."""


def ring_all_reduce_time(num_bytes, num_devices, bandwidth, latency=0):
    """Time in which every device gets the sum over all of them, 2 (n-1)/n bytes/W + 2 (n-1) alpha. [s]

    Parameters
    ----------
    num_bytes : numeric
        What one device contributes: its gradients. [bytes]
    num_devices : numeric
        n, devices in the ring: the replicas.
    bandwidth : numeric
        W, of one device, one way, through the slowest link of the ring. [bytes/s]
    latency : numeric
        alpha, of one of the 2 (n-1) messages. [s]
    """
    return 2 * ring_gather_time(num_bytes, num_devices, bandwidth, latency)


def ring_gather_time(num_bytes, num_devices, bandwidth, latency=0):
    """Time of an all-gather, or of a reduce-scatter, of `num_bytes` in all: half an all-reduce. [s]"""
    return (num_devices - 1) / num_devices * num_bytes / bandwidth + (num_devices - 1) * latency


def bytes_sent(gradient_bytes, num_devices, zero_stage, grad_accum_steps=1):
    """Bytes that one device sends in an optimizer step.

    Stages 0, 1 and 2 move the volume of one all-reduce (1 and 2 as a reduce-scatter of gradients and a gather of updated
    parameters). Stage 3 reduce-scatters gradients once and gathers parameters twice, for forward and backward, in every
    micro-batch: 1.5 times as much without accumulation.

    Parameters
    ----------
    gradient_bytes : numeric
        Of one replica's device; parameters are taken to have as many bytes. [bytes]
    num_devices : numeric
        Replicas.
    zero_stage : numeric
        0 to 3.
    grad_accum_steps : numeric
        Micro-batches per step.
    """
    passes = 2 + (zero_stage == 3) * (2 * grad_accum_steps - 1)
    return passes * (num_devices - 1) / num_devices * gradient_bytes


def compute_bound_tokens(num_devices, achieved_flops, bandwidth):
    """Tokens per device and reduction above which the backward pass hides the whole all-reduce, (n-1)/n C/W. [tokens]

    Derived for dense models: a backward of 4N FLOPs per token against gradients of 2N bytes, so N falls out. Only the
    micro-batch in which gradients are reduced counts; a mixture of experts needs total/active parameters times as many.

    Parameters
    ----------
    num_devices : numeric
        Replicas.
    achieved_flops : numeric
        C, peak times MFU of one device. [FLOP/s]
    bandwidth : numeric
        W, of one device, one way. [bytes/s]
    """
    return (num_devices - 1) / num_devices * achieved_flops / bandwidth
