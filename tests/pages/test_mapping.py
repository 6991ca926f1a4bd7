"""Corrections by hand: columns and units of a sweep, columns of a log of runs, and a table that is neither until it is mapped."""

import json
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from tests.pages.test_smoke import ROOT

SWEEP = "batch_tokens,dt\n1024,5\n2048,9\n4096,17\n"
UNKNOWN = "size,span\n1024,0.5\n2048,0.9\n4096,1.7\n"
LOG = "step,xent,other_loss\n" + "\n".join(f"{step},{9 / step:.3f},{5}" for step in range(1, 9)) + "\n"


def page(path: str, edits: list) -> None:
    """A page on which cells of the open data editors are edited one after the other, as a browser would report it."""
    import json
    from pathlib import Path

    import streamlit as st

    from pages.ui import crossed, loaded, loading, mapping, state

    state.scenario()
    loading.take([(Path(path).name, Path(path).read_bytes())])
    for kind, row, cells in edits:
        editors = {
            "sweep": mapping.editor,
            "runs": crossed.mapping,
            "refused": lambda: mapping.rescue(mapping.unmapped()[0]),
        }
        tied = editors[kind]()
        st.session_state[tied["key"]] = {"edited_rows": {row: cells}}
        tied["on_change"](*tied["args"])
    now = crossed.now()
    found = {
        "sentences": st.session_state["sentences"],
        "refused": [one.sentence for one in mapping.unmapped()],
        "rates": loaded.sweep().table["tokens_per_second"].tolist() if loaded.sweep() is not None else [],
        "columns": {one.header: one.meaning for one in loaded.sweep().columns} if loaded.sweep() is not None else {},
        "losses": now.record.points["training"].dropna().tolist() if now else [],
    }
    st.json(json.dumps(found))


def after(path: Path, *edits) -> dict:
    app = AppTest.from_function(page, args=(str(path), list(edits)), default_timeout=30).run()
    assert not app.exception, app.exception
    return json.loads(app.json[0].value)


@pytest.fixture
def file(tmp_path):
    def written(text: str, name: str = "file.csv") -> Path:
        (tmp_path / name).write_text(text)
        return tmp_path / name

    return written


def test_the_unit_of_a_column_is_corrected_and_the_result_follows(file):
    assert after(file(SWEEP))["rates"] == [1024 / 5, 2048 / 9, 4096 / 17]
    found = after(file(SWEEP), ("sweep", "1", {"unit": "ms"}))
    assert found["rates"] == pytest.approx([1024 / 0.005, 2048 / 0.009, 4096 / 0.017])


def test_the_meaning_of_a_column_is_corrected_and_the_result_follows(file):
    found = after(file(SWEEP), ("sweep", "1", {"meaning": "tokens_per_second"}))
    assert found["rates"] == [5, 9, 17] and found["columns"]["dt"] == "tokens_per_second"


def test_a_correction_that_leaves_nothing_to_read_is_a_sentence_and_changes_nothing(file):
    found = after(file(SWEEP), ("sweep", "1", {"meaning": "not used"}))
    assert "must have a result column" in found["sentences"][0] and "is kept" in found["sentences"][0]
    assert len(found["rates"]) == 3


def test_a_table_with_unknown_headers_is_read_once_its_columns_are_mapped(file):
    path = file(UNKNOWN)
    assert "must have a batch column" in after(path)["refused"][0]
    half = after(path, ("refused", "0", {"meaning": "batch_tokens"}))
    assert "must have a result column" in half["refused"][0] and not half["rates"]
    whole = after(path, ("refused", "0", {"meaning": "batch_tokens"}), ("refused", "1", {"meaning": "step_time"}))
    assert whole["rates"] == [2048, 2048 / 0.9, 4096 / 1.7] and not whole["refused"]


def test_a_table_may_turn_out_to_be_the_log_of_a_run(file):
    path = file(LOG.replace("step", "k").replace("other_loss", "note"))
    found = after(path, ("refused", "0", {"meaning": "step_index"}), ("refused", "1", {"meaning": "training"}))
    assert found["losses"][:2] == [9, 4.5] and not found["refused"]


def test_another_column_can_be_the_loss_of_a_log(file):
    assert after(file(LOG))["losses"] == [5] * 8
    assert after(file(LOG), ("runs", "1", {"meaning": "training"}))["losses"][:2] == [9, 4.5]


def test_the_sentence_of_a_refused_table_stands_over_its_columns(file):
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=30)
    app.switch_page("pages/upload.py").run()
    app.file_uploader[0].set_value([("file.csv", UNKNOWN.encode(), "text/csv")]).run()
    assert not app.exception and len(app.warning) == 1 and "must have a batch column" in app.warning[0].value
