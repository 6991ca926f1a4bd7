"""Every file of the public data beside the project: what it is read as, with values that were looked up in the file by hand, or the
sentence with which it is refused. No file is left without an expectation."""

import json
from pathlib import Path

import pandas as pd
import pytest
from numpy.testing import assert_allclose

from bsmath import intake, sweeps
from bsmath.logs import Log
from bsmath.logs.curves import LossCurves
from bsmath.sweeps import Sweep, SweepError

DATA = Path(__file__).parents[3] / "shared" / "data"
FILES = sorted(path for path in DATA.rglob("*") if path.is_file() and path.name not in ("README.md", "manifest.csv"))

pytestmark = pytest.mark.skipif(not FILES, reason="the public data are not beside this checkout")

# Rows of the table, batch sizes, its unit, whether it has rates, whether it has steps.
SWEEPS = {
    "hlzhang109_cbs_steps_to_goal.csv": (45, 9, "tokens", False, True),
    "gavel_isolated_throughputs.csv": (476, 18, "sequences", True, False),
    "gavel_physical_cluster_throughputs.json": (476, 18, "sequences", True, False),
    "mosaicml_llm-foundry_train_benchmarks.csv": (216, 39, "tokens", True, False),
    "mosaicml_llm-foundry_train_benchmarks.md": (216, 39, "tokens", True, False),
    "pollux_bert_placements.csv": (540, 52, "sequences", True, False),
    "pollux_bert_scalability.csv": (180, 49, "sequences", True, False),
    "pollux_cifar10_placements.csv": (1183, 156, "sequences", True, False),
    "pollux_cifar10_scalability.csv": (329, 113, "sequences", True, False),
    "pollux_imagenet_placements.csv": (864, 115, "sequences", True, False),
    "pollux_imagenet_scalability.csv": (288, 105, "sequences", True, False),
    "pollux_ncf_placements.csv": (1661, 226, "sequences", True, False),
    "pollux_ncf_scalability.csv": (458, 159, "sequences", True, False),
    "caikit_llama2-7b_tables.md": (5, 5, "tokens", True, False),
    "fms-fsdp_tables.md": (4, 1, "sequences", True, False),
}

# Kind of loss, number of losses, first and last step and loss.
RUNS = {
    "hf_trainer_state_aigoncharov.json": None,
    "tinytalk_train_loss.csv": ("training", 47, (1400, 3.5942), None),
    "tinytalk_val_loss.csv": ("validation", 47, (1400, 3.7151), None),
    "torchtitan_losses_llama3_cuda.txt": ("training", 100, None, None),
    "torchtitan_losses_qwen3_moe_cuda.txt": ("training", 100, None, None),
}

REFUSED = {
    "torchtitan_llama3-8b_h200_202506.md": "must have a batch column.*TPS/GPU",
    "torchtitan_llama3_h100_202412.md": "must have a batch column.*TPS/GPU",
    "liukefan821_eval_summary.csv": "must have a batch column.*retained",
    "liukefan821_throughput.csv": "must have a batch column.*tokens_per_s",
    "eleuther_cookbook_transformer.out": "must hold a table with a header line",
    "lucas_ablation_summary.csv": "must have a result column.*final loss",
    "lucas_metrics.csv": "must have a result column.*final loss",
    "wandb_runs_table_lucas_wandb_export.csv": "must have a result column.*final loss",
}


# Batches and rates, the unit of the batch, the law with the least AICc and the exponent over the whole range.
GRIDS = {"martin-marek_lm11m_best_per_batch.csv": (7, 7, "sequences", "surge", 0.09)}


def read(path: Path):
    found = intake.read_file(path.read_bytes(), path.name)
    assert len(found) == 1
    return found[0]


def named(wanted) -> list[Path]:
    return [path for path in FILES if path.name in wanted]


@pytest.mark.parametrize("path", named(SWEEPS), ids=lambda path: path.name)
def test_a_sweep_has_its_rows_batches_and_kinds_of_results(path):
    found = read(path)
    assert isinstance(found, Sweep)
    told = (
        len(found.table),
        found.table["tokens_per_step"].nunique(),
        found.batch_unit,
        found.has_throughput,
        found.has_steps,
    )
    assert told == SWEEPS[path.name]


@pytest.mark.parametrize("path", named(REFUSED), ids=lambda path: path.name)
def test_a_table_that_is_no_sweep_is_refused_with_what_it_lacks_and_holds(path):
    with pytest.raises(SweepError, match=REFUSED[path.name]):
        read(path)


