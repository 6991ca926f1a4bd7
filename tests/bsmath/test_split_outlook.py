from bsmath import memory_outlook, model_shape
from bsmath.outlook import outlook
from bsmath.scenario import Scenario
from bsmath.split_outlook import split_outlook

JOB = Scenario(
    num_params=8.03e9, architecture="llama_3_1_8b", seq_len=2048, micro_batch_size=1, data_parallel_size=64, zero_stage=1,
    accelerator="h100_sxm", mfu=0.4,
)  # fmt: skip


def split(scenario: Scenario, wanted: int):
    held = memory_outlook.outlook(scenario, model_shape.of(scenario))
    return split_outlook(scenario, outlook(scenario), held, wanted)


def test_every_split_makes_the_wanted_batch_with_all_devices_and_may_fit():
    table = split(JOB, 1024).table
    product = table["micro_batch_size"] * table["grad_accum_steps"] * table["data_parallel_size"]
    assert (product == 1024).all() and (table["data_parallel_size"] == 64).all()
    may = memory_outlook.outlook(JOB, model_shape.of(JOB)).largest_micro_batch[1]
    assert table["micro_batch_size"].max() <= may


def test_splits_stand_in_the_order_of_their_predicted_rates():
    table = split(JOB.change(micro_batch_time=0.02), 1024).table
    assert table["tokens_per_second"].is_monotonic_decreasing
    assert table["micro_batch_size"].iloc[0] == table["micro_batch_size"].max()
    fastest = JOB.change(micro_batch_time=0.02, micro_batch_size=int(table["micro_batch_size"][0]), grad_accum_steps=int(table["grad_accum_steps"][0]))  # fmt: skip
    assert outlook(fastest).tokens_per_second == table["tokens_per_second"][0]


def test_splits_without_any_cost_of_their_own_are_tied():
    assert split(Scenario(grad_accum_steps=4, micro_batch_size=12), 48).tied
    assert not split(JOB.change(micro_batch_time=0.02), 1024).tied


def test_a_batch_that_replicas_do_not_divide_is_answered_with_the_nearest():
    outcome = split(JOB, 1000)
    assert outcome.table.empty and outcome.nearest == (960, 1024)


def test_where_nothing_fits_there_is_neither_split_nor_neighbor():
    outcome = split(JOB.change(num_params=405e9, architecture="llama_3_1_405b", zero_stage=0), 1024)
    assert outcome.table.empty and outcome.nearest == (None, None)


def test_unknown_memory_allows_any_micro_batch():
    table = split(JOB.change(accelerator="1e15"), 1024).table
    assert table["micro_batch_size"].max() == 16
