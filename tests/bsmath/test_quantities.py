import pytest
from hypothesis import given
from hypothesis import strategies as st

from bsmath.quantities import parse_number


@pytest.mark.parametrize(
    "text, value",
    [
        ("7.3e9", 7.3e9),
        ("7.3B", 7.3e9),
        ("7.3G", 7.3e9),
        ("512k", 512_000),
        ("512K", 512_000),
        ("512Ki", 524_288),
        ("1M", 1e6),
        ("4Mi", 4_194_304),
        ("2T", 2e12),
        ("2^20", 1_048_576),
        ("2**20", 1_048_576),
        ("4 096", 4096),
        ("4\u202f096", 4096),
        ("136,699", 136_699),
        ("1,234,567.5", 1_234_567.5),
        (" 48 ", 48),
        ("-0.5", -0.5),
        (".5", 0.5),
        ("1.7e-04", 1.7e-4),
        ("3.000000E-05", 3e-5),
    ],
)
def test_numbers_are_read_as_people_write_them(text, value):
    assert parse_number(text) == value


@pytest.mark.parametrize(
    "text",
    [
        "abc",
        "",
        " ",
        ".",
        "k",
        "1,5",
        "12,34",
        "1,2345",
        "4 96",
        "1,234 567",
        "1i",
        "719.1ms",
        "33%",
        "--1",
        "1e999",
        "9^9999",
    ]
    + ["nan", "NaN", "inf", "-inf", "Infinity", "0x10", "1_0", "١٢", "1e", "2^", "1 2"],
)
def test_anything_else_is_refused_with_the_rule_and_the_value(text):
    with pytest.raises(ValueError) as error:
        parse_number(text)
    assert str(error.value) == f"value must be a number such as 7.3e9, 7.3B, 512k or 2^20, got {text!r}"


@pytest.mark.parametrize(
    "text, value", [("1,5", 1.5), ("1.234,5", 1234.5), ("136.699", 136_699), ("4 096", 4096), ("7,3B", 7.3e9)]
)
def test_decimal_comma_is_read_where_it_is_asked_for(text, value):
    assert parse_number(text, decimal=",") == value


def test_decimal_point_is_refused_where_the_comma_is_the_mark():
    with pytest.raises(ValueError, match="must be a number"):
        parse_number("7.3", decimal=",")


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_what_python_prints_reads_back_exactly(value):
    assert parse_number(repr(value)) == value


@given(st.integers(min_value=0, max_value=10**15))
def test_thousands_separators_change_nothing(value):
    assert parse_number(f"{value:,}") == parse_number(str(value)) == value


@given(st.text(max_size=20))
def test_no_text_raises_anything_but_a_value_error(text):
    try:
        assert abs(parse_number(text)) < float("inf")
    except ValueError as error:
        assert str(error).startswith("value must be a number")
