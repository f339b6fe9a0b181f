"""DescribeCluster and DescribeTopicPartitions."""

import pytest

from odradek.broker.handlers.cluster import MOST_TOPICS
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.describe_cluster import DescribeClusterRequest
from odradek.protocol.messages.describe_topic_partitions import (
    Cursor,
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    TopicRequest,
)
from tests.unit.broker.handlers.metadata_support import Admin, at, new_admin
from tests.unit.broker.metadata.support import create

Page = tuple[list[tuple[str | None, list[int]]], tuple[str, int] | None]


def with_topics() -> Admin:
    """Return handlers of a cluster with topics a (3 partitions), b (1) and c (2)."""
    admin = new_admin()
    for name, partitions in (("c", 2), ("a", 3), ("b", 1)):
        create(admin.controller, name, partitions)
    return admin


def ask(admin: Admin, *names: str, limit: int = 2000, cursor: Cursor | None = None) -> DescribeTopicPartitionsResponse:
    """Ask for a page."""
    request = DescribeTopicPartitionsRequest(
        topics=[TopicRequest(name=name) for name in names], response_partition_limit=limit, cursor=cursor
    )
    return admin.cluster.describe_topic_partitions(at(0), request)


def page(response: DescribeTopicPartitionsResponse) -> Page:
    """Return topics with the indexes of their partitions, and the cursor."""
    cursor = response.next_cursor
    return (
        [(topic.name, [p.partition_index for p in topic.partitions]) for topic in response.topics],
        (cursor.topic_name, cursor.partition_index) if cursor else None,
    )


def test_cluster_is_this_node() -> None:
    """Id, controller, and the address that the client reaches it by."""
    response = new_admin().cluster.describe_cluster(
        at(2), DescribeClusterRequest(include_cluster_authorized_operations=True)
    )
    (broker,) = response.brokers
    assert (broker.broker_id, broker.host, broker.port, broker.is_fenced) == (1, "192.0.2.1", 9092, False)
    assert (response.cluster_id, response.controller_id, response.cluster_authorized_operations) == ("cluster", 1, 8096)


@pytest.mark.parametrize(
    ("kind", "code"), [(2, ErrorCode.MISMATCHED_ENDPOINT_TYPE), (9, ErrorCode.UNSUPPORTED_ENDPOINT_TYPE)]
)
def test_controllers_are_not_described_by_a_broker(kind: int, code: ErrorCode) -> None:
    """Kafka tells a client that it has connected to the wrong kind of endpoint."""
    response = new_admin().cluster.describe_cluster(at(1), DescribeClusterRequest(endpoint_type=kind))
    assert (response.error_code, response.brokers, response.cluster_id) == (code, [], "")


def test_pages_go_on_where_the_last_one_ended() -> None:
    """Following the cursors gives every partition once, in the order of names."""
    admin = with_topics()
    seen: list[tuple[str | None, int]] = []
    cursor: Cursor | None = None
    for _ in range(10):
        response = ask(admin, limit=2, cursor=cursor)
        seen += [(topic.name, p.partition_index) for topic in response.topics for p in topic.partitions]
        cursor = response.next_cursor
        if cursor is None:
            break
    assert seen == [("a", 0), ("a", 1), ("a", 2), ("b", 0), ("c", 0), ("c", 1)]


def test_page_that_is_full_at_the_end_of_a_topic_points_to_the_next_one() -> None:
    """At its first partition; after the last topic there is no cursor."""
    admin = with_topics()
    assert page(ask(admin, limit=3)) == ([("a", [0, 1, 2])], ("b", 0))
    assert page(ask(admin, "c", limit=2)) == ([("c", [0, 1])], None)


@pytest.mark.parametrize("limit", [0, -5, 1])
def test_page_has_at_least_one_partition(limit: int) -> None:
    """Otherwise a client would never get on."""
    assert page(ask(with_topics(), "a", limit=limit)) == ([("a", [0])], ("a", 1))


def test_broker_limits_the_page_too() -> None:
    """max.request.partition.size.limit."""
    admin = new_admin(page_limit=2)
    create(admin.controller, "a", 5)
    assert page(ask(admin, limit=9999)) == ([("a", [0, 1])], ("a", 2))


def test_names_are_described_once_and_missing_ones_have_errors() -> None:
    """Sorted, whatever the order of the request."""
    response = ask(with_topics(), "none", "b", "a b", "b")
    assert [(t.name, ErrorCode(t.error_code)) for t in response.topics] == [
        ("a b", ErrorCode.INVALID_TOPIC_EXCEPTION),
        ("b", ErrorCode.NONE),
        ("none", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    ]


@pytest.mark.parametrize(
    "cursor", [Cursor(topic_name="b", partition_index=0), Cursor(topic_name="a", partition_index=-1)]
)
def test_bad_cursor_refuses_the_request(cursor: Cursor) -> None:
    """It must name a topic of the request and a partition that can be."""
    response = ask(with_topics(), "a", cursor=cursor)
    assert [(t.name, t.error_code) for t in response.topics] == [("a", ErrorCode.INVALID_REQUEST)]


def test_cursor_behind_the_last_partition_gives_nothing_of_the_topic() -> None:
    """The topic may have been made anew with fewer partitions."""
    assert page(ask(with_topics(), "a", cursor=Cursor(topic_name="a", partition_index=50))) == ([("a", [])], None)


def test_empty_name_refuses_the_request_without_a_cursor() -> None:
    """UNKNOWN_SERVER_ERROR for every topic, as in Kafka; behind a cursor it is one more bad name."""
    response = ask(with_topics(), "", "a")
    assert [(topic.name, topic.error_code) for topic in response.topics] == [
        ("", ErrorCode.UNKNOWN_SERVER_ERROR),
        ("a", ErrorCode.UNKNOWN_SERVER_ERROR),
    ]
    response = ask(with_topics(), "", "b", cursor=Cursor(topic_name="", partition_index=0))
    assert [(topic.name, topic.error_code) for topic in response.topics] == [
        ("", ErrorCode.INVALID_TOPIC_EXCEPTION),
        ("b", ErrorCode.NONE),
    ]


def test_more_topics_than_fit_in_a_turn_are_not_answered() -> None:
    """There is no place for an error of the whole, so that the connection ends."""
    with pytest.raises(KafkaError):
        ask(with_topics(), *["none"] * (MOST_TOPICS + 1))
