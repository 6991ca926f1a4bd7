"""The Batch ramp page: every kind and growth opens, its numbers are those of `ramp_outlook`, a link sets every field."""

import json

import pytest

from bsmath import published_ramps, ramp_curves, ramp_kinds
from bsmath.quantities import parse_number
from bsmath.ramp_outlook import ramp_outlook
from bsmath.ramp_trap import trap
from bsmath.scenario import Scenario
from pages.ui import text
from tests.pages.test_logs import said
from tests.pages.test_smoke import opened

PAGE = "pages/batch_ramp.py"
RISING = {"ramp_start": "1e5", "ramp_end": "4e6", "ramp_tokens": "2e10", "ramp_stages": "0:64 1B:512 5B:2048"}
FIELDS = {"ramp_start": 1e5, "ramp_end": 4e6, "ramp_tokens": 2e10, "ramp_stages": "0:64 1B:512 5B:2048"}


def charts(app) -> list[list[dict]]:
    return [json.loads(chart.proto.spec)["data"] for chart in app.get("plotly_chart")]


def metrics(app) -> dict[str, str]:
    return {metric.label: metric.value for metric in app.metric}


def shown(app) -> str:
    return said(app).replace(text.GAP, " ").replace("\\", "")


def answer(app) -> str:
    return next(one.value for one in app.markdown if " steps, " in one.value).replace(text.GAP, " ")


@pytest.mark.parametrize("kind", ramp_kinds.KINDS)
def test_every_kind_opens_with_the_numbers_of_its_outlook(kind):
    app, one = opened(PAGE, RISING | {"ramp": kind}), ramp_outlook(Scenario(ramp=kind, **FIELDS)).chosen
    assert not app.exception and not app.warning
    assert answer(app).startswith(f"**{one.label}, ")
    assert f"{text.whole(one.steps)} steps, {text.tokens(one.tokens)}".replace(text.GAP, " ") in answer(app)
    assert metrics(app) == {
        "Steps": text.whole(one.steps),
        "Tokens": text.count(one.tokens),
        "Wasted": text.percent(one.progress.waste),
        "Time": text.duration(one.seconds),
    }
    assert len(charts(app)) == 4 + (len(app.get("plotly_chart")) == 5)
    assert not {"nan", "inf", "NaN", "None"} & set(shown(app).replace("(", " ").replace(")", " ").split())


@pytest.mark.parametrize("growth", ramp_kinds.GROWTHS)
def test_every_growth_opens_and_is_drawn_at_the_level_of_the_scenario(growth):
    app = opened(PAGE, {"critical_growth": growth, "ramp": "law"})
    assert not app.exception and not app.warning
    assert charts(app)[0][0]["name"] == "B_crit"
    # In proportion to B_crit with factor 1: twice the least tokens, whatever the course; a log's is drawn in steps of 19 %.
    assert parse_number(metrics(app)["Tokens"]) == pytest.approx(100e9, rel=0.01 if growth == "noise" else 1e-3)
    assert metrics(app)["Wasted"] == f"50{text.GAP}%"


def test_the_table_has_every_schedule_against_the_flat_one():
    compared = "doubling law palm_540b"
    app, found = (
        opened(PAGE, RISING | {"ramps_compared": compared}),
        ramp_outlook(Scenario(ramps_compared=compared, **FIELDS)),
    )
    table = app.table[0].value
    assert table["Schedule"].tolist() == [
        "Linear in tokens (chosen)", "Flat at its end", "Doubling", "In proportion to B_crit",
        published_ramps.ramps()["palm_540b"].label, "Flat at its start",
    ]  # fmt: skip
    for row, one in zip(table["Steps"], (*found.schedules, found.start), strict=True):
        assert row == f"{text.whole(one.steps)} ({text.signed(one.steps / found.flat.steps)})"
    assert [trace["name"] for trace in charts(app)[0]] == ["B_crit", *(one.label for one in found.schedules)]


def test_a_goal_of_a_budget_shows_useful_tokens_and_no_tradeoff():
    query = RISING | {"goal": "budget", "token_budget": "3e10"}
    app, found = opened(PAGE, query), ramp_outlook(Scenario(goal="budget", token_budget=3e10, **FIELDS))
    target = opened(PAGE, RISING)
    assert not app.exception and len(charts(target)) == len(charts(app)) + 1
    assert metrics(app)["Useful tokens"] == text.count(found.chosen.progress.useful_tokens)
    assert "of the budget's tokens the ramp wastes" in answer(app) and "gamma" not in shown(app)
    assert f"gamma = {ramp_outlook(Scenario(**FIELDS)).gamma:.3f}" in shown(target)


