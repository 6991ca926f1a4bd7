"""Loss curves on the pages: files dropped together, the target, corrections, what is missing, other files beside them."""

import json

import pytest
from streamlit.testing.v1 import AppTest

from tests.pages.test_smoke import ROOT, opened


def log(size: int, rate: float, knee: float = 100.0) -> bytes:
    """A synthetic run: its loss falls with steps over 1 + knee/batch."""
    factor = (1 + knee / size) * (1 if rate == 1e-3 else 1.3)
    rows = ({"step": step, "val_loss": 2 + 8 * (step / factor) ** -0.4} for step in range(20, 3000, 20))
    return "\n".join(map(json.dumps, rows)).encode()


def dropped(*files: tuple[str, bytes]):
    app = opened("pages/upload.py")
    app.file_uploader[0].set_value([(name, data, "text/plain") for name, data in files]).run()
    assert not app.exception
    return app


SWEEP = b"batch_tokens,step_time_s\n1024,1\n2048,1.5\n4096,2.6\n"
GRID = [(f"try-b{size}-lr{rate:g}.jsonl", log(size, rate)) for size in (32, 128, 512, 2048) for rate in (1e-3, 3e-3)]


def said(app) -> str:
    return "\n".join(one.value for kind in (app.markdown, app.caption, app.info, app.warning) for one in kind)


def best(app):
    return next(table.value for table in app.dataframe if "Best rate" in table.value)


def test_two_files_dropped_at_once_are_two_runs_with_a_chart_and_a_table():
    app = dropped(GRID[0], GRID[2])
    assert "is reached at 2 of 2\u00a0batch sizes**" in said(app)
    assert "There is two batches" not in said(app) and "There are two batches" in said(app)
    assert "are fitted below" not in said(app), "two batches have no fit"
    chart = json.loads(app.get("plotly_chart")[0].proto.spec)
    assert [trace["name"] for trace in chart["data"][-1:]] == [
        f"target {app.number_input(key='target_number').value:g}"
    ]
    assert len(app.dataframe[1].value) == 2


def test_a_grid_of_files_is_fitted_like_any_sweep_and_lies_on_the_critical_batch_page():
    app = dropped(*GRID)
    assert best(app)["Best rate"][0] == "none arrived", "the smallest batch needs more steps than all were given"
    app.number_input(key="target_number").set_value(2.7).run()
    table = best(app)
    assert len(table) == 4 and table["Best rate"].str.startswith("1e-3").all()
    assert app.number_input(key="answer_seq_len").value == 2048
    app.number_input(key="answer_seq_len").set_value(1).run()
    assert "B_crit 100\u00a0tokens" in said(app) or "B_crit 99.9\u00a0tokens" in said(app)  # 100 sequences of one token
    app.switch_page("pages/critical_batch.py").run()
    assert not app.exception and "8 files, steps to" in said(app)


def test_another_target_counts_other_steps_and_one_out_of_reach_gives_way():
    app = dropped(*GRID)
    before = best(app)["Steps"].tolist()
    field = app.number_input(key="target_number")
    assert (
        f"From {field.min:.4g}, the lowest that 3\u00a0batch sizes reach, to {field.max:.4g}, where the lowest of the runs begins"
        in said(app)
    )
    field.set_value(3.0).run()
    assert not app.exception and best(app)["Steps"].tolist() != before
    assert app.select_slider(key="target_slider").value == 3.0
    assert "**A loss of 3 is reached" in said(app)


def page_with_a_click(path: str, places: list[dict]) -> None:
    """A page whose chart was clicked on: the selection that a browser would send lies in the session."""
    from pathlib import Path

    import streamlit as st

    from bsmath import logs
    from bsmath.intake import RunFile
    from pages.ui import crossed, state

    state.scenario()
    data = Path(path).read_bytes()
    crossed.take((RunFile(name="curves.jsonl", data=data, record=logs.read(data, "curves.jsonl").record),))
    st.session_state["chart"] = {"selection": {"points": places}}
    crossed.click("chart")
    now = crossed.now()
    found = now.record.targets(now.reading)
    ends = {"low": found.low, "high": found.high, "default": found.default}
    st.json(ends | {"target": now.target, "swept": now.record.name + f", steps to {now.target:g}"})
    st.markdown(crossed.loaded.sweep().name)


