"""Floating-point work per token, and the three readings of one identity: MFU, tokens per second, parameters.

    flops_per_token = 6 N          tokens/s = n peak mfu / flops_per_token

6N is 2N forward and 4N backward per matmul parameter (Kaplan et al. 2020, arXiv 2001.08361); it leaves out attention
scores and recomputation. MFU counts model FLOPs (Chowdhery et al. 2022, PaLM, app. B); HFU would count executed ones. For
a mixture of experts N is the parameters active per token. `peak_flops` is the dense peak of the dtype in use: with the
2:4-sparse headline figure MFU comes out half. `numeric` is a float, an array or a Series.
"""


def flops_per_token(active_params):
    """Model FLOPs per token, forward and backward, 6N. [FLOP/token]"""
    return 6 * active_params


def mfu(tokens_per_second, flops_per_token, peak_flops, num_devices):
    """Model-FLOPs utilization implied by a measured rate.

    Parameters
    ----------
    tokens_per_second : numeric
        Whole job, padded tokens: padding is work too. [tokens/s]
    flops_per_token : numeric
        [FLOP/token]
    peak_flops : numeric
        Dense peak of one device in the dtype in use. [FLOP/s]
    num_devices : numeric
        Devices of the job.
    """
    return tokens_per_second * flops_per_token / (num_devices * peak_flops)


def active_params(tokens_per_second, mfu, peak_flops, num_devices):
    """N implied by a measured rate and a reported MFU, if that MFU was counted by 6N. Parameters as in `mfu`."""
    return num_devices * peak_flops * mfu / (6 * tokens_per_second)


def mfu_headroom(mfu, matmul_efficiency):
    """How many times faster a run could be if every FLOP ran at the fastest matmul measured on the device."""
    return matmul_efficiency / mfu
