"""The reader of expert loads: its three shapes, what it refuses, and published counts of real models."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from bsmath import expert_counts, logs, moe
from bsmath.logs import router
from bsmath.sweeps import SweepError

REAL = Path(__file__).parents[4] / "shared" / "data" / "5_moe" / "olmoe_mixtral_expert_counts.csv"
HARNESS = """\
# command: python -m bsmath.bench router
run,device,balancing_loss,seed,layer,routed_tokens,group,num_experts,top_k,load_cv,expert_counts,held_out_loss
a,cpu,0,0,0,8,0,4,2,0.35,2 6 4 4,2.1
a,cpu,0,0,1,8,0,4,2,0,4 4 4 4,2.1
a,cpu,0.01,0,0,8,0,4,2,0.35,6 2 4 4,2.2
a,cpu,0.01,0,0,16,0,4,2,0,8 8 8 8,2.2
"""


def loads(table) -> list[list[float]]:
    return [one.tolist() for one in table["counts"]]


def test_the_harness_file_is_read_with_one_setting_a_balancing_loss():
    found = logs.read(HARNESS.encode(), "router.csv")
    assert found.kind == "router" and found.record.problems == ()
    table = found.record.table
    assert table["setting"].tolist() == ["balancing loss 0"] * 2 + ["balancing loss 0.01"] * 2
    assert loads(table)[0] == [2, 6, 4, 4] and table["routed_tokens"].tolist() == [8, 8, 8, 16]
    summary = found.record.summary((1.25,))
    assert summary[["setting", "routed_tokens", "groups"]].values.tolist() == [
        ["balancing loss 0", 8, 2],
        ["balancing loss 0.01", 8, 1],
        ["balancing loss 0.01", 16, 1],
    ]
    assert_allclose(summary["dropped_1.25"], [1 / 32, 1 / 16, 0])


def test_seeds_are_told_apart_where_there_are_several():
    text = HARNESS.replace("0.01,0,0,16", "0.01,3,0,16")
    assert set(logs.read(text.encode(), "x.csv").record.table["setting"]) == {
        "balancing loss 0, seed 0",
        "balancing loss 0.01, seed 0",
        "balancing loss 0.01, seed 3",
    }


def test_a_row_an_expert_becomes_a_row_a_group():
    rows = [("web", 0, 0, 3), ("web", 0, 1, 1), ("web", 1, 1, 4), ("code", 0, 0, 4)]
    frame = pd.DataFrame(rows, columns=["domain", "layer", "expert", "count"]).assign(
        num_experts=2, top_k=1, share=range(4)
    )
    found = router.read(frame, "x.csv")
    assert found.table["setting"].tolist() == ["web", "web", "code"] and found.problems == ()
    assert loads(found.table) == [[3, 1], [0, 4], [4, 0]]  # an expert without a row has no token
    assert found.table["routed_tokens"].tolist() == [4, 4, 4]


def test_experts_may_be_numbered_from_one():
    frame = pd.DataFrame({"layer": [0, 0, 0], "expert": [1, 2, 3], "tokens": [5, 1, 0], "top_k": 1})
    assert loads(router.read(frame, "x.csv").table) == [[5, 1, 0]]
    assert loads(router.read(frame.assign(num_experts=3), "x.csv").table) == [[5, 1, 0]]
    assert loads(router.read(frame.assign(num_experts=4), "x.csv").table) == [[0, 5, 1, 0]]  # here expert 0 got nothing


def test_a_column_an_expert_is_sorted_by_its_number():
    frame = pd.DataFrame({"step": [1, 2], "expert_10": [1, 2], "expert_2": [3, 4], "Expert_0": [4, 2], "top_k": 2})
    found = router.read(frame, "wide.csv")
    assert loads(found.table) == [[4, 3, 1], [2, 4, 2]] and found.table["setting"].tolist() == ["wide.csv"] * 2
    assert found.table["routed_tokens"].tolist() == [4, 4] and found.table["group"].tolist() == [1, 2]


def test_top_k_follows_from_the_tokens_and_is_assumed_where_nothing_tells():
    frame = pd.DataFrame({"expert_0": [5, 6], "expert_1": [3, 2]})
    known = router.read(frame.assign(routed_tokens=4), "x.csv")
    assert known.table["top_k"].tolist() == [2, 2] and known.problems == ()
    assumed = router.read(frame, "x.csv")
    assert assumed.table["top_k"].tolist() == [1, 1] and "one expert a token is assumed" in assumed.problems[0]


@pytest.mark.parametrize(
    "headers, known",
    [
        (["layer", "expert_counts"], True),
        (["layer", "Expert", "Count"], True),
        (["step", "expert 0", "expert 1"], True),
        (["step", "expert_0"], False),
        (["expert", "weight"], False),
        (["batch", "tokens", "count"], False),
        (["batch_tokens", "n_gpus", "tokens_per_s"], False),
        (["e1", "e2"], False),
    ],
)
def test_only_tables_of_expert_loads_are_recognized(headers, known):
    assert router.recognizes(headers) is known


def test_a_loss_that_is_no_number_names_no_setting():
    found = logs.read(HARNESS.replace("4 4 4 4,2.1", "4 4 4 4,nan").encode(), "x.csv").record
    assert set(found.table["setting"]) == {"balancing loss 0", "balancing loss 0.01"}


def test_groups_and_experts_beyond_all_memory_are_refused():
    frame = pd.DataFrame({"expert": [9_999] * 3_000, "count": 1, "step": range(3_000), "top_k": 1})
    with pytest.raises(SweepError, match="x.csv must have at most 20,000,000 groups x experts, got 3,000 x 10,000"):
        router.read(frame, "x.csv")


def test_bad_rows_are_left_out_and_named():
    text = HARNESS.replace("4 4 4 4", "4 x 4 4").replace("6 2 4 4", "6 2 4")
    found = logs.read(text.encode(), "x.csv").record
    assert loads(found.table) == [[2, 6, 4, 4], [8, 8, 8, 8]]
    assert found.problems[0].startswith("1 row is left out, the first is row 2: expert_counts must be whole numbers")
    assert "must sum to routed_tokens x top_k" in found.problems[1]


def test_loads_that_were_cut_at_a_capacity_are_refused():
    text = HARNESS.replace("2 6 4 4", "2 5 4 4")
    assert "none cut at a capacity" in logs.read(text.encode(), "x.csv").record.problems[0]


def test_experts_that_cannot_be_are_named():
    frame = pd.DataFrame(
        {"expert": [0, 1, -1, 7], "count": [2, 2, 1, 1], "layer": [0, 0, 0, 1], "num_experts": 2, "top_k": 1}
    )
    found = router.read(frame, "x.csv")
    assert loads(found.table) == [[2, 2]]
    assert "row 3: expert must be a whole number" in found.problems[0] and "below num_experts" in found.problems[1]


@pytest.mark.parametrize(
    "frame, message",
    [
        (
            pd.DataFrame({"expert_counts": ["a b", ""]}),
            r"x.csv must have loads of experts, got none that is usable \(2 rows",
        ),
        (pd.DataFrame({"expert": ["a"], "count": [1]}), "x.csv must have loads of experts, got none"),
        (pd.DataFrame({"expert_0": [0], "expert_1": [0], "top_k": 1}), r"no expert has a token"),
        (pd.DataFrame({"expert_0": ["?"], "expert_1": [0]}), "every expert's load must be a number"),
        (
            pd.DataFrame({"expert": [1], "weight": [0]}),
            "x.csv must have a column expert and a column count, got expert, weight",
        ),
    ],
)
def test_a_file_without_a_usable_row_says_why(frame, message):
    with pytest.raises(SweepError, match=message):
        router.read(frame, "x.csv")


@pytest.fixture(scope="module")
def real() -> pd.DataFrame:
    if not REAL.exists():
        pytest.skip(f"the public data {REAL.name} are not on this machine")
    return logs.read(REAL.read_bytes(), REAL.name).record.table


def test_the_public_counts_are_69_groups_of_two_models(real):
    assert len(real) == 69 and set(real["num_experts"]) == {8, 64} and set(real["top_k"]) == {1, 2, 8}
    assert set(real["routed_tokens"]) == {208_896, 205_243}
    assert "olmoe, top k 8, c4" in set(real["setting"])


@pytest.mark.parametrize(
    "experts, top_k, cv, uneven, noise",
    [(8, 2, (0.04, 0.25), (10.9, 65), (48, 1_800)), (64, 8, (0.32, 1.35), (56, 233), (3.8, 70))],
)
def test_loads_of_real_models_are_far_more_uneven_than_sampling_noise(real, experts, top_k, cv, uneven, noise):
    """Recomputed from the counts with pandas alone (Mixtral 8x7B; OLMoE and its fine-tunes, arXiv 2409.02060)."""
    counts = np.stack(real.loc[(real["num_experts"] == experts) & (real["top_k"] == top_k), "counts"])
    found = expert_counts.load_cv(counts)
    assert_allclose([found.min(), found.max()], cv, rtol=0.04)
    ratio = found / expert_counts.uniform_cv(counts, top_k)
    assert_allclose([ratio.min(), ratio.max()], uneven, rtol=0.02)
    equal = moe.min_routed_tokens_for_cv(np.sqrt(expert_counts.skew_squared(counts, top_k)), experts, top_k)
    assert_allclose([equal.min(), equal.max()], noise, rtol=0.06)


@pytest.mark.parametrize(
    "setting, low, high", [("olmoe, top k 8, c4", 0.04, 0.113), ("mixtral-8x7b, top k 2, github", 0, 0.0098)]
)
def test_the_dropped_share_of_real_models_at_a_capacity_a_quarter_above_the_mean(real, setting, low, high):
    counts = np.stack(real.loc[real["setting"] == setting, "counts"])
    dropped = expert_counts.dropped_fraction(counts, 8 if "olmoe" in setting else 2, 1.25)
    assert_allclose([dropped.min(), dropped.max()], [low, high], rtol=0.01, atol=1e-4)


def test_counts_in_one_cell_may_stand_between_commas_in_brackets():
    frame = pd.DataFrame({"expert_counts": ["[2, 6, 4, 4]", "2,6,4,4"], "top_k": 2})
    assert loads(router.read(frame, "x.csv").table) == [[2, 6, 4, 4]] * 2


def test_a_layer_whose_last_experts_got_nothing_still_has_them():
    frame = pd.DataFrame({"layer": [0, 0, 0, 1, 1], "expert": [0, 1, 3, 0, 1], "count": [1, 2, 5, 4, 4], "top_k": 1})
    assert loads(router.read(frame, "x.csv").table) == [[1, 2, 0, 5], [4, 4, 0, 0]]


def test_an_expert_that_comes_twice_in_a_group_is_said_to_be_added():
    frame = pd.DataFrame({"expert": [0, 1, 0, 1], "count": [1, 2, 3, 4], "top_k": 1})
    found = router.read(frame, "x.csv")
    assert loads(found.table) == [[4, 6]] and found.problems[0].startswith("2 rows name an expert again")


def test_a_batch_or_a_time_tells_groups_apart_and_names_no_setting():
    frame = pd.DataFrame({"timestamp": ["10:01", "10:01", "10:02", "10:02"], "batch": [0, 0, 1, 1], "top_k": 1})
    found = router.read(frame.assign(expert=[0, 1, 0, 1], count=[5, 3, 4, 4]), "x.csv")
    assert loads(found.table) == [[5, 3], [4, 4]] and set(found.table["setting"]) == {"x.csv"}


def test_a_text_with_another_value_in_every_row_names_no_setting():
    frame = pd.DataFrame({"prompt": [f"p{row}" for row in range(500)], "expert_0": 5, "expert_1": 3, "top_k": 1})
    found = router.read(frame, "x.csv")
    assert set(found.table["setting"]) == {"x.csv"} and "Column prompt has 500 values" in found.problems[0]


def test_one_expert_has_one_column():
    frame = pd.DataFrame({"expert_0_count": [5], "expert_1_count": [3], "expert_0_load": [0.6], "expert_1_load": [0.4]})
    found = router.read(frame.assign(top_k=1), "x.csv")
    assert loads(found.table) == [[5, 3]] and "the first was read, such as expert_0_count" in found.problems[0]


def test_models_of_other_sizes_are_other_settings():
    frame = pd.DataFrame({"expert_counts": ["4 4", "2 2 2 2"], "top_k": 1})
    assert router.read(frame, "x.csv").table["setting"].tolist() == ["x.csv, 2 experts", "x.csv, 4 experts"]


def test_many_sizes_are_summed_up_within_a_tenth():
    frame = pd.DataFrame({"expert_0": range(1000, 3000), "expert_1": 1000, "top_k": 1})
    found = router.read(frame, "x.csv").summary((1.25,))
    assert len(found) < 20 and found["groups"].sum() == 2000
    assert found["routed_tokens"].is_monotonic_increasing


@pytest.mark.parametrize(
    "frame, message",
    [
        (pd.DataFrame({"expert_0": [0.25], "expert_1": [0.75]}), "must be numbers of tokens, not shares"),
        (pd.DataFrame({"expert_0": [1e300], "expert_1": [3]}), "every expert's load must be a number"),
        (pd.DataFrame({"expert": [0, 0], "count": [5, 3], "layer": [0, 1]}), "a layer must have at least two experts"),
        (pd.DataFrame({"expert_counts": ["4 4"], "num_experts": 4, "top_k": 1}), "there must be num_experts loads"),
        (pd.DataFrame({"expert_0": [5], "expert_1": [4], "routed_tokens": 8}), "none cut at a capacity"),
    ],
)
def test_loads_that_are_none_are_refused_with_the_reason(frame, message):
    with pytest.raises(SweepError, match=message):
        router.read(frame, "x.csv")
