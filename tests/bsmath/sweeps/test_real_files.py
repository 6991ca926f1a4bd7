"""Published measurements, read in place; the folder is not part of the project."""

from pathlib import Path

import pytest
from numpy.testing import assert_allclose

from bsmath import measured, sweeps

DATA = Path(__file__).parents[4] / "shared" / "data"
THROUGHPUT = sorted((DATA / "2_throughput").glob("*.csv"))


def read(path, **answers):
    if not path.exists():
        pytest.skip(f"the public data {path.name} are not on this machine")
    return sweeps.read(path.read_bytes(), path.name, answers)


def batches(sweep):
    return sweep.table.groupby("series", sort=False)["tokens_per_step"].nunique()


def test_hlzhang109_gives_five_models_with_nine_batches_each():
    sweep = read(DATA / "1_hyperbola" / "hlzhang109_cbs_steps_to_goal.csv")
    assert sweep.series == ("85M", "151M-ablation", "302M", "604M", "1.2B")
    for series in sweep.series:
        points = sweeps.aggregate(sweep, series, "steps")
        assert points["tokens_per_step"].tolist() == [32_768 * 2**i for i in range(9)]
    assert sweeps.aggregate(sweep, "85M", "steps")["median"].tolist()[:2] == [46_000, 23_000]
    assert [question.key for question in sweep.questions] == ["steps_column"]
    assert not sweep.problems


@pytest.mark.parametrize("path", THROUGHPUT, ids=lambda path: path.name)
def test_every_throughput_table_reads_with_at_most_one_question(path):
    sweep = read(path)
    assert len(sweep.questions) <= 1
    assert sweep.has_throughput and (batches(sweep) >= 3).any()


def test_gavel_names_its_zeros_and_tells_hardware_workload_and_devices_apart():
    sweep = read(DATA / "2_throughput" / "gavel_isolated_throughputs.csv")
    said = [problem for problem in sweep.problems if problem.column == "steps_per_s"]
    assert [problem.what for problem in said[:-1]] == 4 * ["'0' is not a positive number"]
    assert said[-1].action == "taken for the sum of the replicas' steps"
    assert "LM · v100 · 1 GPU" in sweep.series
    assert [question.key for question in sweep.questions] == ["seq_len"]


def test_llm_foundry_is_told_apart_by_model_hardware_precision_and_length():
    sweep = read(DATA / "2_throughput" / "mosaicml_llm-foundry_train_benchmarks.csv")
    assert len(sweep.table) == 216 and not sweep.questions
    assert "7b · h100_80gb · amp_bf16 · seq 2048" in sweep.series
    assert any("confounded: # GPUs" in problem.what for problem in sweep.problems)
    row = sweep.table.set_index("row").loc[2]  # 70b on 512 H100: 515,636 tokens/s at 8,388,608 tokens
    assert (row["tokens_per_step"], row["tokens_per_second"], row["num_devices"]) == (8_388_608, 515_636, 512)
    assert (row["micro_batch_size"], row["grad_accum_steps"], row["num_params"]) == (8, 1, 64_862_437_376)
    row = sweep.table.set_index("row").loc[109]  # 1b, seq 16,384, 8 A100: 2 x 4 x 8 = 64 sequences
    assert (row["micro_batch_size"], row["grad_accum_steps"], row["num_devices"]) == (2, 4, 8)
    assert (row["tokens_per_step"], row["tokens_per_second"]) == (64 * 16_384, 79_650)


def test_llm_foundry_has_no_fit_where_its_devices_change():
    sweep = read(DATA / "2_throughput" / "mosaicml_llm-foundry_train_benchmarks.csv")
    found = measured.measurement(sweep, "7b · h100_80gb · amp_bf16 · seq 2048", "tokens_per_second")
    assert found.fit is None and "number of devices changes with the batch, from 8 to 512" in found.verdict


def test_llm_foundry_reads_the_same_from_its_markdown():
    table = read(DATA / "2_throughput" / "tables" / "mosaicml_llm-foundry_train_benchmarks.md").table
    other = read(DATA / "2_throughput" / "mosaicml_llm-foundry_train_benchmarks.csv").table
    assert table.drop(columns="row").equals(other.drop(columns="row"))


