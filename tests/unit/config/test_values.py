"""Texts and values, against the table that Apache Kafka 4.3's ConfigDef printed."""

import pytest

from odradek.config.values import ConfigType, Value, parse, to_text, trim

N, L, S, D, B, T, X = (
    ConfigType.INT,
    ConfigType.LONG,
    ConfigType.SHORT,
    ConfigType.DOUBLE,
    ConfigType.BOOLEAN,
    ConfigType.STRING,
    ConfigType.LIST,
)

ACCEPTED: list[tuple[ConfigType, str, Value, str]] = [
    (N, "5", 5, "5"),
    (N, "+5", 5, "5"),
    (N, "-5", -5, "-5"),
    (N, " 7 ", 7, "7"),
    (N, "٣", 3, "3"),
    (N, "2147483647", 2147483647, "2147483647"),
    (N, "-2147483648", -2147483648, "-2147483648"),
    (L, "99999999999", 99999999999, "99999999999"),
    (S, "-32768", -32768, "-32768"),
    (D, "5", 5.0, "5.0"),
    (D, "99999999999", 99999999999.0, "9.9999999999E10"),
    (D, "99999999999999999999", 1e20, "1.0E20"),
    (D, "1e3", 1000.0, "1000.0"),
    (D, "Infinity", float("inf"), "Infinity"),
    (D, "-Infinity", float("-inf"), "-Infinity"),
    (D, "1d", 1.0, "1.0"),
    (D, "1f", 1.0, "1.0"),
    (D, "1.", 1.0, "1.0"),
    (D, ".5", 0.5, "0.5"),
    (D, "+1.5", 1.5, "1.5"),
    (D, "1.7976931348623157E308", 1.7976931348623157e308, "1.7976931348623157E308"),
    (B, "true", True, "true"),
    (B, "TRUE", True, "true"),
    (B, " False ", False, "false"),
    (X, "", (), ""),
    (X, " ", (), ""),
    (X, "a,b", ("a", "b"), "a,b"),
    (X, "a , b", ("a", "b"), "a,b"),
    (X, ",", ("", ""), ","),
    (X, "a,", ("a", ""), "a,"),
    (X, "a,,b", ("a", "", "b"), "a,,b"),
    (X, " a ", ("a",), "a"),
    (X, "\u00a0a\u00a0", ("\u00a0a\u00a0",), "\u00a0a\u00a0"),
    (T, " a , b ", "a , b", "a , b"),
    (T, "\0a", "a", "a"),
    (T, "", "", ""),
]
REFUSED = [
    *((kind, text) for kind in (N, L, S) for text in ("", " ", "1_000", "0x10", "5L", "5.0", "1e3", "NaN", "-", "--5")),
    *((kind, "9" * 5000) for kind in (N, L, S)),
    (N, "2147483648"),
    (S, "32768"),
    (L, "99999999999999999999"),
    *((D, text) for text in ("", " ", "1_000", "0x10", "5L", "٣", "inf", "nan", "true", "1,5", "e", "d", ".", "1ff")),
    *((B, text) for text in ("", "yes", "1", "t", "truefalse")),
]


@pytest.mark.parametrize(("kind", "text", "value", "shown"), ACCEPTED)
def test_texts_that_kafka_accepts_mean_the_same(kind: ConfigType, text: str, value: Value, shown: str) -> None:
    """Parsing gives Kafka's value, and writing it gives Kafka's text."""
    assert parse(kind, text) == value
    assert to_text(parse(kind, text)) == shown


@pytest.mark.parametrize(("kind", "text"), REFUSED)
def test_texts_that_kafka_refuses_are_refused(kind: ConfigType, text: str) -> None:
    """A text that is no value of the type is a ValueError that says what was expected."""
    with pytest.raises(ValueError, match="expected"):
        parse(kind, text)


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0.5, "0.5"),
        (0.001, "0.001"),
        (0.0001, "1.0E-4"),
        (1e7, "1.0E7"),
        (12345678.9, "1.23456789E7"),
        (9999999.5, "9999999.5"),
        (-123456789012.0, "-1.23456789012E11"),
        (-0.0, "-0.0"),
        (float("nan"), "NaN"),
    ],
)
def test_doubles_are_written_as_java_writes_them(number: float, text: str) -> None:
    """DescribeConfigs shows a double as Double.toString does."""
    assert to_text(number) == text


def test_null_has_no_text() -> None:
    """A key without value stays without."""
    assert to_text(None) is None


def test_trim_takes_control_characters_and_leaves_other_blanks() -> None:
    """Java's trim knows nothing of Unicode's blanks."""
    assert trim("\t\r\n\x00 a\u2003 ") == "a\u2003"


def test_type_codes_are_those_of_describe_configs() -> None:
    """The number of a type on the wire (KIP-569)."""
    codes = {kind.name: kind.code for kind in ConfigType}
    assert codes == {
        "BOOLEAN": 1,
        "STRING": 2,
        "INT": 3,
        "SHORT": 4,
        "LONG": 5,
        "DOUBLE": 6,
        "LIST": 7,
        "CLASS": 8,
        "PASSWORD": 9,
    }