@pytest.mark.parametrize("path", named(GRIDS), ids=lambda path: path.name)
def test_best_rates_are_a_grid_of_rates(path):
    found = read(path)
    batches, rates, unit, law, exponent = GRIDS[path.name]
    assert found.kind == "grid"
    table, fit = found.record.table, found.record.fit("")
    assert (table["tokens_per_step"].nunique(), table["learning_rate"].nunique()) == (batches, rates)
    assert (found.record.batch_unit, fit.best, round(fit.exponent[0], 2)) == (unit, law, exponent)


@pytest.mark.parametrize("path", [path for path in FILES if "mlperf_rcp" in path.parts], ids=lambda path: path.name)
def test_a_reference_point_of_mlperf_gives_one_row_a_seed_at_its_batch(path):
    entries = [entry for entry in json.loads(path.read_text()).values() if "BS" in entry]
    results = {key for entry in entries for key in entry if "to converge" in key.lower()}
    seeds = [(entry["BS"], seed) for entry in entries for key in results if key in entry for seed in entry[key]]
    found = read(path)
    assert sorted(found.table["tokens_per_step"]) == sorted(float(size) for size, _ in seeds)
    unit = next((question.default for question in found.questions if question.key == "target_unit"), None)
    if unit == "samples":
        by_hand = pd.DataFrame(seeds, columns=["batch", "samples"]).astype(float)
        steps = (by_hand["samples"] / by_hand["batch"]).groupby(by_hand["batch"]).median()
        assert_allclose(found.table.groupby("tokens_per_step")["steps"].median(), steps)


@pytest.mark.parametrize(
    "path", [path for path in FILES if path.parent.name == "4_noise_scale"], ids=lambda path: path.name
)
def test_a_noise_log_of_pollux_keeps_both_parts_of_every_row(path):
    found = read(path)
    table = pd.read_csv(path)
    assert isinstance(found, Log) and found.kind == "noise" and found.record.has_parts
    assert len(found.record.table) == len(table)


@pytest.mark.parametrize("path", [path for path in FILES if path.suffix == ".jsonl"], ids=lambda path: path.name)
def test_a_run_of_the_grid_of_batch_and_rate_says_its_batch_rate_losses_and_speed(path):
    found = read(path)
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    assert isinstance(found, LossCurves) and found.losses == ("validation", "training")
    assert found.batches()[0].tolist() == [256 * rows[0]["batch_size"]]
    losses = [(row["step"], row["val_loss"]) for row in rows if row.get("val_loss") is not None]
    own = found.points.dropna(subset="validation")
    assert list(zip(own["step"], own["validation"], strict=True))[-1] == losses[-1]
    seconds = rows[-1]["wall_time_sec"] - rows[0]["wall_time_sec"]
    usual = (rows[-1]["tokens_seen"] - rows[0]["tokens_seen"]) / seconds
    assert_allclose(
        found.throughput()["tokens_per_second"], usual, rtol=0.35
    )  # a median over steps, not the mean of a run


@pytest.mark.parametrize("path", named(RUNS), ids=lambda path: path.name)
def test_a_log_of_a_run_has_its_losses(path):
    found = read(path)
    assert isinstance(found, LossCurves)
    if RUNS[path.name]:
        kind, count, first, _ = RUNS[path.name]
        own = found.points.dropna(subset=kind)
        assert len(own) == count
        assert first is None or tuple(own.iloc[0][["step", kind]]) == first


def test_the_loads_of_mixtral_and_olmoe_are_a_router_log():
    (path,) = named({"olmoe_mixtral_expert_counts.csv"}) or [None]
    found = read(path)
    assert isinstance(found, Log) and found.kind == "router"


def test_no_file_is_without_an_expectation():
    trainers = [
        path
        for path in FILES
        if path.parent.name == "6_import_formats" and path.suffix in (".log", ".out", ".txt", ".json")
    ]
    patterns = [
        path
        for path in FILES
        if "mlperf_rcp" in path.parts or path.parent.name == "4_noise_scale" or path.suffix == ".jsonl"
    ]
    known = {*SWEEPS, *RUNS, *REFUSED, *GRIDS, "olmoe_mixtral_expert_counts.csv"}
    left = [path.name for path in FILES if path not in patterns and path not in trainers and path.name not in known]
    assert not left


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_file_is_read_or_refused_in_one_short_sentence_that_names_it(path):
    try:
        found = read(path)
    except SweepError as error:
        assert str(error).startswith(path.name[:20]) and len(str(error)) < 700 and "\n" not in str(error)
        return
    if isinstance(found, Sweep):
        assert len(sweeps.aggregate(found, found.series[0], "tokens_per_second" if found.has_throughput else "steps"))
