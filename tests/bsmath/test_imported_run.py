"""The old run from a trainer's configuration."""

import pytest
from numpy.testing import assert_allclose

from bsmath import exports
from bsmath.change_outlook import change_outlook, recipe_of
from bsmath.imported_run import scenario_of
from bsmath.outlook import outlook
from bsmath.scenario import Scenario

MEGATRON = """torchrun --nproc-per-node 8 --nnodes 2 pretrain_gpt.py \\
  --tensor-model-parallel-size 4 --micro-batch-size 2 --global-batch-size 256 --seq-length 4096 \\
  --lr 3e-4 --min-lr 3e-5 --lr-decay-style cosine --lr-warmup-iters 2000 --train-iters 100000 --lr-decay-iters 100000 \\
  --weight-decay 0.1 --adam-beta2 0.95 --clip-grad 1.0 --data-path $DATA
"""


def test_a_job_of_megatron_is_the_scenarios_run():
    found, said = scenario_of(Scenario(), MEGATRON)
    run = outlook(found)
    assert (run.global_batch_size, run.tokens_per_step, run.num_devices) == (256, 1_048_576, 16)
    assert (found.grad_accum_steps, found.data_parallel_size, found.model_parallel_size) == (32, 4, 4)
    assert (found.goal, found.token_budget, found.warmup_tokens) == ("budget", 104_857_600_000, 2_097_152_000)
    assert (found.learning_rate, found.reference_tokens_per_step, found.min_learning_rate) == (3e-4, 1_048_576, 3e-5)
    assert found.schedule_unit == "steps" and said[0].startswith("Read as Megatron-LM: ")
    assert change_outlook(found).change.old == change_outlook(found).change.new


def test_samples_are_told_from_steps():
    found, _ = scenario_of(Scenario(), MEGATRON.replace("--train-iters 100000", "--train-samples 25600000"))
    assert found.schedule_unit == "tokens" and found.token_budget == 104_857_600_000


def test_what_the_text_leaves_open_is_the_trainers_default_and_said_once():
    text = "python run_clm.py --per_device_train_batch_size 4 --learning_rate 1e-4 --max_steps 1000 --block_size 1024"
    found, said = scenario_of(Scenario(data_parallel_size=2), text)
    assert (found.warmup_tokens, found.schedule, found.weight_decay, found.beta2) == (0, "linear", 0, 0.999)
    assert found.token_budget == 1000 * 4 * 2 * 1024 and found.reference_tokens_per_step == 8192
    assert said[1:] == [
        "Not in the text, so Hugging Face Trainer's defaults: accumulation steps 1, schedule linear, warmup 0 steps, "
        "last rate 0, optimizer adamw, weight decay 0, beta1 0.9, beta2 0.999, epsilon 1e-08, clipping 1.",
        "Neither in the text nor a default of Hugging Face Trainer, so kept as they were: replicas 2, loss averaged by "
        "token.",
    ]


def test_a_rate_and_a_run_from_defaults_count_as_in_the_text():
    found, said = scenario_of(Scenario(schedule="wsd", decay_tokens=1e9), "[training]\nlocal_batch_size = 4\n")
    step = 4 * 2048
    assert (found.learning_rate, found.reference_tokens_per_step) == (8e-4, step)
    assert (found.goal, found.token_budget, found.decay_tokens) == ("budget", 10_000 * step, 0)
    assert any("run length 10,000 steps" in sentence and "warmup 200 steps" in sentence for sentence in said)
    assert said[-1].endswith("so kept as they were: replicas 1, loss averaged by token.")


def test_the_batch_of_the_text_wins_over_the_scenarios_replicas():
    text = MEGATRON.replace("torchrun --nproc-per-node 8 --nnodes 2 ", "")
    found, said = scenario_of(Scenario(data_parallel_size=48, grad_accum_steps=3), text)
    run = outlook(found)  # 128 micro-batches: of their divisors, 32 is the largest below 48
    assert (found.data_parallel_size, found.grad_accum_steps, run.global_batch_size) == (32, 4, 256)
    assert found.reference_tokens_per_step == run.tokens_per_step == 1_048_576
    assert found.token_budget == 100_000 * 1_048_576
    assert "data_parallel_size 48 does not fit --global-batch-size of 256 sequences; 32 was taken." in said


@pytest.mark.parametrize("trainer", list(exports.EXPORTS))
def test_what_a_page_writes_is_read_back_as_the_same_run(trainer):
    scenario = Scenario(data_parallel_size=8, min_learning_rate=3e-5, goal="budget", reference_tokens_per_step=786_432)
    recipe = recipe_of(scenario).rounded()
    found, _ = scenario_of(scenario, exports.EXPORTS[trainer].write(recipe))
    again = recipe_of(found)
    assert_allclose(again.tokens_per_step, recipe.tokens_per_step)
    assert_allclose(again.learning_rate, recipe.learning_rate)
    assert_allclose(again.total_tokens, recipe.total_tokens, rtol=1e-4)
    assert_allclose(again.warmup_tokens, recipe.warmup_tokens, rtol=1e-3)


@pytest.mark.parametrize(
    "pasted, said",
    [
        ("", "text must be a configuration of Megatron-LM, torchtitan, .*, got one without any of their settings"),
        ("hello world", "got one without any of their settings"),
        ("x" * 300_000, "text must be of at most 200,000 characters, got 300,000"),
        ("--micro-batch-size $MBS --seq-length $SEQ", "got a Megatron-LM text without one"),
    ],
)
def test_a_text_that_holds_no_run_is_refused(pasted, said):
    with pytest.raises(ValueError, match=said):
        scenario_of(Scenario(), pasted)
