"""Files of one's own on the pages: logs that nobody foresaw are drawn or refused in a sentence, and never break a page."""

import numpy as np
import pytest

from pages.ui import noise
from tests.pages.test_smoke import opened

PAGES = ["upload", "noise_scale", "critical_batch", "moe_load", "throughput"]
NORMS = "step,tokens_small,tokens_big,grad_sq_norm_small,grad_sq_norm_big"
NOISE = f"{NORMS}\n" + "\n".join(
    f"{step},64,1024,{2.06 + step % 3 / 50},{1.06 + step % 2 / 50}" for step in range(1, 40)
)
GRID = "batch_tokens,learning_rate,seed,steps_to_target\n" + "\n".join(
    f"{size},{rate},{seed},{(500 + 2e6 / size) * (1 + abs(rate - 3e-4) * 300) * (1 + seed / 50):.0f}"
    for size in (1024, 4096, 16384, 65536)
    for rate in (1e-4, 3e-4, 1e-3)
    for seed in range(3)
)
BRANCH = "run,checkpoint_step,batch_factor,tokens_per_step,seed,tolerance,loss\n" + "\n".join(
    f"![x](http://example.org/x.png){step},{step},{factor},{256 * factor},{seed},0.03,{3 + (factor > 4) * 0.1 + seed / 1000}"
    for step in (50, 100)
    for seed in (0, 1)
    for factor in (1, 2, 4, 8)
)


def pasted(*texts: str):
    app = opened("pages/upload.py")
    for text in texts:
        app.text_area(key="pasted").set_value(text)
        next(button for button in app.button if button.label == "Read the pasted text").click().run()
    return app


def said(app) -> str:
    """Everything that a page writes."""
    written = [one.value for kind in (app.markdown, app.caption, app.warning, app.info) for one in kind]
    metrics = [f"{metric.label} {metric.value}" for metric in app.metric]
    return "\n".join([*written, *metrics, *(table.value.to_csv() for table in app.table)])


ODD = {
    "norms that overflow": f"{NORMS}\n" + "\n".join(f"{step},64,1024,2e200,1e200" for step in range(1, 9)),
    "ratios that overflow": "step,gns\n1,1e300\n2,1e308\n3,5",
    "no noise at all": f"{NORMS}\n" + "\n".join(f"{step},64,1024,1,1" for step in range(1, 9)),
    "steps below zero": "step,grad_sq_norm,trace\n" + "\n".join(f"{-step},{step},60" for step in range(1, 9)),
    "a layer whose rows end early": f"group,{NORMS}\n"
    + "\n".join(
        f"{group},{row}" for row in NOISE.split("\n")[1:] for group in ("mlp", "norm")[: 1 + row[:2].endswith(",")]
    ),
    "one token": "layer,expert,count\n0,0,1\n0,1,0",
    "every expert picked": "layer,expert,count,top_k\n0,0,5,2\n0,1,5,2",
    "loads that overflow": "layer,expert,count\n0,0,1e308\n0,1,1e308",
    "an unchanged branch that diverged": BRANCH.replace(",1,256,0,0.03,3.0", ",1,256,0,0.03,nan"),
    "batches beyond all bounds": "checkpoint_step,batch_factor,tokens_per_step,loss\n5,1,100,3\n5,1e300,1e302,3",
}


@pytest.mark.parametrize("text", ODD.values(), ids=ODD)
def test_no_page_breaks_or_writes_what_is_no_number(text):
    app = pasted(text)
    for page in PAGES:
        app.switch_page(f"pages/{page}.py").run()
        assert not app.exception, page
        words = said(app).replace("(", " ").replace(")", " ").split()
        assert not {"nan", "inf", "NaN", "None"} & set(words), page


def test_names_from_a_file_are_text_in_tables_and_sentences():
    app = pasted(NOISE, BRANCH)
    app.switch_page("pages/critical_batch.py").run()
    assert "!\\[x\\]" in said(app) and "![x]" not in said(app)
    app = pasted(
        "model,layer,expert,count\n![x](http://example.org/x.png),0,0,5\n![x](http://example.org/x.png),0,1,3\nb,0,0,4\nb,0,1,4"
    )
    assert "!\\[x\\]" in said(app) and "![x]" not in said(app)


def test_a_noise_scale_in_another_unit_is_named_beside_the_table_that_it_is_not_in():
    sequences = NOISE.replace("tokens_small,tokens_big", "batch_small,batch_big")
    app = pasted(GRID, sequences, BRANCH)
    app.switch_page("pages/critical_batch.py").run()
    table = next(table.value for table in app.table if "Measured by" in table.value)
    assert list(table["Measured by"].unique()) == ["hyperbola", "branched run"]
    assert "counts in sequences, not in tokens, and cannot be compared" in said(app)


