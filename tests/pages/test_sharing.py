"""What leaves the page: data in the link, the scenario file, downloads; and what comes back."""

import pytest
from streamlit.testing.v1 import AppTest

from bsmath import shared, sweeps
from bsmath.measured import measurement
from tests.pages.test_curves import GRID, SWEEP, dropped, said
from tests.pages.test_smoke import opened

STEPS = b"batch_tokens,steps_to_target\n" + b"".join(
    b"%d,%d\n" % (size, 1000 * (1 + 65_536 / size) * noise)
    for size, noise in zip(
        (8192, 16384, 32768, 65536, 131072, 262144, 524288), (1.01, 0.99, 1.0, 1.02, 0.98, 1.01, 0.99), strict=True
    )
)


def share(app):
    app.toggle(key="share_page").set_value(True).run()
    assert not app.exception
    return app


def link_text(app) -> str:
    return app.session_state["data"]


def test_the_switch_puts_the_shown_series_into_the_link_and_takes_them_out_again():
    app = share(dropped(("before.csv", SWEEP), ("after.csv", SWEEP)))
    assert [one.name for one in shared.from_text(link_text(app))] == ["before.csv", "after.csv"]
    assert "characters" in said(app)
    app.toggle(key="share_page").set_value(False).run()
    assert link_text(app) == ""


def test_the_link_follows_what_is_shown():
    app = share(dropped(("before.csv", SWEEP), ("after.csv", SWEEP)))
    app.multiselect(key="series").set_value(["after.csv"]).run()
    assert [one.name for one in shared.from_text(link_text(app))] == ["after.csv"]
    app.text_input(key="name_2").set_value("new kernel").run()
    assert [one.name for one in shared.from_text(link_text(app))] == ["new kernel"]


@pytest.mark.parametrize("page", ["pages/upload.py", "pages/critical_batch.py", "app.py"])
def test_a_link_with_data_opens_every_page_with_the_same_fit(page):
    text = link_text(share(dropped(("steps.csv", STEPS))))
    app = opened(page, {"data": text})
    assert not app.exception and not app.warning
    ours = measurement(sweeps.read(STEPS, "steps.csv"), sweeps.ALL_ROWS, "steps")
    (theirs,) = shared.from_text(text)
    assert shared.same(ours, measurement(theirs, theirs.series[0], "steps"))
    assert page == "app.py" or "B_crit" in said(app)


def test_the_link_of_runs_is_opened_with_their_steps():
    text = link_text(share(dropped(*GRID)))
    app = opened("pages/upload.py", {"data": text})
    assert not app.exception and "8 files" in said(app)


@pytest.mark.parametrize("text", ["abc", "x" * 3000, "x" * 5000, "eNo", "é" * 10])
def test_broken_data_in_a_link_are_one_sentence(text):
    app = opened("app.py", {"data": text, "num_params": "7e9"})
    assert not app.exception and len(app.warning) == 1
    assert link_text(app) == ""


def test_what_does_not_fit_into_a_link_is_said_and_leaves_it_as_it_was():
    generator_rows = "\n".join(
        f"{'n' * 70}{k},{1024 * (k % 7 + 1)},{1 + k * 37 % 101 / 1000},{3 + k % 11}" for k in range(4000)
    )
    app = dropped(("many.csv", f"run,batch_tokens,step_time_s,steps_to_target\n{generator_rows}\n".encode()))
    app.multiselect(key="series").set_value(
        app.multiselect(key="series").options[:4]
    ).run() if app.multiselect else None
    app.toggle(key="share_page").set_value(True).run()
    assert not app.exception
    assert link_text(app) == "" or len(link_text(app)) < shared.MAX_TEXT


def test_a_scenario_file_brings_back_numbers_and_data():
    from bsmath import scenario_file
    from bsmath.link import View
    from bsmath.scenario import Scenario

    saved = scenario_file.to_json(
        Scenario(num_params=7e9), View(batch_scale="linear"), [sweeps.read(SWEEP, "before.csv")]
    )
    app = dropped(("scenario.json", saved.encode()))
    assert "7B dense" in app.caption[0].value and "**before.csv**: 3 usable rows" in said(app)
    assert "scenario was opened" in said(app) and not app.warning


def test_a_damaged_scenario_file_is_a_sentence():
    app = dropped(("scenario.json", b'{"format": "batch-size scenario", "version": 1, "scenario": {"mfu": 7}}'))
    assert not app.exception and app.warning


def downloads_page(data: bytes) -> None:
    """The downloads of a loaded sweep."""
    from bsmath.scenario import Scenario
    from pages.ui import loading, sharing, state

    state.scenario()
    state.enter("pages/upload.py")
    loading.take([("before.csv", data)])
    sharing._downloads(Scenario())


def test_the_scenario_the_import_and_the_fits_can_be_saved():
    app = AppTest.from_function(downloads_page, args=(SWEEP,), default_timeout=30).run()
    assert not app.exception
    labels = [one.proto.label for one in app.get("download_button")]
    assert labels == ["Scenario file (JSON)", "This import as tidy CSV", "The shown fits as JSON"]