@pytest.mark.parametrize("model, least", [("bert", 5), ("imagenet", 8), ("cifar10", 10), ("ncf", 13)])
def test_pollux_placements_are_series_of_local_batch_times_replicas(model, least):
    sweep = read(DATA / "2_throughput" / f"pollux_{model}_placements.csv")
    assert len(sweep.series) == 108 and batches(sweep).min() == least
    four = sweep.table[sweep.table["series"] == "placement 44"]
    assert (four["num_devices"] == 8).all()
    assert sweep.batch_unit == "sequences" and not sweep.problems


def test_pollux_scalability_is_told_apart_by_replicas_and_nodes():
    sweep = read(DATA / "2_throughput" / "pollux_bert_scalability.csv")
    assert len(sweep.series) == 36 and sweep.series[0] == "6 replicas · 6 nodes"


def test_gavel_adds_up_the_steps_of_its_workers_each_with_its_own_batch():
    """Its profiler sums steps/s over the workers, and each loads the batch in the job's name: 5 sequences on 8 GPUs are 40
    (https://github.com/stanford-futuredata/gavel, scheduler/scripts/profiling/measure_throughput.py)."""
    sweep = read(DATA / "2_throughput" / "gavel_isolated_throughputs.csv")
    row = sweep.table.set_index("row").loc[80]  # k80,LM,5,8,76.86310558968589
    assert_allclose(row[["tokens_per_step", "num_devices"]].tolist(), [40, 8])
    assert_allclose(row[["tokens_per_second", "step_time"]].tolist(), [5 * 76.86310558968589, 8 / 76.86310558968589])


def test_gavel_s_json_gives_the_same_table_and_questions_as_its_csv():
    sweep = read(DATA / "2_throughput" / "gavel_physical_cluster_throughputs.json")
    other = read(DATA / "2_throughput" / "gavel_isolated_throughputs.csv")
    assert sweep.table.drop(columns="row").equals(other.table.drop(columns="row"))
    assert sweep.questions == other.questions


@pytest.mark.parametrize("name", ["gavel_isolated_throughputs.csv", "gavel_physical_cluster_throughputs.json"])
def test_gavel_counts_the_steps_of_all_replicas_and_is_read_alike_from_both_files(name):
    table = read(DATA / "2_throughput" / name, seq_len=1).table.set_index(["series", "tokens_per_step"])
    # k80, ResNet-18, batch 16: 4.907044539 steps/s on one GPU; on two 8.758230832, each replica's own steps added up.
    assert table.loc[("ResNet-18 · k80 · 1 GPU", 16), "tokens_per_second"] == pytest.approx(16 * 4.907044539)
    assert table.loc[("ResNet-18 · k80 · 2 GPUs", 32), "tokens_per_second"] == pytest.approx(16 * 8.758230832)


def test_gavel_leaves_out_jobs_that_share_a_device():
    sweep = read(DATA / "2_throughput" / "gavel_physical_cluster_throughputs.json", seq_len=1)
    assert any(problem.what == "10,338 rates are of two jobs that share a device" for problem in sweep.problems)
    assert len(sweep.series) == 102 and len(sweep.table) == 476


def test_pollux_rates_are_those_of_all_replicas_and_keep_their_micro_batch():
    sweep = read(DATA / "2_throughput" / "pollux_bert_scalability.csv", seq_len=1)
    row = sweep.table.set_index("row").loc[2]  # 6 replicas of 4 samples in 1.4923269 s
    assert (row["tokens_per_step"], row["num_devices"], row["micro_batch_size"]) == (24, 6, 4)
    assert row["tokens_per_second"] == pytest.approx(24 / 1.4923269003629684)


