"""What is written, parsed in the trainer's own way: argparse with its flags, tomllib, json, the syntax tree."""

import argparse
import ast
import json
import shlex
import tomllib

import pytest

from bsmath.exports import EXPORTS
from bsmath.recipe import Recipe

RECIPE = Recipe(
    micro_batch_size=2,
    grad_accum_steps=4,
    data_parallel_size=8,
    seq_len=1024,
    learning_rate=6e-4,
    min_learning_rate=6e-5,
    warmup_tokens=100 * 65536,
    total_tokens=1000 * 65536,
    checkpoint_tokens=50 * 65536,
    eval_tokens=25 * 65536,
)
"""64 sequences or 65,536 tokens a step; 1,000 steps or 64,000 sequences."""


def argv(text):
    """The words inside the bash array."""
    return shlex.split(text[text.index("=(") + 2 : text.rindex(")")], comments=True)


def keywords(text):
    """Literal keywords of every call, by the name of what is called."""
    calls = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)]
    named = {getattr(call.func, "id", getattr(call.func, "attr", "")): call for call in calls}
    return {
        name: {word.arg: ast.literal_eval(word.value) for word in call.keywords if not isinstance(word.value, ast.Call)}
        for name, call in named.items()
    }


def megatron_parser():
    parser = argparse.ArgumentParser(exit_on_error=False, allow_abbrev=False)
    whole = "micro-batch-size global-batch-size seq-length train-samples lr-warmup-samples lr-decay-samples "
    for name in (whole + "lr-wsd-decay-samples save-interval eval-interval").split():
        parser.add_argument(f"--{name}", type=int)
    for name in "lr min-lr weight-decay clip-grad adam-beta1 adam-beta2 adam-eps sgd-momentum".split():
        parser.add_argument(f"--{name}", type=float)
    parser.add_argument("--optimizer", choices=["adam", "sgd", "muon", "dist_muon"])
    parser.add_argument("--lr-decay-style", choices=["constant", "linear", "cosine", "inverse-square-root", "WSD"])
    parser.add_argument("--lr-wsd-decay-style", choices=["exponential", "linear", "cosine", "minus_sqrt"])
    parser.add_argument("--calculate-per-token-loss", action="store_true")
    return parser


def test_megatron_flags_pass_its_parser():
    args = megatron_parser().parse_args(argv(EXPORTS["megatron"].write(RECIPE)))
    assert (args.micro_batch_size, args.global_batch_size, args.seq_length) == (2, 64, 1024)
    assert (args.train_samples, args.lr_decay_samples, args.lr_warmup_samples) == (64_000, 64_000, 6_400)
    assert (args.lr, args.min_lr, args.weight_decay, args.clip_grad) == (6e-4, 6e-5, 0.1, 1.0)
    assert (args.optimizer, args.adam_beta1, args.adam_beta2, args.adam_eps) == ("adam", 0.9, 0.95, 1e-8)
    assert (args.lr_decay_style, args.save_interval, args.eval_interval) == ("cosine", 50, 25)
    assert args.calculate_per_token_loss


@pytest.mark.parametrize("schedule", ["cosine", "linear", "wsd", "constant"])
@pytest.mark.parametrize("optimizer", ["adamw", "sgd"])
def test_every_megatron_export_passes_its_parser(schedule, optimizer):
    recipe = RECIPE.change(schedule=schedule, optimizer=optimizer, decay_tokens=200 * 65536, loss_average="micro_batch")
    args = megatron_parser().parse_args(argv(EXPORTS["megatron"].write(recipe)))
    assert args.lr_decay_style.lower() == schedule and not args.calculate_per_token_loss
    assert args.lr_wsd_decay_samples == (12_800 if schedule == "wsd" else None)
    assert args.sgd_momentum == (0.9 if optimizer == "sgd" else None)


def test_torchtitan_tables_hold_the_recipe_in_steps_and_ratios():
    tables = tomllib.loads(EXPORTS["torchtitan"].write(RECIPE.change(schedule="wsd", decay_tokens=200 * 65536)))
    assert tables["optimizer"] == {
        "name": "AdamW", "lr": 6e-4, "beta1": 0.9, "beta2": 0.95, "eps": 1e-8, "weight_decay": 0.1,
    }  # fmt: skip
    schedule = tables["lr_scheduler"]
    assert (schedule["warmup_steps"], schedule["decay_ratio"], schedule["decay_type"]) == (100, 0.2, "linear")
    assert schedule["min_lr_factor"] == pytest.approx(0.1)
    assert tables["training"] == {
        "local_batch_size": 2, "global_batch_size": 64, "seq_len": 1024, "steps": 1000, "max_norm": 1.0,
    }  # fmt: skip
    assert tables["checkpoint"] == {"interval": 50} and tables["validation"] == {"freq": 25}


def test_hugging_face_arguments_hold_the_recipe():
    found = keywords(EXPORTS["hf"].write(RECIPE))["TrainingArguments"]
    assert found == {
        "output_dir": "output", "per_device_train_batch_size": 2, "gradient_accumulation_steps": 4, "max_steps": 1000,
        "learning_rate": 6e-4, "lr_scheduler_type": "cosine_with_min_lr", "lr_scheduler_kwargs": {"min_lr": 6e-5},
        "warmup_steps": 100, "optim": "adamw_torch", "adam_beta1": 0.9, "adam_beta2": 0.95, "adam_epsilon": 1e-8,
        "weight_decay": 0.1, "max_grad_norm": 1.0, "save_strategy": "steps", "save_steps": 50, "eval_strategy": "steps",
        "eval_steps": 25, "average_tokens_across_devices": True,
    }  # fmt: skip


