"""The comparison with Apache Kafka finds what differs and only that."""

import uuid

import pytest

from tests.interop.differential.compare import ABSENT, NOT_ASKED, Difference, differences, summary
from tests.interop.differential.intended import Intended
from tests.interop.differential.normalise import Comparable, normalise
from tests.interop.differential.play import STOPPED


def test_what_must_differ_is_replaced() -> None:
    """Addresses, ids and times become the names of their fields."""
    one = {"host": "a", "port": 1, "topic_id": uuid.UUID(int=5), "log_append_time_ms": 7, "error_message": "no"}
    two = {"host": "b", "port": 2, "topic_id": uuid.UUID(int=6), "log_append_time_ms": 8, "error_message": "nein"}
    assert normalise(one) == normalise(two)


def test_none_is_told_from_some() -> None:
    """An id of zero, a port or a time of -1 and an empty host mean something, and stay."""
    some = {"host": "a", "port": 1, "topic_id": uuid.UUID(int=5), "timestamp": 7}
    for name, none in {"host": "", "port": -1, "topic_id": uuid.UUID(int=0), "timestamp": -1}.items():
        assert normalise({**some, name: none}) != normalise(some)


def test_order_matters_only_where_it_means_something() -> None:
    """Topics may come in any order, the nodes of a replica set may not."""
    assert normalise({"topics": [{"name": "a"}, {"name": "b"}]}) == normalise(
        {"topics": [{"name": "b"}, {"name": "a"}]}
    )
    assert normalise({"replica_nodes": [1, 2]}) != normalise({"replica_nodes": [2, 1]})


def test_bytes_are_compared_by_content() -> None:
    """Records that differ in one byte differ."""
    assert normalise({"records": b"ab"}) == normalise({"records": b"ab"})
    assert normalise({"records": b"ab"}) != normalise({"records": b"ac"})


def test_every_kind_of_difference_is_found() -> None:
    """A value, a type, a missing field, a list of another length, an answer that only one gave."""
    kafka: dict[str, Comparable] = {"A v1": {"x": 1, "y": [1, 2], "z": [{"a": 0}], "gone": 1}, "B v1": {}}
    ours: dict[str, Comparable] = {"A v1": {"x": 2, "y": [1], "z": [{"a": False}]}, "C v1": {}}
    assert differences(kafka, ours) == [
        Difference("A v1", ".x", 1, 2),
        Difference("A v1", ".y", [1, 2], [1]),
        Difference("A v1", ".z[0].a", 0, False),
        Difference("A v1", ".gone", 1, ABSENT),
        Difference("B v1", "", {}, NOT_ASKED),
        Difference("C v1", "", NOT_ASKED, {}),
    ]


def test_a_scenario_that_apache_kafka_cannot_follow_is_an_error() -> None:
    """Two brokers that both stop early are not equal: the scenario is wrong."""
    with pytest.raises(AssertionError, match="the scenario itself is wrong"):
        differences({STOPPED: "why"}, {STOPPED: "why"})


def test_one_difference_at_many_versions_is_one_line() -> None:
    """The summary names the versions behind the difference."""
    found = [Difference(f"ask: Fetch v{version}", ".x", 1, 2) for version in (4, 5)]
    assert summary(found) == "ask: Fetch .x: Apache Kafka 1, odradek 2 (v4 v5)"


def test_a_difference_by_intent_covers_its_scenario_only() -> None:
    """An entry is for one scenario, with shell patterns for answers and fields."""
    entry = Intended("fetch", "ask: Fetch v*", ".topics*.x", "1", "2", "because")
    assert entry.covers("fetch", Difference("ask: Fetch v7", ".topics[0].x", 1, 2))
    assert not entry.covers("produce", Difference("ask: Fetch v7", ".topics[0].x", 1, 2))
    assert not entry.covers("fetch", Difference("ask: Fetch v7", ".topics[0].y", 1, 2))
