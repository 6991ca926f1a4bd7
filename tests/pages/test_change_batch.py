"""The Change batch page as a user works it: 8 devices to 64, a pasted configuration, and the settings to paste back."""

import pytest

from pages.ui import text
from tests.pages.test_logs import pasted, said
from tests.pages.test_smoke import opened

EIGHT = {"data_parallel_size": "8"}
RATES = "batch_tokens,lr,val_loss\n" + "\n".join(
    f"{2**power},{rate * 2**offset:.6g},{3 + offset**2 / 50}"
    for power, rate in zip(range(14, 22), (1e-4, 2e-4, 3.2e-4, 5e-4, 6.6e-4, 8e-4, 9e-4, 9.5e-4), strict=True)
    for offset in (-2, -1, 0, 1, 2)
)


def plain(app) -> str:
    return said(app).replace(text.GAP, " ").replace("\\", "")


def test_eight_devices_to_sixty_four_names_settings_costs_and_configuration():
    app = opened("pages/change_batch.py", EIGHT)
    assert "The new run is the old one" in said(app)
    app.number_input(key="choice_new_data_parallel_size").set_value(64).run()
    told = plain(app)
    assert not app.exception
    assert (
        "From 8 devices to 64 devices the batch goes from 786k tokens to 6.29M tokens (8x): peak rate 3.84e-4 to 7.53e-4"
        in told
    )
    assert (
        "Changing nothing else would cost: left at 113,600 steps the run reads 715B tokens, 1.96 times what it needs"
        in told
    )
    assert "moved by a factor 8 (replicas) and the rate did not" in told
    code = app.code[-1].value if "--global-batch-size" in app.code[-1].value else app.code[0].value
    assert "--global-batch-size 3072" in code and "--lr 0.0007526" in code


def test_a_rate_tuned_at_another_batch_is_said_and_can_be_the_old_runs_own():
    app = opened("pages/change_batch.py", EIGHT)
    assert (
        "rate of 3e-4 was tuned at 524k tokens per step; the rule takes it to 3.84e-4 at the old run's 786k tokens"
        in plain(app)
    )
    next(button for button in app.button if button.label == "No: 3e-4 is the old run's rate").click().run()
    assert "was tuned at" not in plain(app)
    assert {metric.label: metric.value for metric in app.metric}["Peak rate"] == "3e-4"


def test_the_old_batch_on_the_new_devices_is_one_click_away():
    app = opened("pages/change_batch.py", EIGHT | {"new_data_parallel_size": "64"})
    assert "Faster on the same devices: 384 sequences" in plain(app)
    next(button for button in app.button if button.label == "Use 384 sequences").click().run()
    assert app.number_input(key="choice_new_micro_batch_size").value == 6
    assert "the batch goes from 786k tokens to 786k tokens" in plain(app)


def test_the_new_run_becomes_this_run():
    app = opened("pages/change_batch.py", EIGHT | {"new_data_parallel_size": "64"})
    next(button for button in app.button if button.label == "Make the new run this run").click().run()
    assert "64 x NVIDIA H200 SXM" in app.caption[0].value
    assert "The new run is the old one" in said(app)


def test_a_wanted_batch_that_does_not_divide_is_answered():
    app = opened("pages/change_batch.py", {"new_micro_batch_size": "2", "new_data_parallel_size": "18"})
    wanted = next(field for field in app.number_input if field.label == "Wanted global batch [sequences]")
    wanted.set_value(256).run()
    assert "256 cannot hold" in said(app) and "252 (accumulation 7) and 288 (accumulation 8)" in said(app)


def test_a_pasted_configuration_is_the_old_run_and_a_foreign_text_is_refused():
    app = opened("pages/change_batch.py")
    app.session_state["open_sections"] = {"old_run": True}
    app.run()
    app.text_area(key="old_config").set_value("--micro-batch-size 4 --global-batch-size 64 --seq-length 4096 --lr 1e-3")
    next(button for button in app.button if button.label == "Read it").click().run()
    assert "Read as Megatron-LM" in plain(app) and not app.exception
    assert "262k tokens per step" in plain(app)
    app.text_area(key="old_config").set_value("hello <b>")
    next(button for button in app.button if button.label == "Read it").click().run()
    assert "got one without any of their settings; the run before is kept." in plain(app) and not app.exception


@pytest.mark.parametrize(
    "query",
    [{"learning_rate": "1e-8", "rate_rule": "linear", "data_parallel_size": "8", "new_data_parallel_size": "1"}],
)
def test_a_setting_out_of_range_is_a_sentence(query):
    app = opened("pages/change_batch.py", query)
    assert not app.exception
    assert "This change has no settings to offer: learning_rate must be from 1e-08" in plain(app)


def test_a_grid_of_rates_is_drawn_on_upload_and_on_the_learning_rate_page():
    app = pasted(RATES)
    assert not app.exception and "law describes the optima best" in said(app)
    app.switch_page("pages/learning_rate.py").run()
    assert not app.exception
    assert "Measured by you" in [heading.value for heading in app.subheader]
    next(button for button in app.button if button.label == "Use the fitted rate").click().run()
    assert not app.exception and "reference_tokens_per_step" in app.code[0].value


def test_a_grid_at_its_edge_is_refused_on_the_page():
    app = pasted(
        "batch_tokens,lr,val_loss\n" + "\n".join(f"{2**p},{r},{3 - r}" for p in (14, 15, 16) for r in (0.1, 0.2, 0.4))
    )
    assert not app.exception and "No law is fitted: learning_rate must be tried on both sides" in plain(app)
