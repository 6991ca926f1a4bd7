import pytest

from bsmath import dimensions, presets
from bsmath.architecture import Architecture

LLAMA = Architecture(num_layers=32, hidden_size=4096, num_heads=32, num_kv_heads=8, ffn_size=14336, vocab_size=128256)
NAMED = [name for name, model in presets.models().items() if model.architecture is not None]


@pytest.mark.parametrize("name", NAMED)
def test_every_preset_survives_being_written_out(name):
    architecture = presets.models()[name].architecture
    assert dimensions.read(dimensions.write(architecture)) == architecture


def test_dimensions_of_a_preset_are_written_as_its_name():
    assert dimensions.write(LLAMA) == "llama_3_1_8b"


def test_other_dimensions_are_written_by_what_differs_from_the_defaults():
    own = Architecture(
        num_layers=2, hidden_size=96, num_heads=5, head_dim=16, ffn_size=256, vocab_size=512, gated_mlp=False
    )
    text = dimensions.write(own)
    assert text == "num_layers=2 hidden_size=96 num_heads=5 vocab_size=512 ffn_size=256 head_dim=16 gated_mlp=no"
    assert dimensions.read(text) == own


def test_text_is_read_with_commas_and_readable_numbers():
    text = "num_layers=32, hidden_size=4k, num_heads=32, num_kv_heads=8, ffn_size=14336, vocab_size=128256"
    read = dimensions.read(text)
    assert read.hidden_size == 4000 and read.num_kv_heads == 8


@pytest.mark.parametrize(
    "text, words",
    [
        ("a model", "architecture must be the name of a model with dimensions or name=number for num_layers"),
        ("minimax_01", "must be the name of a model with dimensions"),
        ("num_layers=2 hidden_size=96", "architecture must name num_heads, vocab_size, ffn_size, got"),
        ("num_layers=two", "num_layers must be a whole number, got 'two'"),
        ("gated_mlp=maybe", "gated_mlp must be yes or no, got 'maybe'"),
        ("num_layers=2.5 hidden_size=96 num_heads=4 vocab_size=9 ffn_size=9", "num_layers must be"),
        (
            "num_layers=2 hidden_size=96 num_heads=5 vocab_size=9 ffn_size=9",
            r"num_heads must divide hidden_size \(96\), got 5",
        ),
        ("x" * 2000, "architecture must have at most 1000 characters, got 2,000"),
    ],
)
def test_what_cannot_be_read_is_named(text, words):
    with pytest.raises(ValueError, match=words):
        dimensions.checked(text)


def test_blank_text_names_no_dimensions():
    assert dimensions.checked("  ") == ""
