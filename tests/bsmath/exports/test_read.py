"""Configurations as people write them, with the fields worked out by hand."""

import pytest

from bsmath.exports import EXPORTS, find, read_any

MEGATRON = r"""
#!/bin/bash
export CUDA_DEVICE_MAX_CONNECTIONS=1
torchrun --nproc_per_node=8 --nnodes 4 pretrain_gpt.py \
    --tensor-model-parallel-size 2 --pipeline-model-parallel-size 2 \
    --num-layers 24 --hidden-size 2048 \
    --micro-batch-size=4 --global-batch-size 256 --seq-length "4096" \
    --lr 1.5e-4 --min-lr 1.0e-5 --lr-decay-style cosine \
    --train-iters 500000 --lr-decay-iters 320000 --lr-warmup-fraction .01 \
    --weight-decay 1e-2 --clip-grad 1.0 --adam-beta2 0.95 --bf16 \
    --save-interval 10000 --eval-iters 10 --eval-interval $EVAL_INTERVAL  # from the queue
"""


def test_megatron_script_with_iterations():
    name, read = read_any(MEGATRON)
    step = 256 * 4096
    assert name == "megatron"
    assert read.fields == {
        "micro_batch_size": 4, "seq_len": 4096, "learning_rate": 1.5e-4, "min_learning_rate": 1e-5,
        "schedule": "cosine", "total_tokens": 500_000 * step, "warmup_tokens": 5_000 * step, "weight_decay": 0.01,
        "clip_norm": 1.0, "beta2": 0.95, "checkpoint_tokens": 10_000 * step, "model_parallel_size": 4,
        "data_parallel_size": 8, "grad_accum_steps": 8,
    }  # fmt: skip
    said = " ".join(read.said)
    assert "--eval-interval could not be read: it is '$EVAL_INTERVAL' (a shell variable)." in said
    assert "--lr-decay-iters was left out" in said and "padding" in said


def test_megatron_samples_and_padding_that_is_known():
    text = "--micro-batch-size 1 --global-batch-size 8 --seq-length 1000 --train-samples 80 --lr-warmup-samples 16 --lr-decay-style WSD"
    read = EXPORTS["megatron"].read(text + " --lr-wsd-decay-samples 24 --lr $LR", {"padding_fraction": 0.5})
    assert read.fields["total_tokens"] == 40_000 and read.fields["warmup_tokens"] == 8_000
    assert read.fields["schedule"] == "wsd" and read.fields["decay_tokens"] == 12_000
    assert "learning_rate" not in read.fields and "grad_accum_steps" not in read.fields
    assert any("$LR" in sentence for sentence in read.said) and not any("none was assumed" in s for s in read.said)


def test_megatron_bash_array_and_arguments_in_a_string():
    array = 'TRAINING_ARGS=(\n  --micro-batch-size 2 # per replica\n  --lr 3e-4\n)\nA=" \\\n --clip-grad 0.5 \\\n --seq-length 2048"\n'
    assert read_any(array)[1].fields == {
        "micro_batch_size": 2,
        "learning_rate": 3e-4,
        "clip_norm": 0.5,
        "seq_len": 2048,
    }


def test_megatron_ramps_are_said_and_not_read():
    for flag in ("--rampup-batch-size 16 8 300000", '--step-batch-size-schedule "0:768 250B:1536"'):
        read = EXPORTS["megatron"].read(f"--lr 1e-4 {flag}")
        assert read.fields == {"learning_rate": 1e-4} and flag.split()[0] in read.said[0]
        assert "The Batch ramp page takes over the ramp." in read.said[0]


def test_the_first_number_of_a_megatron_ramp_is_no_batch():
    known = {"data_parallel_size": 8}
    text = "--micro-batch-size 1 --rampup-batch-size 16 8 300000 --global-batch-size 64"
    assert EXPORTS["megatron"].read(text, known).fields["grad_accum_steps"] == 8
    text = '--micro-batch-size 1 --step-batch-size-schedule "0:768 250B:1536"'
    read = EXPORTS["megatron"].read(text, known)  # its batch is in the schedule alone: not one micro-batch a replica
    assert "grad_accum_steps" not in read.fields | read.defaults


