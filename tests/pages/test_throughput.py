"""The Throughput page: what it says of the founding question, of memory and splits, of a pasted config.json."""

import json

from streamlit.testing.v1 import AppTest

from bsmath import link, model_shape, presets
from bsmath.link import View
from bsmath.scenario import Scenario
from tests.pages.test_smoke import opened

LLAMA = {
    "num_params": "8.03e9", "architecture": "llama_3_1_8b", "seq_len": "2048", "accelerator": "h100_sxm", "mfu": "0.4",
    "micro_batch_size": "1", "data_parallel_size": "64", "zero_stage": "1", "micro_batch_time": "0.02",
}  # fmt: skip
CONFIG = {
    "model_type": "llama", "hidden_size": 2048, "num_hidden_layers": 16, "num_attention_heads": 32, "num_key_value_heads": 8,
    "head_dim": 64, "intermediate_size": 8192, "vocab_size": 128256, "tie_word_embeddings": True,
}  # fmt: skip


def said(app: AppTest) -> str:
    return " ".join(one.value for one in app.markdown).replace("\u00a0", " ")


def page(query: dict, *parts: str) -> AppTest:
    app = opened("pages/throughput.py", query)
    for part in parts:
        app.session_state[f"part_{part}"] = True
    return app.run() if parts else app


def founding() -> dict:
    return link.to_query(Scenario(**presets.runs()["founding_question"].fields), View())


def test_founding_question_is_answered_in_its_first_sentence():
    first = page(founding()).markdown[0].value.replace("\u00a0", " ").split(". **")[0]
    assert first.startswith("**This run is compute-bound**: doubling the batch gives **at most 9.8 % more tok/s**")
    assert "no batch more than 21.7 %" in first and "136.7k tok/s at MFU 66 % imply **N = 796M** by 6N" in first
    assert "the batch that reaches the target soonest is **26.2k to 598k tokens**, over t_fixed from 5 ms to" in first
    assert "B_crit from 1M to" in first


def test_founding_question_tells_the_run_s_mfu_from_the_plateau_s():
    assert "MFU 66 % is this run's, the plateau's is 71 %" in said(page(founding()))


def test_founding_question_learns_what_a_smaller_batch_frees():
    text = said(page(founding()))
    assert "48 sequences of 2,048 may fit" in text
    assert "Micro-batches of 24 free" in text and "sequences of 4,096 instead of 2,048" in text


def test_a_step_names_its_longest_part():
    assert "93 % is compute at the plateau's rate" in said(page(founding()))
    slow = said(page({"micro_batch_size": "1", "data_parallel_size": "64", "accelerator": "h100_sxm"}))
    assert "is communication not hidden**: larger micro-batches hide more of it" in slow


def test_splits_of_a_wanted_batch_stand_in_order_and_the_first_can_be_used():
    app = page(LLAMA, "splits")
    wanted = next(one for one in app.number_input if one.label.startswith("Wanted global batch"))
    wanted.set_value(1024).run()
    table = next(one.value for one in app.dataframe if "Accumulation" in one.value)
    assert (table["Micro-batch [sequences]"] * table["Accumulation"] * table["Replicas"] == 1024).all()
    next(button for button in app.button if button.label == "Use the first split").click().run()
    assert "(1,024 x 2,048)" in app.caption[0].value


def test_an_impossible_batch_is_answered_with_the_nearest():
    app = page(LLAMA, "splits")
    next(one for one in app.number_input if one.label.startswith("Wanted global batch")).set_value(1000).run()
    assert "The nearest that are: **960** and **1,024** sequences" in said(app)


def test_a_pasted_config_fills_the_model():
    app = page({}, "dimensions")
    app.text_area(key="config_text").set_value(json.dumps(CONFIG)).run()
    next(button for button in app.button if button.label == "Use these dimensions").click().run()
    assert "1.24B dense" in app.caption[0].value
    assert "16 layers of width 2,048, 32 heads of 64 (8 for keys and values)" in said(app)
    assert "1.236B parameters by its dimensions" in " ".join(info.value for info in app.info)


def test_a_wrong_config_is_named_and_changes_nothing():
    app = page({}, "dimensions")
    app.text_area(key="config_text").set_value('{"hidden_size": -4}').run()
    next(button for button in app.button if button.label == "Use these dimensions").click().run()
    assert "the dimensions before are kept" in app.warning[0].value and "796M dense" in app.caption[0].value


