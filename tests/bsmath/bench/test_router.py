"""Expert loads of a trained router: what is counted, what balancing changes, that it can be continued and shared out."""

from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the harness's own tests need requirements-bench.txt")

from bsmath import expert_counts, logs  # noqa: E402
from bsmath.bench import router  # noqa: E402
from bsmath.bench.settings import Router  # noqa: E402
from tests.bsmath.bench import alone  # noqa: E402
from tests.bsmath.bench.alone import ALONE, TEXT, as_text  # noqa: E402

pytestmark = pytest.mark.torch
SMALL = Router(
    global_batch_size=4,
    learning_rate=1e-2,
    steps=4,
    num_experts=4,
    top_k=2,
    balancing_losses=(0.0, 0.5),
    routed_tokens_list=(16, 64),
    groups=2,
    seq_len=16,
    layers=2,
    width=16,
    heads=2,
    lr_warmup_steps=2,
    eval_sequences=8,
    device="cpu",
)
rows = partial(alone.rows, router)
ROOT = Path(__file__).parents[3]


def counts(row: dict) -> np.ndarray:
    return np.array(row["expert_counts"].split(), int)


def test_there_is_one_row_a_model_layer_size_and_group_whose_counts_are_all_picks():
    found = [row for row, _ in rows(SMALL)]
    keys = [(row["balancing_loss"], row["routed_tokens"], row["group"], row["layer"]) for row in found]
    assert keys == [(w, m, g, layer) for w in (0.0, 0.5) for m in (16, 64) for g in (0, 1) for layer in (0, 1)]
    assert all(tuple(row) == router.COLUMNS for row in found)
    assert all(counts(row).sum() == 2 * row["routed_tokens"] and len(counts(row)) == 4 for row in found)


def test_cv_and_dropped_share_are_those_of_the_counts():
    for row, _ in rows(replace(SMALL, balancing_losses=(0.0,))):
        assert row["load_cv"] == pytest.approx(counts(row).std() / counts(row).mean())
        capacity = np.ceil(1.25 * row["routed_tokens"] * 2 / 4)
        over = np.maximum(counts(row) - capacity, 0).sum()
        assert row["dropped_fraction"] == pytest.approx(over / (2 * row["routed_tokens"]))


def test_a_group_counted_in_several_passes_is_the_whole_group(monkeypatch):
    run = router.trained(SMALL, ALONE, TEXT, 0.0, 0)
    whole = router.loads(run, 64, 0)
    monkeypatch.setattr(router, "FORWARDED", 3)
    assert (router.loads(run, 64, 0) == whole).all()


def test_groups_are_other_tokens_and_every_model_routes_the_same_ones():
    run = router.trained(SMALL, ALONE, TEXT, 0.0, 0)
    seen = []
    run.model.chosen = lambda part: seen.append(part.tolist()) or torch.zeros(2, 1, 1, dtype=int)
    for group in (0, 1, 0):
        router.loads(run, 16, group)
    assert seen[0] != seen[1] and seen[0] == seen[2]


def test_the_balancing_loss_evens_the_loads_out_and_is_not_in_the_held_out_loss():
    settings = replace(SMALL, steps=40, routed_tokens_list=(512,), balancing_losses=(0.0, 1.0), global_batch_size=16)
    found = [row for row, _ in rows(settings)]
    mean = {
        weight: np.mean([row["load_cv"] for row in found if row["balancing_loss"] == weight]) for weight in (0.0, 1.0)
    }
    assert mean[1.0] < 0.7 * mean[0.0]
    losses = {row["balancing_loss"]: row["held_out_loss"] for row in found}
    assert abs(losses[1.0] - losses[0.0]) < 0.5  # the balancing term alone is 2, one a layer


def test_models_of_other_seeds_are_other_models():
    found = [row for row, _ in rows(replace(SMALL, seeds=2, balancing_losses=(0.0,)))]
    assert len({row["held_out_loss"] for row in found}) == 2 and {row["seed"] for row in found} == {0, 1}


def test_rows_of_an_earlier_run_are_kept_and_the_others_come_out_the_same():
    settings = replace(SMALL, balancing_losses=(1 / 300, 0.5))
    whole = rows(settings)
    for done in (1, 8, 11, 16):
        assert rows(settings, [as_text(row) for row, _ in whole[:done]]) == whole[done:]


def test_the_parameters_in_the_file_are_those_of_the_model():
    run = router.trained(replace(SMALL, steps=1), ALONE, TEXT, 0.0, 0)
    assert router.num_params(SMALL) == sum(weight.numel() for weight in run.model.parameters())


def test_the_notes_say_over_what_the_balancing_loss_is_taken():
    said = "\n".join(router.notes(SMALL))
    assert "4 in every layer, each token to 2" in said and "over the tokens that a process forwards at once" in said


def test_the_printed_line_names_model_layer_and_unevenness():
    row = {"balancing_loss": 0.01, "seed": 0, "layer": 1, "routed_tokens": 64, "load_cv": 0.5, "dropped_fraction": 0.1}
    assert router.line(row) == "balancing=0.01  seed=0  layer=1  routed=    64  CV=0.500  dropped=10.0%"


OPTIONS = (
    "router --global-batch-size 4 --steps 3 --num-experts 4 --balancing-losses 0 --routed-tokens 16,64 --groups 2 --seq-len 16 "
    "--layers 1 --width 16 --eval-sequences 8 --device cpu --threads 1"
).split()


def test_two_processes_train_the_model_of_one_where_nothing_balances_and_the_file_is_read_as_loads(tmp_path):
    single, shared = (alone.in_processes(n, OPTIONS, tmp_path / f"{n}.csv") for n in (1, 2))
    assert len(single) == len(shared) == 4
    for one, other in zip(single, shared, strict=True):
        assert float(one["held_out_loss"]) == pytest.approx(float(other["held_out_loss"]), rel=1e-4)
        assert np.abs(counts(one) - counts(other)).sum() <= 4  # a tie may fall either way
    found = logs.read((tmp_path / "1.csv").read_bytes(), "1.csv")
    assert found.kind == "router" and found.record.problems == ()
    cvs = [float(expert_counts.load_cv(one)) for one in found.record.table["counts"]]
    assert cvs == pytest.approx([float(row["load_cv"]) for row in single], rel=1e-6)