def test_the_ramp_of_olmo_is_said_and_the_loaders_batch_read():
    text = """NumpyDataLoaderConfig(global_batch_size=1024 * 4096)
TransformerTrainModuleConfig(rank_microbatch_size=4096, max_sequence_length=4096)
BatchSizeSchedulerCallback(batch_sizes=[1024 * 4096, 2048 * 4096], schedule=[Duration.tokens(0), Duration.tokens(9)])
"""
    read = EXPORTS["olmo"].read(text, {"data_parallel_size": 8})
    assert read.fields["grad_accum_steps"] == 128
    assert any("here that of the data loader. The Batch ramp page takes over" in sentence for sentence in read.said)


TORCHTITAN = """
[job]
dump_folder = "./outputs"
[optimizer]
name = "AdamW"
lr = 8e-4
[lr_scheduler]
warmup_steps = 2  # normally 20 %
decay_ratio = 0.8
decay_type = "linear"
min_lr_factor = 0.1
[training]
local_batch_size = 8
global_batch_size = 64
seq_len = 2048
steps = 10
max_norm = 1.0
[parallelism]
data_parallel_replicate_degree = 2
data_parallel_shard_degree = 4
tensor_parallel_degree = 2
[checkpoint]
enable = false
interval = 5
"""


def test_torchtitan_decay_that_leaves_no_stable_part_is_linear():
    name, read = read_any(TORCHTITAN)
    assert name == "torchtitan"
    assert read.fields == {
        "optimizer": "adamw", "learning_rate": 8e-4, "warmup_tokens": 2 * 131072, "schedule": "linear",
        "min_learning_rate": 8e-5, "micro_batch_size": 8, "seq_len": 2048, "total_tokens": 10 * 131072,
        "clip_norm": 1.0, "data_parallel_size": 8, "model_parallel_size": 2, "grad_accum_steps": 1,
        "checkpoint_tokens": 5 * 131072,
    }  # fmt: skip


def test_torchtitan_without_a_global_batch_accumulates_nothing():
    read = EXPORTS["torchtitan"].read(
        "[training]\nlocal_batch_size = 4\nseq_len = 1024\nsteps = 10", {"data_parallel_size": 2}
    )
    assert read.fields["grad_accum_steps"] == 1 and read.fields["total_tokens"] == 10 * 8192


HF = """
from transformers import TrainingArguments
LR = 2e-5
args = TrainingArguments(
    output_dir=out, per_device_train_batch_size=4, gradient_accumulation_steps=2 * 4, learning_rate=LR,
    lr_scheduler_type="cosine", warmup_ratio=0.1, max_steps=1_000, bf16=True, save_steps=0.2, weight_decay=cfg.decay,
    optim="adamw_torch_fused",
)
"""


def test_hugging_face_python_needs_length_and_devices_from_elsewhere():
    name, read = read_any(HF, {"seq_len": 512, "data_parallel_size": 2})
    total = 1000 * 4 * 8 * 2 * 512
    assert name == "hf"
    assert read.fields == {
        "micro_batch_size": 4, "grad_accum_steps": 8, "learning_rate": 2e-5, "schedule": "cosine",
        "total_tokens": total, "warmup_tokens": total / 10, "checkpoint_tokens": total / 5, "optimizer": "adamw",
        "min_learning_rate": 0,
    }  # fmt: skip
    said = " ".join(read.said)
    assert "weight_decay could not be read" in said and read.taken == {"seq_len": 512, "data_parallel_size": 2}
    alone = EXPORTS["hf"].read(HF)
    assert "total_tokens" not in alone.fields and any("max_steps was left out" in s for s in alone.said)


