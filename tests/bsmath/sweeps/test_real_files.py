"""Published measurements, read in place; the folder is not part of the project."""

from pathlib import Path

import pytest

from bsmath import sweeps

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
    zeros = [problem for problem in sweep.problems if problem.column == "steps_per_s"]
    assert len(zeros) == 4 and all(problem.what == "'0' is not a positive number" for problem in zeros)
    assert "LM · v100 · 1 GPU" in sweep.series
    assert [question.key for question in sweep.questions] == ["seq_len"]


def test_llm_foundry_is_told_apart_by_model_hardware_precision_and_length():
    sweep = read(DATA / "2_throughput" / "mosaicml_llm-foundry_train_benchmarks.csv")
    assert len(sweep.table) == 216 and not sweep.questions
    assert "7b · h100_80gb · amp_bf16 · seq 2048" in sweep.series
    assert any("confounded: # GPUs" in problem.what for problem in sweep.problems)
    row = sweep.table.set_index("row").loc[2]  # 70b on 512 H100: 515,636 tokens/s at 8,388,608 tokens
    assert (row["tokens_per_step"], row["tokens_per_second"], row["num_devices"]) == (8_388_608, 515_636, 512)


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


@pytest.mark.parametrize("path", sorted(DATA.glob("*/*.*")) + sorted(DATA.glob("*/*/*.*")), ids=lambda path: path.name)
def test_no_real_file_raises_anything_but_one_sentence(path):
    try:
        read(path)
    except sweeps.SweepError as error:
        assert "must" in str(error) and "\n" not in str(error) and len(str(error)) < 900
