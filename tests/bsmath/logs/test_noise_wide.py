"""Noise-scale logs with a column for each layer group, and batch sizes in comment lines."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from bsmath.logs import noise, noise_wide

STEPS = {"step": np.arange(1, 7), "tokens_small": 64, "tokens_big": 1_024, "loss": 2.5}
NORMS = {"grad_sq_norm_small": 2.0625, "grad_sq_norm_big": 1.06640625}


def wide(*groups: str, scale: float = 1.0) -> dict[str, float]:
    """Columns of both norms for each group; the first has |G|^2 = 1, each next one `scale` times that of the one before."""
    return {f"{group}/{name}": value * scale**i for i, group in enumerate(groups) for name, value in NORMS.items()}


def read(columns: dict, comments: tuple[str, ...] = ()) -> noise.NoiseLog:
    frame = pd.DataFrame(columns)
    assert noise.recognizes(list(frame.columns), comments)
    return noise.read(frame, "a.csv", comments)


def test_columns_of_layers_become_groups_that_add_up_to_all_parameters():
    log = read(STEPS | wide("layer3", "layer4", scale=2))
    assert log.groups == ("all", "layer3", "layer4") and log.unit == "tokens"
    assert log.estimate("layer4").grad_sq_norm == pytest.approx(2)
    assert (log.estimate().grad_sq_norm, log.estimate().trace) == pytest.approx((3, 3 * 68))
    assert log.table["loss"].unique().tolist() == [2.5]


def test_columns_of_the_whole_model_beside_those_of_layers_are_all_parameters():
    log = read(STEPS | wide("layer3", "layer4") | {name: 5 * value for name, value in NORMS.items()})
    assert log.estimate().grad_sq_norm == pytest.approx(5)


def test_columns_are_read_as_rows_of_groups_are():
    columns = read(STEPS | wide("mlp", "norm", scale=3))
    rows = [pd.DataFrame(STEPS | {name: value * 3**i for name, value in NORMS.items()}).assign(group=group)
            for i, group in enumerate(("mlp", "norm"))]  # fmt: skip
    pd.testing.assert_frame_equal(columns.table, noise.read(pd.concat(rows), "a.csv").table)


@pytest.mark.parametrize(
    "header, group",
    [
        ("layer3/grad_sq_norm_small", "layer3"),
        ("train/gns/ln_f/norm", "ln_f"),
        ("noise/attention/trace", "attention"),
        ("model/layers/3/trace", "layers/3"),
        ("noise/trace", "all"),
        ("noise_scale/b_small", "all"),
        ("run 7 - layer3/trace", "layer3"),
        ("trace", "all"),
    ],
)
def test_the_group_is_what_a_path_names_besides_its_prefixes(header, group):
    assert noise_wide.group_of(header) == group


def test_groups_have_batch_sizes_of_their_own_where_they_are_given():
    log = read(
        {"step": STEPS["step"]}
        | wide("a", "b")
        | {"tokens_small": 64, "tokens_big": 1_024, "b/tokens_small": 32, "b/tokens_big": 512}
    )
    assert log.estimate("b").noise_scale == pytest.approx(34)
    assert log.estimate("a").noise_scale == pytest.approx(68)


def test_a_table_of_nanogns_has_norms_of_single_sequences():
    """|G|^2 = 1 and tr(Sigma) = 68 sequences: norms sqrt(1 + 68/1024) and sqrt(1 + 68)."""
    columns = {"step": range(10, 70, 10), "tokens_processed": [163_840 * k for k in range(1, 7)]}
    for group in ("ln_f", "h0"):
        columns |= {f"train/gns/{group}/norm": 1.06640625**0.5, f"train/gns/{group}/pegn": 69**0.5}
        columns |= {f"train/gns/{group}/batch_size": 1_024}
    log = read(columns)
    assert log.groups == ("all", "ln_f", "h0") and (log.unit, log.place) == ("sequences", "tokens")
    assert log.estimate("ln_f").noise_scale == pytest.approx(68)


def test_only_the_first_of_several_runs_in_columns_is_read():
    columns = {f"{run} - {name}": value for run in ("one", "two") for name, value in wide("a", "b").items()}
    log = read(STEPS | columns)
    assert log.problems == ("Only 'one' was read, not two.",) and len(log.table) == 18


def test_a_group_without_both_norms_is_left_out():
    log = read(STEPS | wide("a", "b") | {"c/grad_sq_norm_small": 1.0})
    assert log.groups == ("all", "a", "b")


@pytest.mark.parametrize(
    "comments, found",
    [
        (("tokens_small: 64, tokens_big: 1024",), {"tokens_small": 64, "tokens_big": 1_024}),
        (("b_small = 4", "b_big=2^10, seq_len: 4,096."), {"b_small": 4, "b_big": 1_024, "seq_len": 4_096}),
        (("Small batch: 64k",), {"small_batch": 64_000}),
        (("noise scale: trace / grad_sq_norm; small batch 1 sequences, big batch 32",), {}),
        (('settings: {"seq_len": 64, "b_small": 4}',), {}),
        (("b_small: 8.5x", "b_big: many", "learning_rate: 3"), {}),
        ((), {}),
    ],
)
def test_batch_sizes_are_read_from_comment_lines(comments, found):
    assert noise_wide.constants(comments) == found


def test_sizes_from_comment_lines_make_a_log_of_bare_norms_and_are_said():
    log = read({"step": STEPS["step"]} | NORMS, ("tokens_small: 64, tokens_big: 1024",))
    assert log.estimate().noise_scale == pytest.approx(68) and log.unit == "tokens"
    assert log.problems == ("Taken from the lines above the header: tokens_small = 64, tokens_big = 1,024.",)


def test_a_column_is_taken_before_a_comment_line():
    log = read(STEPS | NORMS, ("tokens_small: 1, tokens_big: 2",))
    assert log.estimate().noise_scale == pytest.approx(68) and log.problems == ()


def test_the_same_parts_come_out_of_every_form():
    forms = (STEPS | NORMS, STEPS | wide("a"), STEPS | {f"noise/{name}": value for name, value in NORMS.items()})
    assert_allclose([read(form).estimate().trace for form in forms], 68)