def test_measurements_that_identify_nothing_side_by_side_say_so():
    hidden = f"{NORMS}\n" + "\n".join(f"{step},64,1024,{20 + step % 3},1" for step in range(1, 20))
    app = pasted(hidden, "checkpoint_step,batch_factor,tokens_per_step,loss\n5,1,100,3\n5,2,200,3")
    app.switch_page("pages/critical_batch.py").run()
    assert not app.exception and "None of these measurements identifies" in said(app)


def test_the_data_can_be_removed_again():
    app = pasted(NOISE, "apples,pears\n1,2")
    assert "noise scale" in said(app) and len(app.warning) == 1
    next(button for button in app.button if button.label == "Remove all data").click().run()
    app.switch_page("pages/noise_scale.py").run()
    assert "pasted text" not in said(app)


def test_a_log_of_100_000_rows_is_drawn_in_part_and_says_so():
    generator = np.random.default_rng(0)
    rows = zip(range(1, 100_001), 1 + 0.1 * generator.random(100_000), 60 + generator.random(100_000), strict=True)
    app = pasted("step,grad_sq_norm,trace\n" + "\n".join(f"{step},{g2:.4f},{trace:.3f}" for step, g2, trace in rows))
    app.switch_page("pages/noise_scale.py").run()
    assert "Drawn are 2,942 of 100,000 rows" in said(app)
    assert all(len(chart.proto.spec) < 2e6 for chart in app.get("plotly_chart"))


def test_of_a_thousand_layers_a_hundred_are_listed():
    rows = (f"{step},layer {layer},1.{step},{60 + step}" for layer in range(1000) for step in range(1, 10))
    app = pasted("step,group,grad_sq_norm,trace\n" + "\n".join(rows))
    app.switch_page("pages/noise_scale.py").run()
    assert not app.exception
    assert "Listed are the first 100 of 1,001 groups" in said(app)


PARTS = ("noise_clip", "noise_layers", "noise_calculator", "noise_norms", "noise_limits")


def unfolded(app, *parts: str):
    """The page with these parts open."""
    for part in parts or PARTS:
        app.session_state[f"part_{part}"] = True
    return app.run()


@pytest.mark.parametrize("average", ["window", "0.9", "0.99", "0.999"])
def test_the_noise_scale_page_opens_in_every_average_with_all_its_parts(average):
    app = unfolded(opened("pages/noise_scale.py", {"noise_average": average}))
    assert not app.exception and not app.warning
    assert "Each point averages" in said(app)


def test_an_average_is_chosen_live_and_stands_in_the_link():
    app = opened("pages/noise_scale.py")
    app.segmented_control(key="view_noise_average").set_value("0.9").run()
    assert not app.exception and "as sure as 19 rows" in said(app)
    assert any("noise_average=0.9" in code.value for code in app.code)


def test_an_average_longer_than_the_log_is_said_to_hold_its_first_rows():
    app = opened("pages/noise_scale.py", {"noise_average": "0.999"})
    assert "so its first rows still weigh at the end" in said(app)


def test_the_calculator_gives_the_worked_noise_scale_and_the_steps_for_10_percent():
    app = unfolded(opened("pages/noise_scale.py"), "noise_calculator")
    assert "B_simple is 69.6k" in said(app)
    for name, value in {
        "tokens_small": "128",
        "tokens_big": "1024",
        "norm_small": "129",
        "norm_big": "17",
        "effective_dimension": "1k",
    }.items():
        app.text_input(key=f"calculator_{name}").set_value(value)
    next(button for button in app.button if button.label == "Compute").click().run()
    written = said(app)
    assert "16x the batch" in written and "For 10\u00a0% average **66 steps**" in written
    assert "one step alone knows |G|² to 81\u00a0%" in written


@pytest.mark.parametrize(
    "name, value, sentence",
    [
        ("norm_big", "0.05", "Not identified"),
        ("norm_big", "3", "Not identified"),
        ("norm_big", "many", "Big norm must be a number such as"),
        ("norm_big", "", "Big norm must be a number"),
        ("tokens_big", "70000", "B must be at least twice b"),
        ("averaged", "99", "small norms averaged must be from 1 to 16"),
    ],
)
def test_the_calculator_says_why_it_gives_no_number(name, value, sentence):
    app = unfolded(opened("pages/noise_scale.py"), "noise_calculator")
    app.text_input(key=f"calculator_{name}").set_value(value)
    next(button for button in app.button if button.label == "Compute").click().run()
    assert not app.exception and sentence in said(app)