def clicked(*places: dict) -> dict:
    path = ROOT / "data" / "samples" / "loss_curves.jsonl"
    app = AppTest.from_function(page_with_a_click, args=(str(path), list(places)), default_timeout=30).run()
    assert not app.exception, app.exception
    found = json.loads(app.json[0].value)
    assert app.markdown[0].value == found["swept"], "the sweep is that of the target"
    return found


def test_a_click_on_a_curve_takes_the_loss_of_its_point_as_the_target():
    found = clicked({"x": 1000.0, "y": 2.87654, "curve_number": 0, "point_index": 3}, {"x": 2.0, "y": 9.9})
    assert found["target"] == 2.877 != found["default"]


def test_a_click_beyond_the_range_of_targets_takes_its_end_and_one_beside_all_curves_changes_nothing():
    found = clicked({"y": 0.5})
    assert found["target"] == found["low"] < found["default"]
    assert clicked({"y": 99.0})["target"] == found["high"]
    assert clicked()["target"] == found["default"]


def test_smoothing_and_the_axis_can_be_chosen():
    app = dropped(*GRID[:6])
    app.segmented_control(key="reading_smoothing").set_value("EMA").run()
    assert not app.exception and app.select_slider(key="reading_width").value == 0.1
    app.segmented_control(key="curves_along").set_value("tokens").run()
    assert "Trained on [tokens]" in app.get("plotly_chart")[0].proto.spec


def test_a_single_run_is_drawn_and_says_what_is_missing():
    app = dropped(("log.jsonl", GRID[0][1]))
    assert "The batch is in no column and no name" in said(app) and "nothing can be counted yet" in said(app)
    assert app.get("plotly_chart")
    for page in ("critical_batch", "throughput"):
        app.switch_page(f"pages/{page}.py").run()
        assert not app.exception


def test_several_sweeps_lie_over_each_other_under_their_names():
    app = dropped(("first.csv", SWEEP), ("second.csv", SWEEP))
    chart = json.loads(app.get("plotly_chart")[0].proto.spec)
    assert {"first.csv", "second.csv"} <= {trace["name"] for trace in chart["data"]}
    assert "**second.csv** against **first.csv**" in said(app)


def test_a_sweep_can_be_renamed_and_removed_alone():
    app = dropped(("first.csv", SWEEP), ("second.csv", SWEEP))
    app.text_input(key="name_2").set_value("after").run()
    assert "**after** against **first.csv**" in said(app)
    app.selectbox(key="chosen_sweep").set_value("first.csv").run()
    next(button for button in app.button if button.label == "Remove this one").click().run()
    assert not app.exception and "**after**: 3 usable rows" in said(app) and "first.csv" not in said(app)


def test_files_of_one_batch_each_are_one_sweep():
    rows = [
        (f"run{size}.csv", f"batch_tokens,step_time_s\n{size},{0.5 + size / 2048}\n".encode())
        for size in (1024, 2048, 4096)
    ]
    app = dropped(*rows)
    assert "**3 files**: 3 usable rows" in said(app) and "3 files of one batch size each were joined" in said(app)


def test_a_file_that_is_added_later_does_not_read_the_others_again():
    app = dropped(GRID[0], GRID[2])
    app.file_uploader[0].set_value([(*GRID[4], "text/plain")]).run()
    assert "of 3\u00a0batch sizes" in said(app)


def test_a_sweep_beside_curves_is_read_and_a_log_is_kept():
    app = dropped(GRID[0], ("gns.csv", b"step,gns\n1,100\n2,200\n3,250"), ("table.csv", b"batch,tok/s\n1,2\n2,3\n"))
    assert "**table.csv**: 2 usable rows" in said(app) and "the ratio alone" in said(app)
    assert any("Logs of runs" in one.value for one in app.subheader)