@pytest.mark.parametrize(
    "name, row, devices, local, step_time",
    [
        ("bert_placements", 527, 8, 4, 2.485883265733719),  # 44,4: two nodes of four GPUs
        ("cifar10_placements", 1153, 8, 32, 0.18453335762023926),
        ("imagenet_placements", 842, 8, 20, 0.5611525058746338),
        ("ncf_placements", 1621, 8, 32, 0.029491149054633247),
        ("bert_scalability", 17, 16, 4, 1.5666148960590363),  # 16,16,4: one GPU on each of 16 nodes
        ("cifar10_scalability", 35, 16, 32, 0.17200856208801268),
        ("imagenet_scalability", 26, 16, 20, 0.5385484218597412),
        ("ncf_scalability", 47, 16, 32, 0.034993314743041994),
    ],
)
def test_a_row_of_pollux_is_its_local_batch_on_each_device_in_one_step(name, row, devices, local, step_time):
    found = read(DATA / "2_throughput" / f"pollux_{name}.csv").table.set_index("row").loc[row]
    assert (found["num_devices"], found["micro_batch_size"]) == (devices, local)
    assert_allclose(found[["tokens_per_step", "step_time"]].tolist(), [devices * local, step_time])
    assert_allclose(found["tokens_per_second"], devices * local / step_time)


@pytest.mark.parametrize("path", THROUGHPUT, ids=lambda path: path.name)
def test_every_series_is_fitted_or_told_why_not(path):
    sweep = read(path)
    for series in sweep.series[:: max(len(sweep.series) // 12, 1)]:
        found = measured.measurement(sweep, series, "tokens_per_second")
        assert found.verdict and (found.fit is not None or len(found.points) < 2 or "devices" in found.verdict)


def test_fms_fsdp_gives_the_job_s_rate_from_that_of_one_of_its_128_gpus():
    sweep = read(DATA / "2_throughput" / "tables" / "fms-fsdp_tables.md", seq_len=1)
    assert {question.key for question in sweep.questions} == {"batch_scope", "throughput_column"}
    row = sweep.table.set_index("series").loc["7b"]  # 4,550 tokens/s of each GPU
    assert (row["tokens_per_second"], row["num_devices"]) == (4550 * 128, 128)
    assert row["tokens_per_step"] == 2 * 128 and sweep.series == ("7b", "13b", "34b", "70b")


def test_fms_fsdp_has_other_devices_in_its_other_column():
    path = DATA / "2_throughput" / "tables" / "fms-fsdp_tables.md"
    column = "Training throughput   tokens/sec/GPU   H100 96 GPUs with 800 Gbps"
    row = read(path, seq_len=4096, throughput_column=column).table.iloc[0]  # 2 sequences and 9,600 tokens/s of each
    assert (row["num_devices"], row["tokens_per_step"], row["tokens_per_second"]) == (96, 192 * 4096, 9600 * 96)


def test_caikit_says_that_its_columns_contradict_each_other():
    sweep = read(DATA / "2_throughput" / "tables" / "caikit_llama2-7b_tables.md", seq_len=1)
    assert sweep.table["tokens_per_second"].tolist() == [21.325, 21.333, 21.44, 20.939, 29.332]
    assert any("a step has" in problem.what for problem in sweep.problems)
    asked = read(DATA / "2_throughput" / "tables" / "caikit_llama2-7b_tables.md")
    row = asked.table.set_index("row").loc[5]  # 6 samples of at most 4,096 tokens, 21.325 samples/s on 1 x A100
    assert (row["num_devices"], row["tokens_per_step"]) == (1, 6 * 4096)
    assert_allclose(row["tokens_per_second"], 21.325 * 4096)
    assert any("the longest that a sample may be" in problem.what for problem in asked.problems)


@pytest.mark.parametrize("name", ["torchtitan_llama3-8b_h200_202506.md", "torchtitan_llama3_h100_202412.md"])
def test_torchtitan_s_tables_lack_a_batch_and_are_told_so(name):
    with pytest.raises(
        sweeps.SweepError, match="must have a batch column such as batch_tokens, .*got the columns .*TPS/GPU"
    ):
        read(DATA / "2_throughput" / "tables" / name)


@pytest.mark.parametrize("path", sorted(DATA.glob("*/*.*")) + sorted(DATA.glob("*/*/*.*")), ids=lambda path: path.name)
def test_no_real_file_raises_anything_but_one_sentence(path):
    try:
        read(path)
    except sweeps.SweepError as error:
        assert "must" in str(error) and "\n" not in str(error) and len(str(error)) < 900
