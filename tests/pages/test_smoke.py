"""Every page, found by glob, runs without an exception: as it opens, with odd scenarios, and with a sweep over it."""

import json
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from bsmath.measured import measurement
from bsmath.sweeps import read
from pages.ui import text

ROOT = Path(__file__).parent.parent.parent
PAGES = ["app.py", *sorted(f"pages/{path.name}" for path in (ROOT / "pages").glob("*.py"))]

ODD = [
    {},
    {"goal": "budget", "optimizer": "sgd", "price_per_device_hour": "2.5"},
    {"fixed_time": "0", "padding_fraction": "0.5", "batch_unit": "sequences", "batch_scale": "linear"},
    {"num_params": "1e13", "data_parallel_size": "1000000", "grad_accum_steps": "1000000", "accelerator": "1e6"},
    {"critical_batch_size": "1e10", "min_steps": "1", "seq_len": "16", "micro_batch_size": "1", "num_experts": "1", "top_k": "1"},
    {"critical_batch_size": "100", "fixed_time": "100", "top_k": "64", "beta1": "0", "weight_decay": "0", "warmup_tokens": "0"},
    {"num_experts": "100000", "top_k": "1", "capacity_factor": "0.1", "expert_parallel_size": "100000", "clip_norm": "0"},
    {"new_data_parallel_size": "1000000", "new_micro_batch_size": "1", "rate_rule": "surge", "beta_rule": "half_life", "schedule": "wsd", "gradient_norm": "0"},
    {"goal": "budget", "micro_batch_size": "1000", "grad_accum_steps": "100000", "new_micro_batch_size": "1", "decay": "independent", "loss_average": "micro_batch", "padding_fraction": "0.5", "beta_rule": "malladi"},
    {"num_params": "abc", "mfu": "7", "colour": "red", "x" * 5000: "y" * 5000},
]  # fmt: skip


def opened(page: str, query: dict | None = None) -> AppTest:
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=30)
    app.query_params.update(query or {})
    if page != "app.py":
        app.switch_page(page)
    return app.run()


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("query", ODD, ids=lambda query: ",".join(query)[:40] or "default")
def test_page_runs(page, query):
    app = opened(page, query)
    assert not app.exception, app.exception
    assert app.header[0].value


@pytest.mark.parametrize("page", PAGES)
def test_page_names_what_a_link_got_wrong(page):
    app = opened(page, {"num_params": "abc", "mfu": "7", "colour": "red"})
    said = " ".join(warning.value for warning in app.warning)
    assert "got 'abc'" in said and "mfu must be from 0.01 to 1, got 7" in said and "'colour'" in said


@pytest.mark.parametrize("page", PAGES)
def test_every_page_repeats_the_scenario_in_words(page):
    app = opened(page, {"num_params": "7e9", "data_parallel_size": "64"})
    assert "7B dense, 64 x NVIDIA H200 SXM, 6.29M\u00a0tokens per step (3,072 x 2,048)" in app.caption[0].value


def test_overview_shows_the_default_run():
    metrics = {metric.label: metric.value for metric in opened("app.py").metric}
    assert metrics["Tokens per step"] == "98.3k"
    assert metrics["Rate [tok/s]"] == "136.8k"
    assert metrics["Steps to target"] == "558,600"
    assert metrics["Time to target"] == "4.65\u00a0days"


def test_a_slider_moves_the_scenario_and_undo_takes_it_back():
    app = opened("app.py")
    slider = next(one for one in app.select_slider if one.label == "Parameters")
    slider.set_value("7B").run()
    assert "7B dense" in app.caption[0].value
    next(button for button in app.button if button.label == "Undo").click().run()
    assert "796M dense" in app.caption[0].value


def test_a_typed_value_out_of_range_is_named_and_the_old_one_kept():
    app = opened("app.py")
    field = next(one for one in app.text_input if one.label == "MFU at the plateau, exact")
    field.set_value("7").run()
    assert "mfu must be from 0.01 to 1, got 7" in app.warning[0].value
    assert next(one for one in app.text_input if one.label == "MFU at the plateau, exact").value == "0.71"


def test_calibration_sets_the_plateau():
    app = opened("pages/throughput.py")
    app.text_input(key="calibrate_rate").set_value("120k")
    next(button for button in app.button if button.label == "Calibrate").click().run()
    metrics = {metric.label: metric.value for metric in app.metric}
    assert not app.warning and metrics["This run [tok/s]"] == "120k"


@pytest.mark.parametrize(
    "rate, sentence", [("", "got ''"), ("1e9", "the measured step must last longer"), ("9", "mfu must be")]
)
def test_impossible_calibration_is_named(rate, sentence):
    app = opened("pages/throughput.py")
    app.text_input(key="calibrate_rate").set_value(rate)
    next(button for button in app.button if button.label == "Calibrate").click().run()
    assert not app.exception and sentence in app.warning[0].value


def test_a_published_run_loads_and_says_what_is_published():
    app = opened("app.py")
    app.selectbox(key="pick_run").set_value("llama_3_1_405b").run()
    assert "405B dense, 16,384 x NVIDIA H100 SXM" in app.caption[0].value
    assert "Source:" in app.info[0].value