@pytest.mark.parametrize("text", [
    '{"per_device_train_batch_size": 4, "learning_rate": 2e-5, "num_train_epochs": 3, "lr_scheduler_type": "cosine_with_min_lr", '
    '"lr_scheduler_kwargs": {"min_lr": 1e-6}}',
    "per_device_train_batch_size: 4  # each\nlearning_rate: 2e-5\nnum_train_epochs: 3\nlr_scheduler_type: cosine_with_min_lr\n"
    'lr_scheduler_kwargs: {"min_lr": 1e-6}\n',
    "per_device_train_batch_size: 4\nlearning_rate: '2e-5'\nnum_train_epochs: 3\nlr_scheduler_type: cosine_with_min_lr\n"
    "lr_scheduler_kwargs:\n  min_lr: 1e-6\n",
    "config = dict(per_device_train_batch_size=4, learning_rate=2e-5, num_train_epochs=3, "
    "lr_scheduler_type='cosine_with_min_lr', lr_scheduler_kwargs=dict(min_lr=1e-6))",
    "per_device_train_batch_size = 4\nlearning_rate = 2e-5\nnum_train_epochs = 3\nlr_scheduler_type = 'cosine_with_min_lr'\n"
    "lr_scheduler_kwargs = {'min_lr': 1e-6}",
], ids=["json", "lines", "nested lines", "dict", "assignments"])  # fmt: skip
def test_hugging_face_arguments_in_every_form(text):
    name, read = read_any(text)
    assert name == "hf"
    assert read.fields == {
        "micro_batch_size": 4, "learning_rate": 2e-5, "schedule": "cosine", "min_learning_rate": 1e-6,
    }  # fmt: skip
    assert any("num_train_epochs" in sentence for sentence in read.said)


def test_hugging_face_command_line():
    text = "python run_clm.py --per_device_train_batch_size 4 --gradient_accumulation_steps=2 --learning_rate $LR --adam_beta2 .95 --max_steps -1"
    name, read = read_any(text)
    assert name == "hf" and read.fields == {"micro_batch_size": 4, "grad_accum_steps": 2, "beta2": 0.95}
    assert any("$LR" in sentence for sentence in read.said)


DEEPSPEED = """
{"train_batch_size": 512, "train_micro_batch_size_per_gpu": 4, "gradient_clipping": 1.0, "steps_per_print": 10,
 "zero_optimization": {"stage": 3}, "bf16": {"enabled": true},
 "optimizer": {"type": "Adam", "params": {"lr": 1e-3, "betas": [0.8, 0.999], "eps": 1e-8, "weight_decay": 3e-7}},
 "scheduler": {"type": "WarmupDecayLR", "params": {"warmup_min_lr": 0, "warmup_max_lr": 0.001, "warmup_num_steps": 100,
                                                   "total_num_steps": 1000}}}
"""


def test_deepspeed_configuration():
    name, read = read_any(DEEPSPEED, {"data_parallel_size": 32, "seq_len": 1000})
    assert name == "deepspeed"
    assert read.fields == {
        "micro_batch_size": 4, "grad_accum_steps": 4, "clip_norm": 1.0, "optimizer": "adamw", "learning_rate": 1e-3,
        "beta1": 0.8, "beta2": 0.999, "epsilon": 1e-8, "weight_decay": 3e-7, "schedule": "linear",
        "min_learning_rate": 0, "warmup_tokens": 100 * 512_000, "total_tokens": 1000 * 512_000,
    }  # fmt: skip
    assert any("logarithmic" in sentence for sentence in read.said)


def test_deepspeed_auto_is_said():
    read = EXPORTS["deepspeed"].read('{"train_batch_size": "auto", "train_micro_batch_size_per_gpu": 4}')
    assert read.fields == {"micro_batch_size": 4} and "'auto'" in read.said[0]


NANOGPT = """
# launch as: torchrun --standalone --nproc_per_node=8 train.py config/train_gpt2.py
wandb_log = True
batch_size = 12
block_size = 1024
gradient_accumulation_steps = 5 * 8
max_iters = 600000
lr_decay_iters = 600000
eval_interval = 1000
weight_decay = 1e-1
"""


