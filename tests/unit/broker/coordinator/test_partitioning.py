"""Where a group lives is what Java computes."""

import pytest

from odradek.broker.coordinator.partitioning import partition_for
from odradek.protocol.java_hash import java_hash


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", 0),
        ("a", 97),
        ("group", 98629247),
        ("polygenelubricants", -(1 << 31)),
        ("é", 233),
        ("😀", 55357 * 31 + 56832),
        ("console-consumer-12345", None),
    ],
)
def test_the_hash_is_that_of_java(text: str, value: int | None) -> None:
    """Over UTF-16 units, wrapped to 32 bits with a sign."""
    expected = 0
    units = text.encode("utf-16-be")
    for index in range(0, len(units), 2):
        expected = (31 * expected + int.from_bytes(units[index : index + 2], "big")) & 0xFFFFFFFF
    expected = expected - (1 << 32) if expected >> 31 else expected
    assert java_hash(text) == (expected if value is None else value)


def test_the_smallest_integer_has_no_absolute_value() -> None:
    """Kafka takes 0 for it."""
    assert partition_for("polygenelubricants", 50) == 0


def test_partitions_are_those_of_apache_kafka() -> None:
    """Kafka 4.3 put these groups there, of 50 partitions."""
    assert partition_for("", 50) == 0
    assert partition_for("s1", 50) == (115 * 31 + 49) % 50