def test_the_example_lies_over_the_theory_and_its_fit_moves_the_scenario():
    app = opened("pages/upload.py")
    app.button(key="example_throughput").click().run()
    assert not app.exception and not app.warning
    app.switch_page("pages/throughput.py").run()
    chart = json.loads(app.get("plotly_chart")[0].proto.spec)
    assert any(trace["name"].startswith("fit of") for trace in chart["data"])
    next(button for button in app.button if button.label == "Use fitted values").click().run()
    example = next((ROOT / "data/measured").glob("throughput_cpu_*.csv"))
    found = measurement(read(example.read_bytes(), example.name), "all rows", "tokens_per_second")
    metrics = {metric.label: metric.value for metric in app.metric}
    assert metrics["Plateau [tok/s]"] == text.count(found.fit.plateau, 4)
    assert "222k dense" in app.caption[0].value
    app.switch_page("app.py").run()
    assert "fitted to the loaded sweep" in " ".join(paragraph.value for paragraph in app.markdown)


@pytest.mark.parametrize("kind", ["throughput", "convergence", "noise", "branch", "router"])
def test_every_shipped_measurement_is_read_and_drawn(kind):
    app = opened("pages/upload.py")
    app.button(key=f"example_{kind}").click().run()
    assert not app.exception and not app.warning
    assert app.get("plotly_chart")
    app.switch_page("pages/critical_batch.py").run()
    assert not app.exception


def test_steps_at_the_best_rate_of_each_batch_come_with_the_rates():
    app = opened("pages/upload.py")
    app.button(key="example_convergence").click().run()
    rates = next(table.value for table in app.table if "Best rate" in table.value)
    assert len(rates) == 8 and rates["Runs that never arrived"].sum() > 0


def test_a_log_of_ones_own_takes_the_place_of_the_shipped_one():
    app = opened("pages/upload.py")
    rows = "\n".join(f"{step},{step % 2 + 4},{300 - step}" for step in range(1, 41))
    app.text_area(key="pasted").set_value(f"step,grad_sq_norm,trace\n{rows}")
    next(button for button in app.button if button.label == "Read the pasted text").click().run()
    assert not app.exception and "noise-scale log" in app.info[0].value
    app.switch_page("pages/noise_scale.py").run()
    assert not app.exception and "From your pasted text" in " ".join(caption.value for caption in app.caption)


def test_the_published_models_lie_over_the_hyperbola():
    app = opened("pages/upload.py")
    app.button(key="example_zhang").click().run()
    app.switch_page("pages/critical_batch.py").run()
    assert not app.exception
    said = " ".join(one.value for one in app.markdown)
    assert "**85M**" in said and "The knee lies inside the sweep" in said and "next: about" in said


def test_a_shipped_example_is_not_called_the_users_own():
    app = opened("pages/upload.py")
    for kind in ("noise", "branch", "router"):
        app.button(key=f"example_{kind}").click().run()
    for page, heading in (("pages/critical_batch.py", "side by side"), ("pages/moe_load.py", "by you")):
        app.switch_page(page).run()
        assert not any(heading in one.value for one in app.subheader)
    app.switch_page("pages/noise_scale.py").run()
    assert not any("From your" in caption.value for caption in app.caption)


def test_a_log_of_the_ratio_alone_is_drawn_without_an_average():
    app = opened("pages/upload.py")
    app.text_area(key="pasted").set_value("step,gns\n1,100\n2,200\n3,250")
    next(button for button in app.button if button.label == "Read the pasted text").click().run()
    app.switch_page("pages/noise_scale.py").run()
    assert not app.exception and "the ratio alone" in app.markdown[0].value


def test_the_critical_batch_page_lays_three_measurements_beside_each_other():
    app = opened("pages/critical_batch.py")
    table = next(table.value for table in app.table if "Measured by" in table.value)
    assert list(table["Measured by"].unique()) == ["hyperbola", "noise scale", "branched run"]
    assert table["Against the first"].iloc[0] == "1x"


PASTED = [
    ("", "empty"),
    ("batch_tokens,step_time_s\n", "row"),
    ("batch_tokens,step_time_s\n1024,nan\n2048,nan\n", "step_time"),
    ("batch_tokens,steps_to_target\n0,100\n-5,80\n", "batch"),
    ("apples,pears\n1,2\n3,4\n", "batch"),
]


@pytest.mark.parametrize("pasted, word", PASTED)
def test_unreadable_text_is_one_sentence(pasted, word):
    app = opened("pages/upload.py")
    app.text_area(key="pasted").set_value(pasted)
    next(button for button in app.button if button.label == "Read the pasted text").click().run()
    assert not app.exception and len(app.warning) == 1 and word in app.warning[0].value.replace("\\", "")


def test_text_from_a_link_cannot_bring_an_image():
    app = opened("app.py", {"goal": "![x](http://example.org/x.png)"})
    assert "![x]" not in app.warning[0].value and "!\\[x\\]" in app.warning[0].value


@pytest.mark.parametrize("answered", [64, None])
def test_a_question_about_the_file_is_asked_with_the_scenario_s_answer(answered):
    app = opened("pages/upload.py")
    app.text_area(key="pasted").set_value("local_bsz,step_time\n4,0.5\n8,0.8\n16,1.5\n")
    next(button for button in app.button if button.label == "Read the pasted text").click().run()
    assert app.number_input(key="answer_1_seq_len").value == 2048
    app.number_input(key="answer_1_seq_len").set_value(answered).run()
    assert not app.exception
    assert app.number_input(key="answer_1_seq_len").value == answered, "an answered question can be answered again"
