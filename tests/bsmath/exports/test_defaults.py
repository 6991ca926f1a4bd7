"""What a text leaves to its trainer, launchers, shell variables and other names, with the fields worked out by hand."""

import pytest

from bsmath.exports import EXPORTS, read_any
from bsmath.exports.flags import parse, world_size
from bsmath.recipe import Recipe


def said(read):
    return " ".join(read.said)


def test_hugging_face_without_warmup_has_none():
    text = "python run_clm.py --per_device_train_batch_size 4 --max_steps 1000 --learning_rate 1e-4 --weight_decay $WD"
    _, read = read_any(text, {"seq_len": 512, "data_parallel_size": 2, "warmup_tokens": 1e9, "grad_accum_steps": 7})
    assert read.fields["total_tokens"] == 1000 * 4 * 2 * 512  # accumulation is the Trainer's 1, not the 7 known
    assert read.defaults == {
        "grad_accum_steps": 1, "optimizer": "adamw", "decay": "coupled", "beta1": 0.9, "beta2": 0.999, "epsilon": 1e-8,
        "clip_norm": 1.0, "schedule": "linear", "warmup_tokens": 0, "min_learning_rate": 0.0,
    }  # fmt: skip
    assert "'$WD' (a shell variable)" in said(read)  # and so its default is not taken


def test_megatron_defaults_are_of_its_parser():
    text = "--micro-batch-size 4 --global-batch-size 64 --seq-length 1024 --lr 3e-4 --train-iters 100 --min-lr $MIN"
    read = EXPORTS["megatron"].read(text, {"data_parallel_size": 8, "loss_average": "token"})
    assert read.defaults == {
        "model_parallel_size": 1, "optimizer": "adamw", "weight_decay": 0.01, "decay": "coupled", "beta1": 0.9,
        "beta2": 0.999, "epsilon": 1e-8, "clip_norm": 1.0, "schedule": "linear", "loss_average": "micro_batch",
        "warmup_tokens": 0,
    }  # fmt: skip


@pytest.mark.parametrize("average", ["token", "micro_batch"])
def test_a_mean_of_the_loss_is_read_back_from_megatron(average):
    recipe = Recipe(loss_average=average)
    read = EXPORTS["megatron"].read(EXPORTS["megatron"].write(recipe))
    assert (read.defaults | read.fields)["loss_average"] == average


def test_torchtitan_defaults_are_of_its_job_config():
    read = EXPORTS["torchtitan"].read("[training]\nseq_len = 4096", {"data_parallel_size": 4, "learning_rate": 1e-5})
    step = 8 * 4 * 4096
    assert read.defaults == {
        "micro_batch_size": 8, "model_parallel_size": 1, "learning_rate": 8e-4, "optimizer": "adamw",
        "weight_decay": 0.1, "decay": "coupled", "beta1": 0.9, "beta2": 0.95, "epsilon": 1e-8, "clip_norm": 1.0,
        "schedule": "linear", "min_learning_rate": 0.0, "total_tokens": 10_000 * step, "warmup_tokens": 200 * step,
    }  # fmt: skip


def test_nanogpt_defaults_are_of_train_py():
    read = EXPORTS["nanogpt"].read("max_iters = 1000\nmin_lr = 1e-5", {"data_parallel_size": 8, "micro_batch_size": 3})
    step = 12 * 40 * 1024
    assert read.fields == {"total_tokens": 1000 * step, "schedule": "cosine", "min_learning_rate": 1e-5}
    assert (read.defaults["micro_batch_size"], read.defaults["grad_accum_steps"]) == (12, 5)
    assert (read.defaults["learning_rate"], read.defaults["warmup_tokens"]) == (6e-4, 2000 * step)
    assert "falls over 600,000 iterations" in said(read)
    constant = EXPORTS["nanogpt"].read("decay_lr = False\nblock_size = 1024", {"data_parallel_size": 8})
    assert constant.defaults["warmup_tokens"] == 0 and "min_learning_rate" not in constant.defaults


def test_nanochat_falls_after_its_own_warmup():
    text = "-m scripts.base_train --device-batch-size=16 --total-batch-size=524288 --num-iterations=1000 --warmdown-ratio=0.4"
    _, read = read_any(text, {"data_parallel_size": 8, "learning_rate": 0.02, "seq_len": 512, "warmup_tokens": 1e12})
    assert (read.fields["schedule"], read.fields["decay_tokens"]) == ("wsd", 400 * 524_288)
    assert read.defaults == {"seq_len": 2048, "warmup_tokens": 40 * 524_288, "min_learning_rate": 0.001}
    earlier = EXPORTS["nanochat"].read(text + " --warmup-ratio=0.1", {"data_parallel_size": 8, "seq_len": 2048})
    assert earlier.fields["warmup_tokens"] == pytest.approx(100 * 524_288) and "seq_len" in earlier.defaults


