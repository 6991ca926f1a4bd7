"""Rows and settings of a log: lines of one step, ranks, and a log that holds several runs."""

from bsmath.logs import curves
from bsmath.trainers.records import Records


def test_lines_of_one_step_are_one_row_and_what_another_rank_repeats_is_dropped():
    records = Records("x")
    records.add(1, step=1, train_loss=3.0)
    records.add(2, step=1, val_loss=3.5)
    records.add(3, step=1, train_loss=3.0, val_loss=3.5)
    assert records.table().frame.to_dict("records") == [{"step": 1, "train_loss": 3.0, "val_loss": 3.5}]


def test_settings_that_are_stated_again_count_from_where_the_steps_begin_anew():
    records = Records("x")
    for batch in (1024, 2048):
        records.setting(1, "batch_tokens", batch)
        for step in range(1, 6):
            records.add(step, step=step, train_loss=4.0 - step / 10, tokens_per_s=100.0 * batch)
    table = records.table().frame
    assert table["batch_tokens"].tolist() == [1024] * 5 + [2048] * 5
    assert curves.read(table, "x").runs["batch"].tolist() == [1024, 2048]


def test_a_setting_that_is_repeated_on_the_way_changes_nothing():
    records = Records("x")
    records.setting(1, "batch_tokens", 1024)
    records.add(2, step=1, train_loss=3.0)
    records.setting(3, "batch_tokens", 16)  # that of an evaluation
    records.add(4, step=2, train_loss=2.9)
    assert records.table().frame["batch_tokens"].tolist() == [1024, 1024]


def test_a_line_without_a_batch_belongs_to_the_run_around_it():
    records = Records("x")
    for step in range(1, 5):
        records.add(step, step=step, train_loss=3.0, batch_seqs=64, micro_batch=2, replicas=8)
    records.add(9, step=4, val_loss=3.1)
    records.add(10, step=4, train_loss=2.0)
    assert len(curves.read(records.table().frame, "x").runs) == 1
