"""JSON in the shapes in which people write a sweep, and what is JSON but no sweep."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bsmath import sweeps

ROWS = [{"batch_tokens": 32768, "tok/s": 100}, {"batch_tokens": 65536, "tok/s": 150}]
KEYS = "batch_tokens batch seq_len tok/s step_time_ms n_gpus model value results columns data null 8 16 loss".split()
KEYS += ["('LM (batch size 5)', 2)", "", "\ud800", "a\nb", "log_history", "model_type"]


def read(value, **answers):
    text = value if isinstance(value, str) else json.dumps(value)
    return sweeps.read(text.encode(), "x.json", answers)


def refusal(value):
    with pytest.raises(sweeps.SweepError) as error:
        read(value)
    return str(error.value)


@pytest.mark.parametrize(
    "value",
    [
        ROWS,
        {"batch_tokens": [32768, 65536], "tok/s": [100, 150]},
        {"index": [0, 1], "columns": ["batch_tokens", "tok/s"], "data": [[32768, 100], [65536, 150]]},
        {"0": ROWS[0], "1": ROWS[1]},
        {"batch_tokens": {"0": 32768, "1": 65536}, "tok/s": {"0": 100, "1": 150}},
        {"tok/s": {"32768": 100, "65536": 150}, "batch_unit": "tokens"},
        [["batch_tokens", "tok/s"], [32768, 100], [65536, 150]],
        {"results": ROWS},
        {"meta": {"date": "2024"}, "output": {"benchmarks": ROWS}},
        [{"config": {"batch_tokens": each["batch_tokens"]}, "metrics": {"tok/s": each["tok/s"]}} for each in ROWS],
        [{"batch_tokens": "32,768", "tok/s": "100"}, {"batch_tokens": "65536", "tok/s": "150 tok/s"}],
        {"32768": {"tok/s": 100}, "65536": {"tok/s": 150}},
        {"tokens_per_second": {"batch_32768": 100, "batch_65536": 150}},
        "\n".join(map(json.dumps, ROWS)),
        f"starting\n{json.dumps(ROWS[0])}\nstep 5 done\n{json.dumps(ROWS[1])}\nend",
        "[\n" + ",\n".join(map(json.dumps, ROWS)) + ',\n{"batch_tok',
    ],
)  # fmt: skip
def test_one_sweep_reads_the_same_in_every_shape(value):
    table = read(value, batch_unit="tokens").table
    assert table["tokens_per_step"].tolist() == [32_768, 65_536]
    assert table["tokens_per_second"].tolist() == [100, 150]


def test_scalars_beside_a_list_stand_in_each_of_its_rows():
    results = [{"batch_seqs": 8, "step_time_ms": 500}, {"batch_seqs": 16, "step_time_ms": 800}]
    sweep = read({"seq_len": 2048, "setup": {"n_gpus": 4}, "results": results})
    assert sweep.table["tokens_per_step"].tolist() == [16_384, 32_768]
    assert sweep.table["num_devices"].tolist() == [4, 4] and sweep.table["step_time"].tolist() == [0.5, 0.8]
    assert not sweep.questions and not sweep.problems


def test_a_value_of_the_record_comes_before_one_beside_the_list():
    results = [{"batch_seqs": 8, "tok/s": 1, "seq_len": 512}, {"batch_seqs": 16, "tok/s": 2}]
    table = read({"seq_len": 2048, "results": results}).table
    assert table["tokens_per_step"].tolist() == [8 * 512, 16 * 2048]


@pytest.mark.parametrize(
    "value",
    [
        {"A100": ROWS, "H100": ROWS},
        {"A100": {"batch_tokens": [32768, 65536], "tok/s": [100, 150]}, "H100": {"rows": ROWS}},
        {"runs": [{"gpu": "A100", "results": ROWS}, {"gpu": "H100", "results": ROWS}]},
        {gpu: {str(row["batch_tokens"]): {"tok/s": row["tok/s"]} for row in ROWS} for gpu in ("A100", "H100")},
        [row | {"gpu": gpu} for gpu in ("A100", "H100") for row in ROWS],
    ],
)
def test_the_keys_above_several_tables_tell_their_series_apart(value):
    sweep = read(value, batch_unit="tokens")
    assert sweep.series == ("A100", "H100")
    assert sweep.table["tokens_per_second"].tolist() == [100, 150, 100, 150]


def test_numbers_under_batch_sizes_are_asked_what_they_count():
    sweep = read({"8": 1234.5, "16": 2300})
    assert [question.key for question in sweep.questions] == ["result_unit", "seq_len"]
    assert sweep.questions[0].choices == ("tokens/s", "samples/s", "steps/s", "s per step")
    assert sweep.table["tokens_per_second"].tolist() == [1234.5, 2300]
    times = read({"8": 0.5, "16": 0.8}, result_unit="s per step", seq_len=1024)
    assert not times.questions
    assert times.table["tokens_per_second"].tolist() == [8 * 1024 / 0.5, 16 * 1024 / 0.8]


def test_numbered_steps_are_no_batch_sizes():
    said = refusal({"loss": {str(step): 3 - step / 10 for step in range(1, 9)}})
    assert said.startswith("x.json must hold measurements over batch size")


def test_a_list_of_repeats_is_a_row_each_and_other_lists_are_text():
    sweep = read([{"batch_tokens": 32768, "tok/s": [1, 2, 3], "mesh": [2, 4]}, {"batch_tokens": 65536, "tok/s": [5]}])
    assert sweep.table["tokens_per_second"].tolist() == [1, 2, 3, 5]
    assert sweep.table["row"].tolist() == [1, 1, 1, 2]


def test_unusable_values_are_named_by_the_number_of_their_record():
    cells = ["NaN", "Infinity", "null", "0", "true", '"OOM"', "1e999", "7"]
    sweep = read("[" + ",".join(f'{{"batch_tokens": 4096, "tok/s": {cell}}}' for cell in cells) + "]")
    assert sweep.table["row"].tolist() == [8]
    listed = [(problem.row, problem.what) for problem in sweep.problems if problem.row]
    assert listed[0] == (1, "'nan' is not a positive number") and listed[2] == (3, "the row has no result")
    assert [row for row, _ in listed] == [1, 2, 3, 4, 5, 6, 7]


def test_lines_of_json_keep_their_number_in_the_file_and_broken_ones_are_named():
    sweep = read('start\n{"batch_tokens": 1, "tok/s": 2}\n\n{"batch_tokens": 2, "to\n{"batch_tokens": 3, "tok/s": 4}\n')
    assert sweep.table["row"].tolist() == [2, 5]
    assert [(problem.row, problem.action) for problem in sweep.problems] == [(4, "line left out")]


def test_the_last_of_equal_keys_counts_and_is_said():
    sweep = read('[{"batch_tokens": 1, "batch_tokens": 2, "tok/s": 5}, {"batch_tokens": 4, "tok/s": 6}]')
    assert sweep.table["tokens_per_step"].tolist() == [2, 4]
    assert sweep.problems[0].what == "1 keys repeat one of the same object"


def test_a_comment_in_the_document_is_one_of_the_file():
    assert read({"comment": "measured on Tuesday", "results": ROWS}).comments == ("measured on Tuesday",)


def test_an_evaluation_rate_is_no_training_rate():
    sweep = read([row | {"eval_tokens_per_second": 9} for row in ROWS])
    assert sweep.table["tokens_per_second"].tolist() == [100, 150] and not sweep.questions


def gavel(**rates):
    keys = {"a": "('LM (batch size 5)', 1)", "b": "('LM (batch size 10)', 1)", "c": "('A3C', 1)"}
    return {"v100": {keys[key]: {"null": rate, keys["a"]: [1.0, 2.0]} for key, rate in rates.items()}}


def test_gavel_gives_the_jobs_that_run_alone_and_counts_the_pairs():
    sweep = read(gavel(a=4.0, b=3.0, c=1.0))
    assert [column.header for column in sweep.columns] == ["gpu", "workload", "batch_size", "n_gpus", "steps_per_s"]
    assert sweep.table["tokens_per_step"].tolist() == [5, 10] and sweep.table["tokens_per_second"].tolist() == [20, 30]
    assert [problem.what for problem in sweep.problems][:2] == [
        "the row has no batch",
        "3 rates are of two jobs that share a device",
    ]


def test_a_rate_of_zero_in_gavel_did_not_run():
    sweep = read(gavel(a=4.0, b=0.0))
    assert (sweep.problems[0].row, sweep.problems[0].what) == (2, "'0' is not a positive number")


@pytest.mark.parametrize(
    "value, got",
    [
        ({"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 4096, "vocab_size": 32000},
         "the configuration of a model, in which nothing was measured"),
        ({"train_micro_batch_size_per_gpu": 4, "zero_optimization": {"stage": 2}},
         "a configuration of DeepSpeed, in which nothing was measured"),
        ({"log_history": [{"step": 1, "loss": 3.0}], "train_batch_size": 8},
         "the trainer_state.json of Hugging Face, the log of one run"),
        ({"lm loss": {"start_step": 1, "step_interval": 1, "values": {"1": 10.9, "2": 10.8}}},
         "golden values of a Megatron test, the log of one run"),
        ({"_step": 9, "_runtime": 12.5, "batch_size": 8, "tok/s": 9}, "a W&B summary, the last values of one run"),
        ([{"step": 200, "train_loss": 1.7}, {"step": 400, "train_loss": 1.6}],
         "a list of 2 objects with the keys step, train_loss"),
        ({str(i): "x" for i in range(9)}, "an object with the keys 0, 1, 2, 3, 4, 5, 6, 7 and 1 more"),
        ([], "empty JSON"),
        ([1, 2], "a list of 2 values"),
    ],
)  # fmt: skip
def test_what_is_no_sweep_is_called_by_its_name(value, got):
    wanted = "measurements over batch size, such as a list of objects with a batch and a rate or a step time"
    assert refusal(value) == f"x.json must hold {wanted}, got {got}"


def test_records_without_a_batch_are_told_what_they_lack():
    assert refusal([{"tok/s": 1, "gpu": "A100"}]).startswith("x.json must have a batch column such as batch_tokens")


@pytest.mark.parametrize(
    "text, got",
    [
        ('{"a": ' * 100_000, "one that is nested too deeply"),
        ("[[" * 3000 + "]]" * 3000, "one that is nested too deeply"),
        ('{"a": 1,\n"b" 2}', "an error in line 2 (Expecting ':' delimiter)"),
        ("[" + "[]," * 1_000_001 + "[]]", "at most 1,000,000 JSON objects and lists, got more"),
    ],
)
def test_broken_deep_and_enormous_json_is_refused_in_a_sentence(text, got):
    assert refusal(text).endswith(got)


def test_an_integer_of_thousands_of_digits_is_no_batch():
    sweep = read('[{"batch_tokens": ' + "9" * 6000 + ', "tok/s": 1}, {"batch_tokens": 4, "tok/s": 1}]')
    assert sweep.table["tokens_per_step"].tolist() == [4]


def test_records_that_share_no_keys_are_refused_before_they_fill_the_memory():
    said = refusal([{f"key {i}": 1, "batch_tokens": 1, "tok/s": 2} for i in range(4000)])
    assert said == "x.json must hold records with a few keys each, got 4,000 with 4,002 different keys"


SCALARS = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from(["", "8", "nan", "1e9", "\ud800", "x"])
)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=5)
)


@settings(max_examples=500, deadline=None)
@given(value=VALUES, cut=st.integers(0, 40), seq_len=st.sampled_from([None, 512]))
def test_no_json_raises_anything_but_a_sweep_error(value, cut, seq_len):
    text = json.dumps(value)
    try:
        sweep = sweeps.read(text[: len(text) - cut if cut > 30 else None].encode(), "f", {"seq_len": seq_len})
    except sweeps.SweepError as error:
        assert "must" in str(error) and "\n" not in str(error)
        str(error).encode()
        return
    assert (sweep.table["tokens_per_step"] > 0).all()


@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.dictionaries(st.sampled_from(KEYS), SCALARS | st.lists(SCALARS, max_size=3), min_size=1), min_size=1)
)
def test_no_list_of_records_raises_anything_but_a_sweep_error(records):
    try:
        sweeps.read(json.dumps(records).encode(), "f")
    except sweeps.SweepError as error:
        assert "must" in str(error) and "\n" not in str(error)