def test_dimensions_of_another_model_are_said_not_to_be_used():
    assert "they describe another model and are not used" in said(page({"architecture": "llama_3_1_8b"}, "dimensions"))


def test_one_rate_is_read_by_every_count():
    app = page(LLAMA | {"seq_len": "8192", "recompute": "full"}, "work")
    table = next(one.value for one in app.dataframe if "Counted" in one.value)
    assert table["Counted"].tolist()[-1] == "executed, recomputation full (HFU)" and len(table) == 4


def test_the_page_says_why_an_unweighted_fit_differs():
    text = said(page({}, "bloom"))
    assert "181.6 TFLOP/s" in text and "326" in text and "168.5 TFLOP/s" in text and "weighs absolute errors" in text


def test_every_part_opens_without_an_exception():
    parts = ("memory_parts", "splits", "dimensions", "work", "bloom")
    for query in ({}, LLAMA, {"accelerator": "1e15"}, {"num_params": "1e13", "data_parallel_size": "1000000"}):
        app = page(query, *parts)
        assert not app.exception, app.exception


def test_a_sparse_peak_is_warned_of_and_a_dense_one_is_not():
    warned = " ".join(one.value for one in page({"accelerator": "1979e12"}).warning)
    assert "is the 2:4-sparse BF16 figure of NVIDIA H100 SXM" in warned
    assert not page({"accelerator": "989e12"}).warning


def test_an_mfu_above_the_fastest_measured_matmul_is_questioned():
    assert "is above the fastest BF16 matmul measured on NVIDIA H200 SXM" in said(page({"mfu": "0.95"}))


def test_utilization_and_attention_are_told_from_mfu():
    text = said(page(founding()))
    assert "GPU utilization is not MFU" in text and "counted with attention's scores (PaLM's count" in text


def test_overview_says_what_communication_adds_to_the_fixed_time():
    assert "of communication that nothing hides come on top" in said(opened("app.py", LLAMA | {"overlap": "0"}))
    assert "come on top" not in said(opened("app.py"))


def test_a_run_whose_steps_wait_is_not_called_compute_bound():
    waiting = LLAMA | {"zero_stage": "3", "grad_accum_steps": "64", "micro_batch_time": "0", "network_bandwidth": "5e9"}
    first = page(waiting).markdown[0].value.replace("\u00a0", " ")
    assert "but not because it computes" in first and "communication not hidden" in first
    assert "compute-bound" not in first


def test_an_fp8_run_has_no_ceiling_measured_in_bf16():
    text = said(page(LLAMA | {"precision": "fp8"}))
    assert "fastest BF16 matmul" not in text and "The longest t_fixed is the assumed one" in text


def test_sequences_that_no_device_could_attend_over_at_this_mfu_are_questioned():
    warned = " ".join(one.value for one in page({"seq_len": "1048576", "micro_batch_size": "1"}).warning)
    assert "of the peak, which is impossible" in warned.replace("\u00a0", " ")


def test_every_model_preset_is_counted_with_its_own_dimensions():
    for name, model in presets.models().items():
        if model.architecture is not None:
            fields = model_shape.fields_of(model.architecture)
            assert not model_shape.of(Scenario(**fields)).assumed, name


def test_equal_splits_keep_the_larger_micro_batch_first():
    app = page({}, "splits")
    table = next(one.value for one in app.dataframe if "Accumulation" in one.value)
    assert table["Micro-batch [sequences]"].tolist() == sorted(table["Micro-batch [sequences]"], reverse=True)


def test_a_falling_sweep_promises_nothing_beyond_its_best_batch():
    sizes = [2048 * 2**i for i in range(6)]
    rows = [(size, round(size / (0.05 + size / 1e5))) for size in sizes] + [(2048 * 64, 60_000)]
    text = "batch_tokens,tokens_per_s\n" + "\n".join(f"{batch},{rate}" for batch, rate in rows)
    app = opened("pages/upload.py")
    app.text_area(key="pasted").set_value(text).run()
    next(button for button in app.button if button.label == "Read the pasted text").click().run()
    app.switch_page("pages/throughput.py").run()
    assert "Beyond its best batch the rate falls" in said(app)
