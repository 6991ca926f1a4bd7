"""The MoE page: a skewed router, what would be enough, definitions, and measured loads."""

from pages.ui import text
from tests.pages.test_logs import pasted, said
from tests.pages.test_smoke import opened

MIXTRAL = {
    "num_params": "46.7e9", "active_params": "12.9e9", "architecture": "mixtral_8x7b", "num_experts": "8", "top_k": "2",
    "accelerator": "h100_sxm", "micro_batch_size": "1", "seq_len": "4096", "data_parallel_size": "64",
}  # fmt: skip
LOADS = "layer,expert,top_k,count\n" + "\n".join(
    f"{layer},{expert},2,{1000 + 100 * layer * (expert - 3.5):.0f}" for layer in (1, 3) for expert in range(8)
)


def plain(app) -> str:
    return said(app).replace(text.GAP, " ").replace("\\", "")


def test_the_page_answers_whether_the_batch_is_too_small_for_the_experts():
    told = plain(opened("pages/moe_load.py", MIXTRAL))
    assert "**4,096 tokens routed together give each expert 1,024 on average, enough for a compute-bound matmul" in told
    assert "In a whole step each expert sees 65,536: not too small" in told
    assert "With uniform routing a capacity factor of 1.25 drops" in told


def test_a_skew_that_is_typed_says_that_no_batch_is_enough():
    app = opened("pages/moe_load.py", MIXTRAL)
    app.text_input(key="typed_router_skew").set_value("0.3").run()
    told = plain(app)
    assert not app.exception
    assert "With a router of skew 0.3 a capacity factor of 1.25 drops 4 %" in told
    assert "no batch brings the load CV down to 10 %: the router's own skew is 30 %" in told


def test_definitions_of_a_capacity_factor_are_converted():
    app = opened("pages/moe_load.py", MIXTRAL)
    assert not [table for table in app.table if "Same room" in table.value]  # closed sections are not run
    app.session_state["open_sections"] = {"capacities": True}
    tables = [table.value for table in app.run().table]
    found = next(table for table in tables if "Same room" in table)
    assert dict(zip(found["Definition"], found["Same room"], strict=True))["Switch Transformer"] == "2.5"


def test_measured_loads_are_mapped_and_predict_drops():
    app = opened("pages/moe_load.py", MIXTRAL)
    app.session_state["router_here"] = True
    app.run()
    assert not app.exception
    found = next(table.value for table in app.table if "Over sampling noise" in table.value)
    assert list(found)[:3] == ["Layer", "Skew", "Over sampling noise"]
    next(button for button in app.button if button.label == "Use the measured skew").click().run()
    assert not app.exception and "With a router of skew" in plain(app)


def test_own_loads_take_the_place_of_the_shipped_ones():
    app = pasted(LOADS)
    assert not app.exception and "Router loads" in " ".join(heading.value for heading in app.subheader)
    app.switch_page("pages/moe_load.py").run()
    app.session_state["router_here"] = True
    app.run()
    found = next(table.value for table in app.table if "Over sampling noise" in table.value)
    assert found["Layer"].tolist() == ["1", "3"] and found["Dropped at 1"].tolist() != ["0 %", "0 %"]


def test_the_skew_is_taken_from_a_typed_drop_rate_and_an_impossible_one_is_refused():
    app = opened("pages/moe_load.py", MIXTRAL)
    app.text_input(key="drop_rate").set_value("4").run()
    next(button for button in app.button if button.label == "Take the skew from it").click().run()
    assert not app.exception and "drops 4 % of them" in plain(app)
    for typed in ("99", "much", ""):
        app.text_input(key="drop_rate").set_value(typed).run()
        next(button for button in app.button if button.label == "Take the skew from it").click().run()
        assert not app.exception and "the skew before is kept" in plain(app)
