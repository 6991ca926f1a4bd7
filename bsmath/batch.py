"""What one optimizer step consumes, in sequences and in tokens.

    global_batch_size = micro_batch_size * grad_accum_steps * data_parallel_size        [sequences]
    tokens_per_step   = global_batch_size * seq_len * (1 - padding_fraction)            [tokens]

Exact bookkeeping, nothing empirical. Sequences exist in this module alone; every other formula is in tokens. `numeric` is
a float, an array or a Series. `data_parallel_size` counts replicas: tensor-, pipeline- and context-parallel ranks share one.
"""


def global_batch_size(micro_batch_size, grad_accum_steps, data_parallel_size):
    """Sequences that one optimizer step consumes. [sequences]

    Parameters
    ----------
    micro_batch_size : numeric
        Sequences that one replica forwards at once. [sequences]
    grad_accum_steps : numeric
        Micro-batches per replica and step, at least 1.
    data_parallel_size : numeric
        Replicas.
    """
    return micro_batch_size * grad_accum_steps * data_parallel_size


def tokens_per_step(global_batch_size, seq_len, padding_fraction=0):
    """Real tokens per optimizer step, B; with `padding_fraction` left at 0, the padded tokens that the hardware sees. [tokens]

    Parameters
    ----------
    global_batch_size : numeric
        Sequences per optimizer step. [sequences]
    seq_len : numeric
        Tokens per packed or padded sequence, T. [tokens/sequence]
    padding_fraction : numeric
        Share of padding among those tokens, 0 to 1.
    """
    return global_batch_size * seq_len * (1 - padding_fraction)


def num_devices(data_parallel_size, model_parallel_size):
    """Devices of the job: replicas times devices per replica (tensor x pipeline x context)."""
    return data_parallel_size * model_parallel_size


def padded_tokens(tokens_per_step, padding_fraction):
    """Padded tokens that carry `tokens_per_step` real ones. [tokens]"""
    return tokens_per_step / (1 - padding_fraction)
