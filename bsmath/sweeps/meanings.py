"""What a column can mean, and the headers that say it: the glossary's synonyms, and the names of trainers' logs and
tables."""

PHRASES = {
    "seq_len": "seq len; sequence length tokens; block size; max seq len; max sequence length; context length; "
    "context size; "
    "context window; ctx; ctx len; n ctx; tokens per sequence; tokens per sample; max length; max source length; seq",
    "micro_batch_size": "atomic bsz; rank microbatch size",
    "grad_accum_steps": "grad accum steps; grad accum; accum steps; accum; batch accum; accumulate grad batches; ga; "
    "gas; "
    "num micro batches; num microbatches; update freq",
    "data_parallel_size": "data parallel size; data parallel; dp; dp size; dp world size; dp degree; num replicas; "
    "replicas; "
    "data parallel replicas; replica num; num dp",
    "model_parallel_size": "tp; pp; cp; tp size; pp size; cp size; tensor parallel; pipeline parallel; context "
    "parallel; "
    "tensor parallel size; pipeline parallel size; context parallel size; model parallel size; tp degree; pp degree; "
    "tensor model parallel size; pipeline model parallel size; model parallel",
    "num_devices": "num gpus; gpus; gpu count; world size; num workers; gpu num; total gpus; num gpus total",
    "num_nodes": "num nodes; nodes; num node; node num; num machines",
    "step_time": "step time; time per step; time step; dt; elapsed time per step; train step timing; step timing; "
    "step duration; s per step; ms per step; step avg; avg step; batch time; time per batch; step latency; end to end; "
    "step wall time; optimizer step time; wall time per step; time ms",
    "learning_rate": "lr; learning rate; peak lr; max lr; peak learning rate; max learning rate; base lr; "
    "lr peak; lr max; initial lr; initial learning rate; init lr",
    "seed": "seed; random seed; rng seed; trial; repeat; replicate; rep",
    "outcome": "outcome; reached; reached target; target reached; converged; arrived; success; stop reason; status; state",
    "steps_run": "steps run; steps trained; steps done; steps completed; steps given; last step; final step; stopped at",
    "placement": "placement",
    "model": "model; model name; model size; arch; architecture; workload; network; size; model config",
    "hardware": "gpu type; gpu name; device type; hardware; device name; machine; instance; instance type; gpu model; "
    "accelerator type; system; platform",
    "precision": "precision; dtype; data type; compute dtype; amp",
    "num_params": "params; num params; parameters; num parameters; model params; total params; params millions; "
    "params m; "
    "params b; params billions; model parameters",
}
"""Headers by meaning, beside those that the rules of `columns.recognize` find."""

MEANINGS = {
    "batch_tokens": "global batch in tokens",
    "batch_sequences": "global batch in sequences or samples",
    "batch": "batch in a unit that the file does not name",
    **{meaning: meaning.replace("_", " ") for meaning in PHRASES},
    "seed": "the seed, or the number of the repeat",
    "outcome": "whether the run reached the target",
    "steps_run": "optimizer steps that the run was given",
    "tokens_per_second": "tokens per second of the whole job",
    "tokens_per_second_per_device": "tokens per second and device",
    "samples_per_second": "sequences or samples per second of the whole job",
    "samples_per_second_per_device": "sequences or samples per second and device",
    "steps_per_second": "optimizer steps per second",
    "flops_per_second": "model FLOP/s of the whole job",
    "flops_per_second_per_device": "model FLOP/s and device",
    "result": "throughput or step time in a unit that the file does not name",
    "steps": "optimizer steps to the target loss",
    "tokens_to_target": "tokens to the target loss",
    "samples_to_target": "sequences or samples to the target loss",
    "step_index": "number of the step in a training log",
    "loss": "loss",
    "target_loss": "the target loss itself",
    "measurement": "another measurement",
    "note": "a remark, a date or an identifier",
    "text": "a text column that may tell runs apart",
}
"""Every meaning that a column can have (the keys of `answers["columns"]` map to these), in words."""