def test_deepspeed_batch_is_micro_batch_times_accumulation_times_processes():
    config = json.loads(EXPORTS["deepspeed"].write(RECIPE))
    assert (
        config["train_batch_size"]
        == 64
        == 8 * config["train_micro_batch_size_per_gpu"] * config["gradient_accumulation_steps"]
    )
    assert config["optimizer"] == {
        "type": "AdamW", "params": {"lr": 6e-4, "betas": [0.9, 0.95], "eps": 1e-8, "weight_decay": 0.1},
    }  # fmt: skip
    params = config["scheduler"]["params"]
    assert config["scheduler"]["type"] == "WarmupCosineLR" and params["warmup_type"] == "linear"
    assert (params["total_num_steps"], params["warmup_num_steps"]) == (1000, 100)
    assert params["cos_min_ratio"] == pytest.approx(0.1)


def test_nanogpt_accumulation_is_the_total_of_all_processes():
    tree = ast.parse(EXPORTS["nanogpt"].write(RECIPE))
    found = {node.targets[0].id: ast.literal_eval(node.value) for node in tree.body}
    assert found == {
        "batch_size": 2, "gradient_accumulation_steps": 32, "block_size": 1024, "max_iters": 1000,
        "learning_rate": 6e-4, "decay_lr": True, "warmup_iters": 100, "lr_decay_iters": 1000, "min_lr": 6e-5,
        "weight_decay": 0.1, "beta1": 0.9, "beta2": 0.95, "grad_clip": 1.0, "eval_interval": 25,
    }  # fmt: skip


def test_nanochat_flags_pass_its_parser():
    parser = argparse.ArgumentParser(exit_on_error=False, allow_abbrev=False)
    for (
        name
    ) in "max-seq-len device-batch-size total-batch-size num-iterations warmup-steps eval-every save-every".split():
        parser.add_argument(f"--{name}", type=int)
    for name in ("warmdown-ratio", "final-lr-frac"):
        parser.add_argument(f"--{name}", type=float)
    args = parser.parse_args(argv(EXPORTS["nanochat"].write(RECIPE.change(schedule="linear"))))
    assert (args.max_seq_len, args.device_batch_size, args.total_batch_size) == (1024, 2, 65_536)
    assert (args.num_iterations, args.warmup_steps, args.eval_every, args.save_every) == (1000, 100, 25, 50)
    assert args.warmdown_ratio == 0.9 and args.final_lr_frac == pytest.approx(0.1)


def test_olmo_core_batches_are_tokens():
    found = keywords(EXPORTS["olmo"].write(RECIPE))
    assert found["NumpyDataLoaderConfig"] == {"global_batch_size": 65_536}
    assert found["TransformerTrainModuleConfig"] == {
        "rank_microbatch_size": 2048, "max_sequence_length": 1024, "max_grad_norm": 1.0,
    }  # fmt: skip
    assert found["AdamWConfig"] == {"lr": 6e-4, "betas": (0.9, 0.95), "eps": 1e-8, "weight_decay": 0.1}
    assert found["CosWithWarmup"] == {"warmup_steps": 100, "alpha_f": pytest.approx(0.1)}
    assert found["CheckpointerCallback"] == {"save_interval": 50}
    assert "Duration.tokens(65536000)" in EXPORTS["olmo"].write(RECIPE)


def test_padding_is_part_of_what_trainers_count():
    recipe = RECIPE.change(padding_fraction=0.5)  # half as many real tokens a step: twice as many sequences for as many
    args = megatron_parser().parse_args(argv(EXPORTS["megatron"].write(recipe)))
    assert args.train_samples == 128_000 and args.global_batch_size == 64
    assert "Duration.tokens(131072000)" in EXPORTS["olmo"].write(recipe)
    assert "max_iters = 2000" in EXPORTS["nanogpt"].write(recipe)


@pytest.mark.parametrize("name", EXPORTS)
def test_independent_decay_is_never_written_as_coupled(name):
    recipe = RECIPE.change(decay="independent", weight_decay=0.07)
    text = EXPORTS[name].write(recipe)
    assert "0.07" not in text and "weight_decay" not in text and "weight-decay" not in text
    assert any("eight decay" in note for note in EXPORTS[name].notes(recipe))
    assert name == "deepspeed" or "eight decay" in text.partition("\n\n")[0]


@pytest.mark.parametrize("name", EXPORTS)
def test_notes_are_sentences_and_say_the_units(name):
    for change in ({}, {"schedule": "wsd"}, {"schedule": "constant"}, {"schedule": "linear", "optimizer": "sgd"}):
        said = EXPORTS[name].notes(RECIPE.change(padding_fraction=0.1, model_parallel_size=4, **change))
        assert all(note.endswith(".") and note[0].isalnum() for note in said)
        assert any("step" in note or "iteration" in note for note in said)
        assert any("padding" in note for note in said) and any("4 devices" in note for note in said)
