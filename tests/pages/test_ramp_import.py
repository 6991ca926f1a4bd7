"""Taking over a ramp on the Batch ramp page: a pasted text, or a published run, becomes the ramp that the page answers for."""

import pytest

from bsmath.published_ramps import ramps
from pages.ui import text
from tests.pages.test_logs import said, unfolded
from tests.pages.test_smoke import opened

RAMPUP = "--rampup-batch-size 768 768 976562 --global-batch-size 1536 --seq-length 2048"
FORMS = {
    RAMPUP: "Staircase of equal rises, 1.57M to 3.15M tokens per step within 2B tokens",
    '--step-batch-size-schedule "0:64 1B:128 2B:256"': "Typed stages, 131k to 524k tokens per step within 2B tokens",
    "0:64 1B:128": "Typed stages, 131k to 262k tokens per step within 1B tokens",
    "BatchSizeSchedulerCallback(batch_sizes=[64 * 2048, 128 * 2048], schedule=[Duration.tokens(0), Duration.tokens(10**9)])": (
        "Typed stages, 131k to 262k tokens per step within 1B tokens"
    ),
    "from_tokens,tokens_per_step\n0,131072\n1e9,262144\n": "Typed stages, 131k to 262k tokens per step within 1B tokens",
}


def page(query: dict | None = None):
    return unfolded(opened("pages/batch_ramp.py", query), "ramp_takeover")


def pasted(app, written: str):
    app.text_area(key="text_ramp").set_value(written).run()
    return app


def used(app, key: str = "use_pasted_ramp"):
    return app.button(key=key).click().run()


def plain(app) -> str:
    return said(app).replace(text.GAP, " ").replace("\\", "")


def answer(app) -> str:
    return app.markdown[0].value.replace(text.GAP, " ")


@pytest.mark.parametrize("written", FORMS, ids=lambda written: written[:30])
def test_a_pasted_ramp_is_shown_in_words_and_becomes_the_ramp(written):
    app = pasted(page(), written)
    assert "Read as " in plain(app) and "Linear in tokens, 12.3k to 98.3k" in answer(app)
    used(app)
    assert not app.exception and not app.warning
    assert FORMS[written] in answer(app)
    assert "This ramp was taken over. Read as" in plain(app)
    next(button for button in app.button if button.label == "Undo").click().run()
    assert "Linear in tokens, 12.3k to 98.3k" in answer(app)


def test_a_text_and_the_click_that_come_together_are_read_together():
    app = page()
    app.text_area(key="text_ramp").set_value("0:64 1B:128")
    used(app)
    assert "Typed stages, 131k to 262k" in answer(app)


@pytest.mark.parametrize(
    "written, sentence",
    [
        ("hello <b>there</b>", "text must hold --step-batch-size-schedule, --rampup-batch-size"),
        ("--rampup-batch-size 768 768 97656250", "got 768 from 768 to 48, this run's batch, as the text names none"),
        ("--step-batch-size-schedule 5:768", "ramp_stages must begin at 0 tokens, got 5"),
    ],
)
def test_a_text_that_is_no_ramp_is_answered_in_a_sentence_and_kept(written, sentence):
    app = pasted(page(), written)
    assert sentence in plain(app)
    used(app)
    assert not app.exception
    assert f"{sentence}" in plain(app) and "; the ramp before is kept." in plain(app)
    assert app.text_area(key="text_ramp").value == written
    assert "Linear in tokens" in answer(app)


def test_a_click_without_a_text_says_what_is_missing():
    app = used(page())
    assert not app.exception and "got ''; the ramp before is kept." in plain(app)


def test_what_was_typed_stays_on_another_page_and_folded_away():
    app = pasted(page(), RAMPUP)
    app.switch_page("pages/throughput.py").run()
    app.switch_page("pages/batch_ramp.py").run()
    app = unfolded(app, "ramp_takeover")
    assert app.text_area(key="text_ramp").value == RAMPUP


@pytest.mark.parametrize("name", ["gpt_3_175b", "bloom_176b", "gopher_280b", "kimi_k2"])
def test_a_published_ramp_is_one_choice_and_one_click_away(name):
    app = page()
    app.selectbox(key="published_ramp").set_value(name).run()
    used(app, "use_published_ramp")
    assert not app.exception and not app.warning
    one = ramps()[name].ramp
    ends = (
        f"{text.count(one.at(0.0))} to {text.tokens(one.end)}" if one.length else f"{text.tokens(one.end)} throughout"
    )
    assert ends.replace(text.GAP, " ") in answer(app)
    assert ("Approximate: in whole sequences of 2,048 tokens" in plain(app)) is (name == "gopher_280b")
    assert ramps()[name].label in plain(app)


def test_a_ramp_that_the_run_does_not_finish_is_said():
    app = page()
    app.selectbox(key="published_ramp").set_value("minimax_01").run()
    used(app, "use_published_ramp")
    assert "Typed stages, 16M to 64M tokens per step" in answer(app)
    assert "ends after 2.34T tokens, before the ramp is over at 4.7T" in plain(app)


def test_what_the_page_writes_for_a_trainer_can_be_pasted_back():
    app = page({"ramp": "stages", "ramp_stages": "0:48 1B:96 2B:192", "ramp_tokens": "1e9"})
    for form in ("megatron", "olmo", "table"):
        app.segmented_control(key="ramp_form").set_value(form).run()
        written = next(
            code.value
            for code in app.code
            if "seq" in code.value or "from_tokens" in code.value or "Duration" in code.value
        )
        app = used(pasted(app, written))
        assert not app.exception and not app.warning
        assert app.text_input(key="typed_ramp_stages").value == "0:48 1B:96 2B:192"


def test_a_staircase_of_many_rises_is_written_as_it_is():
    job = {"micro_batch_size": "2", "data_parallel_size": "8", "goal": "budget", "token_budget": "366e9"}
    app = pasted(page(job), "--rampup-batch-size 192 16 9_765_625 --global-batch-size 2048")
    used(app)
    app.segmented_control(key="ramp_form").set_value("megatron_rampup").run()
    assert any("--rampup-batch-size 192 16 9765625 " in code.value for code in app.code)


def test_a_configuration_with_a_ramp_points_from_the_change_batch_page_to_this_one():
    app = opened("pages/change_batch.py")
    app.session_state["open_sections"]["old_run"] = True
    app.run()
    app.text_area(key="old_config").set_value(f"--micro-batch-size 4 {RAMPUP}")
    next(button for button in app.button if button.label == "Read it").click().run()
    assert "--rampup-batch-size was left out: a recipe's batch stays the same. The Batch ramp page takes over" in plain(
        app
    )
    assert "1,536 x 2,048" in app.caption[0].value