def test_devices_that_a_log_does_not_name_are_asked_for_on_the_page():
    app = opened("pages/upload.py")
    line = "[titan] 2026-08-21 10:14:02,118 - root - INFO - step: {}  loss: {}  memory: 61.44GiB(77.60%)  tps: 6,412  mfu: 33.49%"
    log = "\n".join(line.format(step, 9 - step / 10) for step in range(1, 9)).encode()
    app.file_uploader[0].set_value([("run-b64-seq512.log", log, "text/plain")]).run()
    assert not app.exception and app.number_input(key="answer_num_devices").value == 1
    app.number_input(key="answer_num_devices").set_value(4).run()
    assert not app.exception and "25.65k" in said(app)


def test_the_target_follows_the_runs_until_it_is_set():
    app = dropped(GRID[0])
    app.file_uploader[0].set_value([(name, data, "text/plain") for name, data in GRID[2:6]]).run()
    found = app.number_input(key="target_number").value
    assert f"{found:.4g} is the lowest that most of them reach" in said(app)
    app.number_input(key="target_number").set_value(3.0).run()
    app.file_uploader[0].set_value([(*GRID[6], "text/plain")]).run()
    assert not app.exception


def test_the_ninth_sweep_takes_the_place_of_the_oldest_and_says_so():
    app = dropped(*((f"sweep{number}.csv", SWEEP) for number in range(9)))
    assert "sweep0.csv was dropped" in said(app) and "sweep8.csv" in said(app)
    assert "sweep0.csv" not in app.selectbox(key="chosen_sweep").options


def test_rates_of_runs_whose_sequences_are_not_known_are_in_sequences():
    rows = "\n".join(f"{step},{9 / step:.3f},0.5" for step in range(1, 9))
    app = dropped(("run-bs64.csv", f"step,loss,step_time_s\n{rows}\n".encode()))
    app.number_input(key="answer_seq_len").set_value(None).run()
    assert "128\u00a0sequences/s" in said(app)


def test_what_was_removed_does_not_come_back_with_the_next_file():
    app = dropped(("first.csv", SWEEP), ("second.csv", SWEEP))
    next(button for button in app.button if button.label == "Remove all data").click().run()
    app.file_uploader[0].set_value([("third.csv", SWEEP, "text/plain")]).run()
    assert "**third.csv**" in said(app) and "first.csv" not in said(app)


def test_a_broken_file_among_others_is_one_sentence():
    app = dropped(GRID[0], ("picture.png", b"\x89PNG\r\n\x1a\n"), GRID[2])
    assert len(app.warning) == 1 and "PNG" in app.warning[0].value and "2 files" in said(app)


def test_a_sweep_lies_beside_the_one_of_curves_and_all_can_be_removed():
    app = dropped(*GRID)
    app.button(key="example_convergence").click().run()
    assert not app.exception and any("Logs of runs" in one.value for one in app.subheader)
    assert "Loaded for this session: 8 files, steps to" in said(app) and "convergence" in said(app)
    app = dropped(*GRID)
    next(button for button in app.button if button.label == "Remove all data").click().run()
    assert not app.exception and not any("Logs of runs" in one.value for one in app.subheader)


@pytest.mark.parametrize(
    "text",
    [
        "step,loss,batch_tokens\n" + "\n".join(f"{step},nan,1024" for step in range(1, 9)),
        "step,loss,batch_tokens\n" + "\n".join(f"{step},{3 + step},1024" for step in range(1, 9)),
        "step,loss,batch_tokens\n" + "\n".join(f"{step},3,{1024 * (1 + step // 5)}" for step in range(1, 9)),
        "step,loss,batch\n" + "\n".join(f"{step},{-step},8" for step in range(1, 9)),
        "run,step,loss\n" + "\n".join(f"![x](http://example.org/x.png),{step},{9 - step}" for step in range(1, 9)),
    ],
    ids=["never a number", "only rising", "a ramp", "below zero", "an image"],
)
def test_odd_curves_break_no_page(text):
    app = dropped(("odd.csv", text.encode()))
    assert "![x]" not in said(app)
    for page in ("critical_batch", "throughput", "upload"):
        app.switch_page(f"pages/{page}.py").run()
        assert not app.exception, page