def test_deepspeed_defaults_are_those_of_its_adam_and_of_its_scheduler():
    text = """{"train_batch_size": 64, "train_micro_batch_size_per_gpu": 4,
      "optimizer": {"type": "AdamW", "params": {"lr": 1e-4}},
      "scheduler": {"type": "WarmupCosineLR", "params": {"total_num_steps": 5000}}}"""
    read = EXPORTS["deepspeed"].read(text, {"data_parallel_size": 8, "seq_len": 1000})
    assert read.fields["grad_accum_steps"] == 2
    assert read.defaults == {
        "weight_decay": 0.0, "decay": "coupled", "beta1": 0.9, "beta2": 0.999, "epsilon": 1e-8,
        "warmup_tokens": 1000 * 64_000, "min_learning_rate": 1e-8,
    }  # fmt: skip
    alone = EXPORTS["deepspeed"].read('{"train_micro_batch_size_per_gpu": 4, "gradient_clipping": 1.0}')
    assert alone.defaults == {"grad_accum_steps": 1}  # no optimizer, no scheduler: nothing is known of them


def test_olmo_core_defaults_are_of_the_classes_in_the_text():
    text = """train_module = TransformerTrainModuleConfig(rank_microbatch_size=2 * 1024, max_sequence_length=1024,
      optim=SkipStepAdamWConfig(lr=4e-4), scheduler=WSD())
data = NumpyDataLoaderConfig(global_batch_size=16 * 1024)
trainer = TrainerConfig(max_duration=Duration.tokens(int(1e9)))"""
    read = EXPORTS["olmo"].read(text, {"data_parallel_size": 4})
    assert read.defaults == {
        "clip_norm": 0.0, "weight_decay": 0.01, "decay": "coupled", "beta1": 0.9, "beta2": 0.999, "epsilon": 1e-8,
        "warmup_tokens": 2000 * 16_384, "min_learning_rate": 0.0, "decay_tokens": 1e8,
    }  # fmt: skip
    assert EXPORTS["olmo"].read("trainer = TrainerConfig(max_duration=Duration.tokens(1000))").defaults == {}


@pytest.mark.parametrize("known, replicas, accumulated", [(6, 4, 16), (8, 8, 8), (100, 64, 1), (63, 32, 2)])
def test_replicas_that_do_not_divide_the_batch_give_way_to_it(known, replicas, accumulated):
    text = "--micro-batch-size 4 --global-batch-size 256 --seq-length 4096 --train-iters 100"
    read = EXPORTS["megatron"].read(text, {"data_parallel_size": known})  # 64 micro-batches
    sizes = (replicas if known == replicas else read.fields["data_parallel_size"], read.fields["grad_accum_steps"])
    assert sizes == (replicas, accumulated) and read.fields["total_tokens"] == 100 * 256 * 4096
    sentence = f"data_parallel_size {known} does not fit --global-batch-size of 256 sequences; {replicas} was taken."
    assert (sentence in read.said) == (known != replicas)


def test_a_global_batch_that_the_texts_own_micro_batch_does_not_divide_is_left_out():
    text = "--micro-batch-size 3 --global-batch-size 256 --seq-length 1000 --train-iters 100"
    read = EXPORTS["megatron"].read(text, {"data_parallel_size": 2, "grad_accum_steps": 5})
    assert read.fields["total_tokens"] == 100 * 3 * 2 * 5 * 1000 and "and was left out" in said(read)


@pytest.mark.parametrize("launcher, processes", [
    ("torchrun --nproc_per_node=8 --nnodes 2", 16), ("accelerate launch --num_processes 4 --mixed_precision bf16", 4),
    ("deepspeed --num_gpus 8 --num_nodes 2", 16), ("accelerate launch", None), ("torchrun --nproc_per_node gpu", None),
])  # fmt: skip
def test_launchers_say_the_replicas_of_the_trainer(launcher, processes):
    read = EXPORTS["hf"].read(f"{launcher} run_clm.py --per_device_train_batch_size 4")
    assert world_size(parse(launcher)) == processes
    assert read.fields.get("data_parallel_size") == processes


@pytest.mark.parametrize("flag", ["block_size", "cutoff_len", "max_seq_length"])
def test_scripts_call_the_sequence_length_differently(flag):
    read = EXPORTS["hf"].read(f"python run_clm.py --per_device_train_batch_size 4 --{flag} 1024")
    assert read.fields["seq_len"] == 1024


def test_a_script_without_the_trainer_counts_its_steps_in_other_words():
    text = """accelerate launch --num_processes 2 run_clm_no_trainer.py --per_device_train_batch_size 8 --block_size 512 \\
      --gradient_accumulation_steps 4 --max_train_steps 2000 --num_warmup_steps 50 --lr_scheduler_type cosine"""
    name, read = read_any(text)
    step = 8 * 4 * 2 * 512
    assert name == "hf" and read.defaults["clip_norm"] == 0
    assert (read.fields["total_tokens"], read.fields["warmup_tokens"]) == (2000 * step, 50 * step)


SHELL = """
GPUS_PER_NODE=8
export NUM_NODES="2"  # of the cluster
MBS=4
LR=3e-4
SEQ=4096
SEQ=8192
torchrun --nproc_per_node $GPUS_PER_NODE --nnodes ${NUM_NODES} pretrain_gpt.py --micro-batch-size "$MBS" --lr=${LR} \\
  --seq-length $SEQ --global-batch-size $((MBS * 64)) --min-lr $MIN_LR
"""


