"""What breaks silently: each check speaks where it should, in the right numbers, and is silent elsewhere."""

import pytest

from bsmath.change import changed
from bsmath.change_batch_checks import accumulation_for, division
from bsmath.change_case import Case
from bsmath.change_checks import checks
from bsmath.change_settings import Rules
from bsmath.recipe import Recipe

RULES = Rules(rate_rule="linear", noise_scale=1e6)
OLD = Recipe(micro_batch_size=8, data_parallel_size=8, seq_len=2048, warmup_tokens=131_072e3, total_tokens=131_072e4)
BESIDE = {
    "critical_batch_size": 1e9,
    "old_seconds": 80_000.0,
    "new_seconds": 10_000.0,
    "old_rate": 1e5,
    "new_rate": 8e5,
    "single_seconds": 1e9,
}


def said(old=OLD, beside=None, rules=RULES, **split) -> dict[str, str]:
    """What is wrong -> what it costs and what to set."""
    case = Case(change=changed(old, split, rules), rules=rules, **BESIDE | (beside or {}))
    return {one.wrong: f"{one.cost}; {one.remedy}".replace("\u00a0", " ") for one in checks(case)}


def about(word: str, found: dict[str, str]) -> str:
    told = [f"{wrong}: {rest}" for wrong, rest in found.items() if word in wrong]
    assert len(told) == 1, found
    return told[0]


def test_a_run_that_does_not_move_breaks_nothing():
    assert said() == {}


def test_a_schedule_in_steps_reads_other_tokens():
    told = about("written in steps", said(data_parallel_size=64))
    assert (
        "left at 10,000 steps the run reads 10.5B tokens, 8 times what it needs: 22.2 hours instead of 2.78 hours"
        in told
    )
    assert "its warmup becomes 1.05B tokens instead of 131M" in told and "1,250 steps, warmup 125" in told
    assert not [each for each in said(beside={"schedule_unit": "tokens"}, data_parallel_size=64) if "in steps" in each]


def test_more_workers_at_one_rate_are_named_with_what_the_rule_says():
    told = about("(replicas)", said(data_parallel_size=64))
    assert "moved by a factor 8" in told and "0.125 times what the rule says" in told and "2.4e-3" in told
    assert "beyond the factor 2" in told
    assert "within 0.2 %" in about("(replicas)", said(data_parallel_size=12))


def test_a_longer_sequence_is_named_as_what_moved():
    assert "moved by a factor 2 (sequence length)" in about("sequence length", said(seq_len=4096))


def test_decay_that_is_left_is_named_from_a_factor_two_in_memory():
    root = Rules(rate_rule="constant", noise_scale=1e6)
    told = about("weights forget", said(rules=root, data_parallel_size=64))
    assert "with decay 0.1 kept they forget over 35B tokens instead of 4.37B" in told and "weight decay 0.8" in told
    assert not [each for each in said(data_parallel_size=64) if "forget" in each]  # linear keeps it by itself


def test_padding_is_no_progress():
    told = about("Padding", said(OLD.change(padding_fraction=0.25)))
    assert "25% of each step" in told and "983M real ones instead of 1.31B" in told
    assert "98.3k, not 131k tokens" in told


def test_means_of_means_are_named_and_the_micro_batch_that_moves_them():
    assert "half as long" in about("mean over sequences", said(OLD.change(loss_average="sequence")))
    padded = OLD.change(loss_average="micro_batch", padding_fraction=0.25)
    assert "8 means over micro-batches, and the micro-batch changes" in about("means", said(padded, micro_batch_size=4))
    assert not [
        each for each in said(OLD.change(loss_average="micro_batch")) if "means" in each
    ]  # equal numbers of tokens


@pytest.mark.parametrize(
    "norm, word", [(10.0, "Nearly every step is clipped"), (0.05, "Clipping never happens"), (0.5, "")]
)
def test_a_threshold_that_always_or_never_acts_is_named(norm, word):
    found = said(beside={"gradient_norm": norm})
    assert (list(found) == []) if not word else about(word, found)


def test_a_batch_beyond_the_critical_one_says_its_price():
    told = about("critical batch", said(beside={"critical_batch_size": 131_072.0}, data_parallel_size=64))
    assert (
        "8 times the critical batch" in told
        and "4.5 times the tokens of the old run for the same loss, 9 times the least" in told
    )


def test_a_rate_that_buys_nothing_is_named():
    same = {"new_seconds": 100_000.0, "new_rate": 1.02e5}
    told = about("The rate rises by 2.0%", said(beside=same, grad_accum_steps=4))
    assert "27.8 hours instead of 22.2 hours on the same devices" in told


def test_accumulation_without_need_is_named():
    told = about("accumulated without need", said(beside={"single_seconds": 5000.0}, grad_accum_steps=4))
    assert "4 micro-batches" in told and "83.3 min instead of 2.78 hours" in told
    assert not [each for each in said(beside={"single_seconds": 9_900.0}, grad_accum_steps=4) if "accumulated" in each]


def test_a_warmup_shorter_than_adams_memory_is_named():
    old = OLD.change(warmup_tokens=131_072 * 40, beta2=0.95)
    assert "ends after 5 steps" in about("warmup ends", said(old, data_parallel_size=64))
    assert not [each for each in said(old) if "warmup ends" in each]  # 40 steps, memory 20


def test_another_micro_batch_is_named_for_what_is_normalized_over_it():
    told = about("normalized over a batch", said(micro_batch_size=2, grad_accum_steps=4))
    assert "from 2 instead of 8 sequences, their noise is 2 times as large" in told


def test_a_decay_without_a_length_and_a_warmup_without_an_end_are_named():
    assert "never falls" in about("the decay has no length", said(OLD.change(schedule="wsd")))
    told = about("half of the run", said(OLD.change(warmup_tokens=4 * 131_072e4)))
    assert "ends at 25% of its peak" in told
    assert not [each for each in said() if "half of the run" in each or "no length" in each]


def test_only_what_the_change_breaks_is_told_as_caused_by_it():
    case = Case(
        change=changed(OLD.change(padding_fraction=0.25), {"data_parallel_size": 64}, RULES), rules=RULES, **BESIDE
    )
    caused = {one.wrong.split(" ")[0]: one.caused for one in checks(case)}
    assert caused["Padding"] is False and caused["The"] is True


def test_a_balance_loss_per_micro_batch_sees_noise():
    experts = {"num_experts": 256, "top_k": 8}
    told = about("balance loss", said(OLD.change(micro_batch_size=1), beside=experts))
    assert "differ by 12%" in told and "over the global batch it would be 4.3%" in told
    assert not [each for each in said(beside={"num_experts": 8, "top_k": 2}) if "balance" in each]


def test_a_global_batch_that_cannot_hold_is_answered_with_the_nearest():
    assert division(256, 2, 18) == (
        "A global batch of 256 cannot hold: it is no multiple of micro-batch 2 x 18 replicas = 36. Nearest: 252 (accumulation 7) "
        "and 288 (accumulation 8)."
    )
    assert division(252, 2, 18) == "" and accumulation_for(252, 2, 18) == 7
    assert "Nearest: 36 (accumulation 1)." in division(5, 2, 18)
