"""Which settings make grids of their own, and the whole way from a table of final losses to its groups."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bsmath import logs, sweeps
from bsmath.logs import rate_groups
from bsmath.rate_grid import RateGrid

BATCHES, RATES = 65536 * 2 ** np.arange(4), 1e-4 * 2.0 ** np.arange(5)
LARGE = 1.5e-3


def loss(batch, rate):
    """A valley around a best rate that grows with the square root of the batch."""
    return 3 + 0.05 * np.log(rate / (4e-4 * np.sqrt(batch / 262144))) ** 2


def table(header, row, values=(0,)) -> bytes:
    """One row for each batch, rate and value."""
    rows = [row(batch, rate, value) for value in values for batch in BATCHES for rate in RATES]
    return "\n".join([header, *rows]).encode()


def grid(data: bytes):
    log = logs.read(data, "grid.csv")
    assert log is not None and log.kind == "grid"
    assert all(log.record.fit(group).best == "square_root" for group in log.record.groups)
    return log.record


def kind(data: bytes) -> str | None:
    log = logs.read(data, "grid.csv")
    return log and log.kind


@pytest.mark.parametrize("lost", ["nan", "10.8"])
def test_a_run_that_diverged_to_a_finite_loss_leaves_the_law_as_it_is(lost):
    data = table("batch_tokens,lr,loss", lambda b, r, v: f"{b},{r:.6g},{lost if r > LARGE else loss(b, r)}")
    assert grid(data).fit("").exponent[0] == pytest.approx(0.5, abs=1e-3)


@pytest.mark.parametrize(
    "header, ends",
    [
        ("steps", lambda batch: f"{2**30 // batch}"),
        ("tokens", lambda batch: "1e9"),
        ("_step", lambda batch: f"{2**30 // batch}"),
        ("total_steps,total_tokens", lambda batch: f"{2**30 // batch},1073741824"),
    ],
)
def test_the_length_of_the_runs_is_no_result(header, ends):
    data = table(f"batch_tokens,lr,val_loss,{header}", lambda b, r, v: f"{b},{r:.6g},{loss(b, r)},{ends(b)}")
    assert grid(data).groups == [""]


def test_a_tracker_s_table_of_runs_is_a_grid_without_the_runs_that_stopped_early():
    header = "Name,State,Runtime,batch_size,learning_rate,train/loss,val/loss,_step"
    data = table(header, lambda b, r, v: f"run,finished,100,{b // 1024},{r:.6g},2.5,{loss(b, r)},5000")
    data = data.replace(b"run,finished,100,64,0.0001,2.5", b"run,crashed,9,64,0.0001,2.5").replace(b",5000", b",900", 1)
    found = grid(data)
    assert len(found.table) == 19 and found.value == "val/loss" and found.batch_unit == "sequences"
    assert "1 of 20 runs stopped early and are left out." in found.problems


@pytest.mark.parametrize(
    "header, row",
    [
        ("steps_to_target", lambda b, r: 1000 * loss(b, r)),
        ("steps", lambda b, r: 1000 * loss(b, r)),
        ("steps", lambda b, r: 100 * np.ceil(10 * loss(b, r) ** 3)),
        ("tokens_to_target", lambda b, r: 1e9),
        ("tokens_per_s", lambda b, r: 1e5),
    ],
)
def test_steps_that_vary_over_the_rates_or_a_throughput_are_a_sweep(header, row):
    data = table(f"batch_tokens,lr,val_loss,{header}", lambda b, r, v: f"{b},{r:.6g},{loss(b, r)},{row(b, r):.0f}")
    assert kind(data) is None
    assert sweeps.read(data, "grid.csv").table["tokens_per_step"].nunique() == 4


def test_steps_of_seeds_that_arrive_at_the_same_evaluation_are_a_sweep():
    data = table(
        "batch_tokens,lr,seed,val_loss,steps",
        lambda b, r, v: f"{b},{r:.6g},{v},3.0{v},{500 * (1 + (v + int(1e5 * r)) % 3)}",
        (1, 2, 3),
    )
    assert kind(data) is None


def test_lengths_of_whole_budgets_are_grids():
    tokens = table("batch_tokens,lr,loss,tokens", lambda b, r, v: f"{b},{r:.6g},{loss(b, r)},{v}", (1e9, 2e9))
    steps = table("batch_tokens,lr,loss,steps", lambda b, r, v: f"{b},{r:.6g},{loss(b, r)},{v / b:.0f}", (1e9, 2e9))
    for data in (tokens, steps):
        assert grid(data).groups == ["tokens 1B", "tokens 2B"]


def test_settings_that_differ_at_one_batch_and_rate_are_grids():
    values = [("7b", 0.1, "adamw"), ("7b", "0.20", "adamw"), ("", 0.2, "adamw"), ("7b", 0.2, "muon")]
    header = "model,batch_tokens,lr,val_loss,weight_decay,optimizer,host,seed"
    data = table(header, lambda b, r, v: f"{v[0]},{b},{r:.6g},{loss(b, r)},{v[1]},{v[2]},h{v[2]},1", values)
    assert set(grid(data).groups) == {
        "7b, weight_decay 0.1, optimizer adamw",
        "7b, weight_decay 0.2, optimizer adamw",
        "weight_decay 0.2, optimizer adamw",
        "7b, weight_decay 0.2, optimizer muon",
    }
    only = table("batch_tokens,lr,loss,weight_decay", lambda b, r, v: f"{b},{r:.6g},{loss(b, r)},{v}", (0.1, ""))
    assert set(grid(only).groups) == {"weight_decay 0.1", "no weight_decay"}


def test_seeds_and_measurements_are_averaged_and_other_columns_are_named():
    measured = np.random.default_rng(0)
    header = "batch_tokens,lr,val_loss,seed,host,hellaswag"
    data = table(header, lambda b, r, v: f"{b},{r:.6g},{loss(b, r)},{v},h{v},{measured.random():.4f}", (1, 2, 3))
    assert grid(data).groups == [""] and grid(data).problems == ()
    devices = table("batch_tokens,lr,loss,gpus", lambda b, r, v: f"{b},{r:.6g},{loss(b, r)},{v}", (8, 16))
    assert grid(devices).groups == [""]
    assert grid(devices).problems == ("Runs at one batch and rate that differ in 'gpus' are averaged.",)


@pytest.mark.parametrize(
    "header, row, unit, said",
    [
        ("micro_batch,accum,n_gpus,seq_len", lambda b: f"4,{b // 32768},8,1024", "tokens", ""),
        ("micro_batch", lambda b: f"{b // 1024}", "sequences", "Assumed: 1 (On how many replicas"),
        ("batch_size", lambda b: f"{b // 1024}k", "tokens", "Assumed: tokens (Does 'batch_size' count"),
        ("batch_size,gpus", lambda b: f"{b // 1024},8", "sequences", "Assumed: global (Is 'batch_size' the batch of"),
        ("name", lambda b: f"bs{b // 1024}-x", "sequences", "Batch_size is in no column but in every name"),
    ],
)
def test_the_batch_is_what_the_sweeps_read(header, row, unit, said):
    found = grid(table(f"{header},lr,val_loss", lambda b, r, v: f"{row(b)},{r:.6g},{loss(b, r)}"))
    assert found.batch_unit == unit and len(found.table) == 20
    assert "\n".join(found.problems).startswith(said) and bool(found.problems) == bool(said)
    if header.startswith("micro_batch,"):
        assert sorted(set(found.table["tokens_per_step"])) == BATCHES.tolist()


def test_batch_and_rate_are_read_from_the_names_of_the_runs():
    found = grid(table("run,val_loss", lambda b, r, v: f"bs{b // 1024}-lr{r:.3g},{loss(b, r)}"))
    assert sorted(set(found.table["learning_rate"])) == pytest.approx(RATES)


def test_a_blank_model_is_a_group_of_its_own():
    data = table("model,batch_tokens,lr,loss", lambda b, r, v: f"{v},{b},{r:.6g},{loss(b, r)}", ("", "7b"))
    assert set(grid(data).groups) == {"", "7b"}
    assert grid(table("model,batch_tokens,lr,loss", lambda b, r, v: f",{b},{r:.6g},{loss(b, r)}")).groups == [""]


def test_what_is_measured_anew_in_every_row_and_what_one_rate_has_alone_are_no_settings():
    batch, rate = np.repeat([1.0, 2.0], 8), np.tile(np.repeat([1.0, 2.0, 3.0, 4.0], 2), 2)
    frame = pd.DataFrame({"wd": ["a", "b"] * 8, "measured": [str(n) for n in range(16)], "by rate": rate.astype(str)})
    key = np.zeros(16, int)
    assert rate_groups.telling(frame, batch, rate, key) == ["wd"]
    assert rate_groups.mixed(frame, batch, rate, key) == ["wd"]


CELL = st.sampled_from(["", "nan", "inf", "-1", "0", "1", "3e-4", "1e308", "1e-308", "1e400", "64k", "3.1", "x", "2"])


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.tuples(CELL, CELL, CELL, CELL, CELL), max_size=12), st.sampled_from(["steps", "seed", "model", "wd"])
)
@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_any_table_is_a_grid_or_nothing_or_refused_in_a_sentence(rows, other):
    lines = [f"batch_tokens,lr,val_loss,{other},note", *(",".join(row) for row in rows)]
    try:
        log = logs.read("\n".join(lines).encode(), "any.csv")
    except sweeps.SweepError:
        return
    if log is not None and log.kind == "grid":
        assert log.record.groups
        for group in log.record.groups:
            assert log.record.fit(group) is not None


VALUE = st.sampled_from([3.0, 3.01, 3.1, 4.5, 10.8, 1e-308, 1e300, 1.7e308, np.nan, np.inf])


@settings(max_examples=150, deadline=None)
@given(
    st.lists(VALUE, min_size=20, max_size=20), st.sampled_from([1e-300, 1e-4, 1e290]), st.sampled_from([1.0001, 2, 1e4])
)
@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_any_values_of_a_whole_grid_are_fitted_or_refused_in_a_sentence(values, least, factor):
    batch, rate = np.repeat(BATCHES, 5), np.tile(least * float(factor) ** np.arange(5), 4)
    runs = pd.DataFrame({"tokens_per_step": batch, "learning_rate": rate, "value": values, "group": ""})
    found = RateGrid(name="any", table=runs, value="loss", batch_unit="tokens").fit("")
    assert isinstance(found if isinstance(found, str) else found.verdict, str)
