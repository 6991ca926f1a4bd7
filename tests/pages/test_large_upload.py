"""A large upload: read while the page is drawn, stopped by its button, and what is left then."""

import pytest
from streamlit.testing.v1 import AppTest

from pages.ui import loaded
from tests.pages.test_curves import SWEEP, dropped, said

LARGE = b"batch_tokens,step_time_s\n" + b"".join(b"%d,%d.5\n" % (1024 << k % 4, 1 + k % 4) for k in range(300_000))


def test_a_large_upload_is_read_with_the_page_and_leaves_no_bar():
    app = dropped(("large.csv", LARGE))
    assert "**large.csv**: 300,000 usable rows" in said(app)
    assert not app.get("progress") and not [one for one in app.button if one.label == "Stop reading"]


def test_large_and_small_files_are_read_together():
    app = dropped(("large.csv", LARGE), ("small.csv", SWEEP))
    assert "**small.csv**" in said(app) and "large.csv" in said(app)


def stopped_page(data: bytes) -> None:
    """A page on which a waiting upload is stopped before it is read."""
    import streamlit as st

    from pages.ui import loaded, loading, state

    state.scenario()
    loading.take([("large.csv", data)])
    waited = loaded.memory()["pending"] is not None
    loading.stop()
    loading.work()
    st.markdown(f"{waited} {loaded.memory()['pending']} {len(loaded.entries())} {st.session_state['notes']}")


def test_a_stopped_upload_leaves_nothing_and_says_so():
    app = AppTest.from_function(stopped_page, args=(LARGE,), default_timeout=30).run()
    assert app.markdown[0].value.startswith("True None 0") and "was not read" in app.markdown[0].value


@pytest.mark.parametrize("count", [1, 3])
def test_a_stop_between_two_reports_ends_the_reading(count):
    from bsmath import intake

    class Stopped(Exception):
        pass

    seen = []

    def report(share):
        seen.append(share)
        if len(seen) == count:
            raise Stopped

    with pytest.raises(Stopped):
        intake.read([("large.csv", LARGE)], report)
    assert len(seen) == count and seen == sorted(seen)


def bounded_page() -> None:
    """A page on which files of half the room that there is for them come one after the other."""
    import streamlit as st

    from pages.ui import loaded, loading, state

    state.scenario()
    for name in ("a.csv", "b.csv", "c.csv"):
        loading.take([(name, f"batch_tokens,step_time_s\n1024,1\n2048,{ord(name[0])}\n".encode())])
    st.markdown(str([len(one.files) for one in loaded.entries().values()]))


def test_the_bytes_that_are_kept_are_bounded_and_the_sweeps_stay(monkeypatch):
    monkeypatch.setattr(loaded, "MOST_BYTES", 2 * len(b"batch_tokens,step_time_s\n1024,1\n2048,99\n"))
    app = AppTest.from_function(bounded_page, default_timeout=30).run()
    assert app.markdown[0].value == "[0, 1, 1]"