def test_as_many_ramps_as_the_field_takes_are_drawn():
    names = [name for name in (*ramp_kinds.KINDS, *published_ramps.ramps()) if name not in ("flat", "linear_tokens")]
    app = opened(PAGE, RISING | {"ramps_compared": " ".join(names[: ramp_kinds.MOST_NAMES])})
    assert not app.exception and not app.warning
    assert len(charts(app)[0]) == ramp_kinds.MOST_NAMES + 3


def test_a_link_sets_every_field_and_what_it_gets_wrong_is_named():
    app = opened(PAGE, RISING | {"ramp": "staircase", "ramp_levels": "5"})
    values = {field.key: field.value for field in app.text_input if "ramp" in field.key}
    assert values == {
        "typed_ramp_start": "100k", "typed_ramp_end": "4M", "typed_ramp_tokens": "20B", "typed_ramp_levels": "5",
    }  # fmt: skip
    assert [code.value for code in app.code if "ramp_levels=5" in code.value and "ramp=staircase" in code.value]
    wrong = opened(PAGE, {"ramp": "spiral", "ramp_stages": "5:1", "ramp_factor": "0", "critical_growth": "x"})
    told = " ".join(warning.value for warning in wrong.warning).replace("\\", "")
    assert not wrong.exception
    for words in ("'spiral'", "begin at 0 tokens", "ramp_factor must be from 0.001 to 1000", "'x'"):
        assert words in told


def test_choosing_a_ramp_changes_fields_answer_and_link():
    app = opened(PAGE, RISING)
    app.selectbox(key="choice_ramp").set_value("stages").run()
    assert [field.key for field in app.text_input if "ramp" in field.key] == ["typed_ramp_stages"]
    app.text_input(key="typed_ramp_stages").set_value("0:32 2B:64").run()
    one = ramp_outlook(Scenario(ramp="stages", ramp_stages="0:32 2B:64")).chosen
    assert metrics(app)["Steps"] == text.whole(one.steps)
    assert any("ramp=stages" in code.value and "2B%3A64" in code.value.replace(":", "%3A") for code in app.code)
    app.text_input(key="typed_ramp_stages").set_value("0:32 2B").run()
    assert "tokens:sequences such as 0:768 250B:1536, got '2B'; the value before is kept" in app.warning[0].value
    assert metrics(app)["Steps"] == text.whole(one.steps)


def test_comparing_is_chosen_live():
    app = opened(PAGE, RISING)
    app.multiselect(key="names_ramps_compared").set_value(["seesaw", "kimi_k2"]).run()
    assert not app.exception and len(app.table[0].value) == 5
    assert "No ramp is called nothing" in shown(opened(PAGE, {"ramps_compared": "nothing doubling"}))


def test_the_trap_is_told_with_its_numbers():
    scenario = Scenario(**FIELDS)
    app, one = opened(PAGE, RISING), ramp_outlook(scenario).chosen
    found, told = trap(scenario, one), shown(app)
    assert f"would have {text.whole(found.horizon_steps)} steps; this run takes {text.whole(one.steps)}" in told
    assert f"the rate reaches its end after {text.tokens(found.rate_ends)}".replace(text.GAP, " ") in told
    assert f"is over after {text.tokens(found.warmup_ends)}".replace(text.GAP, " ") in told
    assert f"{text.tokens(found.ramp_ends)} instead of 20B tokens".replace(text.GAP, " ") in told
    assert "steps and tokens say the same" in shown(opened(PAGE, {"ramp": "flat"}))


def test_the_rates_of_the_caption_are_those_of_the_rule_at_both_ends():
    scenario = Scenario(**FIELDS)
    one = ramp_outlook(scenario).chosen
    first, last = (text.scientific(ramp_curves.peak_rates(scenario, one, seen)) for seen in (0.0, one.tokens))
    told = shown(opened(PAGE, RISING))
    assert f"the peak goes from {first} at 100k tokens to {last} at 4M tokens" in told


@pytest.mark.parametrize(
    "query, words",
    [
        ({"critical_growth": "constant"}, "Under a constant B_crit no ramp can beat the best flat batch."),
        ({"ramp": "flat"}, "Nothing ramps: choose a shape, or two different ends."),
        ({"data_parallel_size": "64", "micro_batch_size": "1"}, "Below 131k tokens per step, one sequence on every replica"),
        ({"ramp_end": "1e8", "fixed_time": "0"}, "The ramp saves "),
    ],
)  # fmt: skip
def test_what_decides_is_said(query, words):
    assert words in shown(opened(PAGE, RISING | query))
