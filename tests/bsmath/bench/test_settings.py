"""What a sweep may be asked to do, and the sentence that refuses the rest."""

import pytest

from bsmath.bench.settings import Settings


@pytest.mark.parametrize(
    "changes, message",
    [
        ({"steps": 0}, "steps must be a whole number from 1 to 1e+06, got 0"),
        ({"warmup_steps": -1}, "warmup_steps must be a whole number from 0 to 1e+06, got -1"),
        ({"micro_batch_size": 0}, "micro_batch_size must be a whole number from 1 to 2.14748e+09, got 0"),
        ({"threads": 0}, "threads must be a whole number from 1 to 1024, got 0"),
        ({"device": "tpu"}, "device must be one of auto, cpu, cuda, got 'tpu'"),
        ({"dtype": "int8"}, "dtype must be one of float32, bfloat16, got 'int8'"),
        ({"width": 130, "heads": 4}, "width must be a multiple of heads (4), got 130"),
        ({"global_batch_sizes": (4, 0)}, "global_batch_size must be a whole number from 1 to 2.14748e+09, got 0"),
        ({"global_batch_sizes": (4, 4)}, "global_batch_sizes must be one or more different sizes, got (4, 4)"),
        ({"global_batch_sizes": ()}, "global_batch_sizes must be one or more different sizes, got ()"),
    ],
)
def test_a_wrong_setting_is_named_with_its_rule_and_its_value(changes, message):
    with pytest.raises(ValueError) as refused:
        Settings(**changes)
    assert str(refused.value) == message


def test_a_batch_that_no_whole_number_of_micro_batches_makes_is_refused_naming_both():
    with pytest.raises(ValueError) as refused:
        Settings(global_batch_sizes=(8, 16, 20), micro_batch_size=8)
    assert str(refused.value) == "global_batch_size must be a multiple of micro_batch_size (8), got 20"


def test_a_batch_below_the_micro_batch_is_forwarded_whole():
    settings = Settings(global_batch_sizes=(3, 8, 32), micro_batch_size=8)
    assert [settings.micro_batch(batch) for batch in settings.global_batch_sizes] == [3, 8, 8]


def test_without_a_micro_batch_every_batch_is_forwarded_whole():
    assert [Settings().micro_batch(batch) for batch in (1, 7, 256)] == [1, 7, 256]
