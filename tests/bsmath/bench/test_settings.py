"""What a measurement may be asked to do, and the sentence that refuses the rest."""

import pytest

from bsmath.bench.settings import Branch, Convergence, Noise, Router, Throughput

MEASURES = (Throughput, Convergence, Noise, Branch, Router)


@pytest.mark.parametrize("kind", MEASURES)
@pytest.mark.parametrize(
    "changes, message",
    [
        ({"threads": 0}, "threads must be a whole number from 1 to 1024, got 0"),
        ({"seed": -1}, "seed must be a whole number from 0 to 2.14748e+09, got -1"),
        ({"device": "tpu"}, "device must be one of auto, cpu, cuda, got 'tpu'"),
        ({"dtype": "int8"}, "dtype must be one of float32, bfloat16, got 'int8'"),
        ({"width": 130, "heads": 4}, "width must be a multiple of heads (4), got 130"),
    ],
)
def test_every_measurement_refuses_a_wrong_model_or_machine(kind, changes, message):
    with pytest.raises(ValueError) as refused:
        kind(**changes)
    assert str(refused.value) == message


@pytest.mark.parametrize(
    "kind, changes, message",
    [
        (Throughput, {"steps": 0}, "steps must be a whole number from 1 to 1e+09, got 0"),
        (Throughput, {"warmup_steps": -1}, "warmup_steps must be a whole number from 0 to 1e+06, got -1"),
        (
            Throughput,
            {"global_batch_sizes": (4, 0)},
            "global_batch_size must be a whole number from 1 to 2.14748e+09, got 0",
        ),
        (
            Throughput,
            {"global_batch_sizes": (4, 4)},
            "global_batch_sizes must be one or more different values, got (4, 4)",
        ),
        (Throughput, {"global_batch_sizes": ()}, "global_batch_sizes must be one or more different values, got ()"),
        (
            Throughput,
            {"micro_batch_sizes": (8, 8)},
            "micro_batch_sizes must be one or more different values, got (8, 8)",
        ),
        (Throughput, {"peak_flops": 989.0}, "peak_flops must be from 1e+06 to 1e+21, got 989.0"),
        (Convergence, {"micro_batch_size": 0}, "micro_batch_size must be a whole number from 1 to 2.14748e+09, got 0"),
        (Convergence, {"learning_rates": (1e-3, 0.0)}, "learning_rate must be from 1e-09 to 100, got 0.0"),
        (Convergence, {"learning_rates": ()}, "learning_rates must be one or more different values, got ()"),
        (Convergence, {"patience": 0.5}, "patience must be from 1 to 1e+06, got 0.5"),
        (Convergence, {"target_loss": 0.0}, "target_loss must be from 0.001 to 20, got 0.0"),
        (Noise, {"average_steps": 0}, "average_steps must be a whole number from 1 to 1e+06, got 0"),
        (Branch, {"batch_factors": (1, 1)}, "batch_factors must be one or more different values, got (1, 1)"),
        (Router, {"top_k": 17}, "top_k must be at most num_experts (16), got 17"),
        (Router, {"routed_tokens_list": (64, 100)}, "routed_tokens must be a multiple of seq_len (64), got 100"),
    ],
)
def test_a_wrong_setting_is_named_with_its_rule_and_its_value(kind, changes, message):
    with pytest.raises(ValueError) as refused:
        kind(**changes)
    assert str(refused.value) == message


def test_a_training_batch_that_no_whole_number_of_micro_batches_makes_is_refused_naming_both():
    settings = Convergence(global_batch_sizes=(8, 16, 20), micro_batch_size=8)
    settings.check_micro_batch(16)
    with pytest.raises(ValueError) as refused:
        settings.check_micro_batch(20)
    assert str(refused.value) == "global_batch_size must be a multiple of micro_batch_size (8), got 20"


def test_micro_batches_must_also_divide_the_share_of_each_process():
    settings = Convergence(global_batch_sizes=(8, 24), micro_batch_size=8)
    settings.check_micro_batch(8, processes=2)
    with pytest.raises(ValueError) as refused:
        settings.check_micro_batch(24, processes=2)
    assert (
        str(refused.value)
        == "global_batch_size must be a multiple of micro_batch_size (8) on each of 2 processes, got 24"
    )


def test_a_training_batch_below_the_micro_batch_is_forwarded_whole():
    settings = Convergence(global_batch_sizes=(3, 8, 32), micro_batch_size=8)
    for batch in settings.batches:
        settings.check_micro_batch(batch)
    settings.check_micro_batch(20, processes=4)  # shares of 5


def test_a_throughput_sweep_may_ask_for_micro_batches_that_not_every_batch_can_have():
    assert Throughput(global_batch_sizes=(8, 12), micro_batch_sizes=(8,)).batches == (8, 12)


def test_what_trains_one_batch_has_one_batch():
    assert Noise(global_batch_size=24).batches == (24,)