def test_nanogpt_config_of_gpt2():
    name, read = read_any(NANOGPT, {"data_parallel_size": 8})  # 491,520 tokens a step
    assert name == "nanogpt"
    assert read.fields == {
        "micro_batch_size": 12, "seq_len": 1024, "grad_accum_steps": 5, "total_tokens": 600_000 * 491_520,
        "schedule": "cosine", "eval_tokens": 1000 * 491_520, "weight_decay": 0.1,
    }  # fmt: skip


def test_nanogpt_command_line():
    text = "torchrun --nproc_per_node=4 train.py --batch_size=8 --gradient_accumulation_steps=16 --block_size=256 --max_iters=100 --decay_lr=False"
    name, read = read_any(text)
    assert name == "nanogpt" and read.fields["schedule"] == "constant"
    assert (read.fields["data_parallel_size"], read.fields["grad_accum_steps"]) == (4, 4)
    assert read.fields["total_tokens"] == 100 * 8 * 16 * 256


def test_nanochat_command_line():
    text = """torchrun --standalone --nproc_per_node=8 -m scripts.base_train -- --depth=20 --max-seq-len=2048 --device-batch-size=16 \\
      --total-batch-size=524288 --num-iterations=1000 --warmup-steps=40 --warmdown-ratio=0.65 --final-lr-frac=0.05 --matrix-lr=0.02 --save-every=-1"""
    name, read = read_any(text, {"learning_rate": 0.02})
    assert name == "nanochat"
    assert read.fields == {
        "seq_len": 2048, "micro_batch_size": 16, "data_parallel_size": 8, "grad_accum_steps": 2,
        "total_tokens": 524_288_000, "warmup_tokens": 40 * 524_288, "schedule": "wsd",
        "decay_tokens": 0.65 * 524_288_000, "min_learning_rate": 0.001,
    }  # fmt: skip
    assert any("one rate" in sentence for sentence in read.said)


OLMO = """
GLOBAL_BATCH_SIZE = 256 * 1024
LR = 1e-3
def build_config(opts):
    data_loader_config = NumpyDataLoaderConfig(global_batch_size=GLOBAL_BATCH_SIZE, seed=0)
    train_module_config = TransformerTrainModuleConfig(
        rank_microbatch_size=16 * 1024, max_sequence_length=dataset_config.effective_sequence_length,
        optim=AdamWConfig(lr=LR, betas=(0.9, 0.95), weight_decay=0.1,
                          group_overrides=[OptimGroupOverride(params=["e"], opts=dict(weight_decay=0.0))]),
        max_grad_norm=1.0, scheduler=CosWithWarmup(warmup_steps=100, alpha_f=0.1))
    return TrainerConfig(max_duration=Duration.tokens(int(50e9))).with_callback(
        "checkpointer", CheckpointerCallback(save_interval=1000, ephemeral_save_interval=100)).with_callback(
        "lm", LMEvaluatorCallbackConfig(eval_interval=250, eval_duration=Duration.steps(50)))
"""


def test_olmo_core_script():
    name, read = read_any(OLMO, {"seq_len": 2048, "data_parallel_size": 8})
    assert name == "olmo"
    assert read.fields == {
        "clip_norm": 1.0, "optimizer": "adamw", "learning_rate": 1e-3, "beta1": 0.9, "beta2": 0.95, "weight_decay": 0.1,
        "micro_batch_size": 8, "grad_accum_steps": 2, "total_tokens": 50e9, "schedule": "cosine",
        "min_learning_rate": 1e-4, "warmup_tokens": 100 * 262_144, "checkpoint_tokens": 1000 * 262_144,
        "eval_tokens": 250 * 262_144,
    }  # fmt: skip


@pytest.mark.parametrize("text, name", [
    (MEGATRON, "megatron"), (TORCHTITAN, "torchtitan"), (HF, "hf"), (DEEPSPEED, "deepspeed"), (NANOGPT, "nanogpt"), (OLMO, "olmo"),
    ("", None), ("Dear colleague, the run is slow.", None),
])  # fmt: skip
def test_the_trainer_is_known_by_its_words(text, name):
    assert find(text) == name
