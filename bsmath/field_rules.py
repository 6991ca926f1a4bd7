"""What each field of a scenario may hold: the words, the numbers, the fields that follow others or may be left open."""

from bsmath import change_settings, lr, ramp_kinds, recipe

FOLLOWERS = {
    "active_params": "num_params",
    "noise_scale": "critical_batch_size",
    "new_micro_batch_size": "micro_batch_size",
    "new_grad_accum_steps": "grad_accum_steps",
    "new_data_parallel_size": "data_parallel_size",
    "new_seq_len": "seq_len",
}
"""Fields that take the value of another until they are given one of their own."""

CEILINGS = {"num_params": "active_params", "num_experts": "top_k"}
"""Fields that another may not exceed."""

CHOICES = {
    "goal": ("target", "budget"),
    "optimizer": ("adamw", "sgd"),
    "precision": ("bf16", "fp8"),
    "recompute": ("none", "selective", "full"),
    "gradient_dtype": ("bf16", "fp32"),
    "decay": recipe.CHOICES["decay"],
    "schedule": recipe.CHOICES["schedule"],
    "schedule_unit": ("steps", "tokens"),
    "loss_average": recipe.CHOICES["loss_average"],
    "rate_rule": ("usual", *lr.RULES),
    "beta_rule": tuple(change_settings.BETA_RULES),
    "ramp": tuple(ramp_kinds.KINDS),
    "critical_growth": tuple(ramp_kinds.GROWTHS),
}
"""The words that a field may hold."""

OPTIONAL = (
    "network_bandwidth", "price_per_device_hour", "target_loss", "gradient_norm", "ramp_start", "ramp_end", "device_memory",
    "device_power", "deadline_days", "most_cost",
)  # fmt: skip
"""Fields that may be left open."""

RANGES = {
    "num_params": (1e5, 1e13),
    "active_params": (1e3, 1e13),
    "seq_len": (16, 2**20),
    "mfu": (0.01, 1),
    "fixed_time": (0, 100),
    "micro_batch_size": (1, 1e6),
    "grad_accum_steps": (1, 1e6),
    "data_parallel_size": (1, 1e6),
    "model_parallel_size": (1, 1e5),
    "padding_fraction": (0, 0.95),
    "critical_batch_size": (1e2, 1e10),
    "min_steps": (1, 1e8),
    "token_budget": (1e3, 1e15),
    "learning_rate": (1e-8, 100),
    "reference_tokens_per_step": (1, 1e10),
    "noise_scale": (1e2, 1e10),
    "adam_saturation_batch": (1e2, 1e10),
    "surge_peak_batch": (1e2, 1e10),
    "weight_decay": (0, 10),
    "beta1": (0, 0.999999),
    "beta2": (0, 0.99999999),
    "warmup_tokens": (0, 1e13),
    "clip_norm": (0, 1e6),
    "num_experts": (1, 1e5),
    "top_k": (1, 1e5),
    "capacity_factor": (0.1, 100),
    "expert_parallel_size": (1, 1e5),
    "price_per_device_hour": (0, 1e4),
    "target_loss": (0.1, 20),
    "zero_stage": (0, 3),
    "micro_batch_time": (0, 100),
    "network_bandwidth": (1e6, 1e15),
    "overlap": (0, 1),
    "min_learning_rate": recipe.RANGES["min_learning_rate"],
    "epsilon": recipe.RANGES["epsilon"],
    "decay_tokens": recipe.RANGES["decay_tokens"],
    "checkpoint_tokens": recipe.RANGES["checkpoint_tokens"],
    "eval_tokens": recipe.RANGES["eval_tokens"],
    "gradient_norm": (0, 1e12),
    "router_skew": (0, 300),
    "sequence_correlation": (0, 1),
    "new_micro_batch_size": (1, 1e6),
    "new_grad_accum_steps": (1, 1e6),
    "new_data_parallel_size": (1, 1e6),
    "new_seq_len": (16, 2**20),
    "ramp_start": (1, 1e10),
    "ramp_end": (1, 1e10),
    "ramp_tokens": (0, 1e15),
    "ramp_levels": (2, 1000),
    "ramp_factor": (0.001, 1000),
    "device_memory": (1e8, 1e13),
    "device_power": (0.1, 1e5),
    "most_devices": (1, 1e6),
    "deadline_days": (1e-4, 1e5),
    "most_cost": (0, 1e12),
}
"""Smallest and largest value of each number, in the field's unit."""