def test_the_curves_over_the_batch_are_the_scenario_s_until_a_log_of_ones_own_gives_them():
    app = opened("pages/noise_scale.py", {"noise_scale": "3e6"})
    assert "noise scale, 3M\u00a0tokens, which is assumed: no log of your own is loaded" in said(app)
    app = pasted(NOISE)
    app.switch_page("pages/noise_scale.py").run()
    assert "Drawn for the second half of your log" in said(app)
    app = pasted(NOISE.replace("tokens_small,tokens_big", "batch_small,batch_big"))
    app.switch_page("pages/noise_scale.py").run()
    assert "which is assumed: your log does not identify one in tokens" in said(app)


def test_a_clip_threshold_moves_with_the_batch_or_is_off():
    link = {"noise_scale": "1e6", "reference_tokens_per_step": "4e6", "seq_len": "1000", "micro_batch_size": "64"}
    app = unfolded(opened("pages/noise_scale.py", link), "noise_clip")
    assert (
        "1.12x its signal" in said(app)
        and "4.08x" in said(app)
        and "A clip threshold of 1 tuned there means the same here at 3.65" in said(app)
    )
    app = unfolded(opened("pages/noise_scale.py", link | {"clip_norm": "0"}), "noise_clip")
    assert not app.exception and "Clipping is off" in said(app)


def on_the_noise_page(text: str) -> str:
    app = pasted(text)
    app.switch_page("pages/noise_scale.py").run()
    assert not app.exception
    return said(app)


def test_a_log_without_its_batch_shows_the_noise_at_a_batch_of_one():
    rows = [f"{step},{1 + step % 3 / 50},{60 + step % 2}" for step in range(1, 40)]
    assert "the noise that a batch of 1 leaves" in on_the_noise_page("step,grad_sq_norm,trace\n" + "\n".join(rows))
    written = on_the_noise_page("progress,grad_sqr,grad_var\n" + "\n".join(rows))
    assert "the noise that the initial batch leaves" in written and "the run's batch" not in written


def test_early_rows_are_said_to_weigh_more_only_where_their_signal_is_larger():
    for direction, weigh_more in ((1, False), (-1, True)):
        rows = (f"{step},{50 - direction * (25 - step) + step % 2},900" for step in range(1, 50))
        written = on_the_noise_page("step,grad_sq_norm,trace\n" + "\n".join(rows))
        assert ("early rows, with a larger |G|², weigh more" in written) == weigh_more


def test_two_rows_and_a_spike_promise_no_number_of_rows():
    two = on_the_noise_page(f"{NORMS}\n1,64,1024,2.1,1.1\n2,64,1024,2.2,1.1")
    assert "three rows or more" in two and "would do" not in two and "log about" not in two
    rows = (f"{step},{1e6 if step == 30 else 1 + step % 3 / 50},{6e7 if step == 30 else 60}" for step in range(1, 40))
    spike = on_the_noise_page("step,grad_sq_norm,trace\n" + "\n".join(rows))
    assert "too far to bound the noise scale on either side" in spike and "would do" not in spike


def test_a_log_says_how_many_rows_make_it_sure_to_10_percent():
    assert "from 28 rows; 4 would do for 10 %" in said(opened("pages/noise_scale.py"))
    scattered = f"{NORMS}\n" + "\n".join(f"{step},64,1024,{4 + step % 3},{1.9 + step % 2}" for step in range(1, 12))
    app = pasted(scattered)
    app.switch_page("pages/noise_scale.py").run()
    assert "for 10 % log about" in said(app)


def test_a_layer_has_no_share_of_a_whole_whose_signal_is_not_clear_of_zero():
    hidden = "group,step,tokens_small,tokens_big,grad_sq_norm_small,grad_sq_norm_big\n" + "\n".join(
        f"{group},{step},64,1024,2,{big + step % 2 / 50}"
        for step in range(1, 40)
        for group, big in (("a", 0.05), ("b", 0.15))
    )
    app = pasted(hidden)
    app.switch_page("pages/noise_scale.py").run()
    table = next(table.value for table in unfolded(app, "noise_layers").table if "Share of |G|²" in table.value)
    assert set(table["Share of |G|²"]) == {"unknown"}
    assert table["Share of tr(Σ)"][0] == "100\u00a0%"


@pytest.mark.parametrize(
    "value, words",
    [(0.0955, "0.0955"), (68.0, "68"), (6.96e4, "6.96e4"), (-6e-7, "-6e-7"), (0.0, "0"), (np.nan, "unknown")],
)
def test_parts_of_the_noise_scale_are_written_at_any_size(value, words):
    assert noise.squared(value) == words