def test_plain_shell_variables_are_put_in_and_nothing_is_evaluated():
    _, read = read_any(SHELL)
    assert read.fields == {"data_parallel_size": 16, "micro_batch_size": 4, "learning_rate": 3e-4}
    for part in ("'$SEQ' (a shell variable)", "'$((MBS' (shell arithmetic)", "'$MIN_LR' (a shell variable)"):
        assert part in said(read)
    assert parse("A=$B\nB=$(reboot)\n--lr $A --min-lr $B") == {"lr": "$A", "min-lr": "$B"}


@pytest.mark.parametrize("degrees, replicas, needed", [
    ("data_parallel_replicate_degree = 4\ndata_parallel_shard_degree = 1", 4, False),
    ("data_parallel_replicate_degree = 4\ndata_parallel_shard_degree = -1", None, True),
    ("data_parallel_replicate_degree = 4", None, True), ("data_parallel_shard_degree = 8", 8, False),
    ("tensor_parallel_degree = 2", None, False),
])  # fmt: skip
def test_torchtitan_shards_over_the_devices_that_are_left(degrees, replicas, needed):
    read = EXPORTS["torchtitan"].read(f"[training]\nseq_len = 2048\n[parallelism]\n{degrees}")
    assert read.fields.get("data_parallel_size") == replicas
    assert ("takes all devices that are left" in said(read)) == needed


def test_torchtitans_older_batch_size_is_that_of_one_replica():
    text = "[training]\nbatch_size = 2\nseq_len = 1024\nsteps = 10\n[parallelism]\ndata_parallel_shard_degree = 4"
    read = EXPORTS["torchtitan"].read(text)
    assert read.fields["micro_batch_size"] == 2 and read.fields["total_tokens"] == 10 * 2 * 4 * 1024


AXOLOTL = """
base_model: NousResearch/Meta-Llama-3-8B
datasets:
  - path: tatsu-lab/alpaca
    type: alpaca
sequence_len: 8192
micro_batch_size: 2
gradient_accumulation_steps: 4
num_epochs: 1
optimizer: paged_adamw_8bit
lr_scheduler: cosine
learning_rate: 2e-4
warmup_steps: 100
weight_decay: 0.0
max_steps: null
"""
LLAMA_FACTORY = """
model_name_or_path: meta-llama/Meta-Llama-3-8B-Instruct
stage: sft
cutoff_len: 2048
per_device_train_batch_size: 1
gradient_accumulation_steps: 8
learning_rate: 1.0e-4
num_train_epochs: 3.0
lr_scheduler_type: cosine
warmup_ratio: 0.1
"""


def test_axolotl_is_read_as_arguments_of_the_trainer():
    name, read = read_any(AXOLOTL, {"data_parallel_size": 4})
    assert name == "hf"
    assert read.fields == {
        "seq_len": 8192, "micro_batch_size": 2, "grad_accum_steps": 4, "optimizer": "adamw", "schedule": "cosine",
        "learning_rate": 2e-4, "warmup_tokens": 100 * 2 * 4 * 4 * 8192, "weight_decay": 0.0, "min_learning_rate": 0.0,
    }  # fmt: skip
    short = "micro_batch_size: 2\nlr_scheduler: cosine\nlearning_rate: 2e-4\n"
    assert read_any(short)[1].fields["micro_batch_size"] == 2
    assert "warmup_tokens" not in read_any(short)[1].defaults  # Axolotl has a default of its own


def test_llama_factory_is_read_as_arguments_of_the_trainer():
    name, read = read_any(LLAMA_FACTORY)
    assert name == "hf" and read.fields == {
        "seq_len": 2048, "micro_batch_size": 1, "grad_accum_steps": 8, "learning_rate": 1e-4, "schedule": "cosine",
        "min_learning_rate": 0.0,
    }  # fmt: skip
    assert "warmup_ratio was left out" in said(read) and "warmup_tokens" not in read.defaults


@pytest.mark.parametrize("text", [
    "sft = dict(per_device_train_batch_size=4, learning_rate=2e-5)\ndpo = dict(per_device_train_batch_size=1, beta1=3)",
    "def f():\n    return TrainingArguments(per_device_train_batch_size=4, learning_rate=2e-5)\n"
    "args = DPOConfig(per_device_train_batch_size=1, weight_decay=0.1)",
])  # fmt: skip
def test_the_first_of_two_sets_of_arguments_counts(text):
    _, read = read_any(text)
    assert read.fields == {"micro_batch_size": 4, "learning_rate": 2e-5}
    assert "the first was read, the others were left out" in said(read)


def test_a_config_without_batch_adds_to_the_arguments():
    text = "a = TrainingArguments(per_device_train_batch_size=4)\nb = SFTConfig(max_seq_length=512)"
    assert read_any(text)[1].fields == {"micro_batch_size": 4, "seq_len": 512}
