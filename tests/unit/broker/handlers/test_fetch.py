"""Fetch: what is read, how much of it, and who is refused. Long polls are in test_fetch_waiting."""

from dataclasses import replace
from uuid import UUID

import pytest

from odradek.broker.handlers.fetch_reading import FIRST_ZSTD
from odradek.broker.handlers.fetch_sessions import FINAL_EPOCH, INITIAL_EPOCH, wanted_without_session
from odradek.protocol.errors import ErrorCode
from odradek.protocol.hot.fetch import FIRST_BY_ID
from odradek.protocol.messages.fetch import FetchTopic
from odradek.protocol.messages.metadata_records import PartitionChangeRecord
from tests.support.partitions import Node
from tests.unit.broker.handlers.fetch_support import (
    ROOM,
    Ask,
    Consumer,
    Place,
    Ref,
    at,
    request,
    response,
    result,
    results,
    size_of,
    values,
)

NO_TOPIC_ID = UUID(int=99)
COMMITTED = Ask(isolation_level=1)
PRODUCER = 7


@pytest.fixture
def node() -> Node:
    """A node with a topic `t` of three partitions; the first has two batches of two records."""
    node = Node()
    node.create("t", 3)
    node.append("t", b"a", b"b")
    node.append("t", b"c", b"d")
    return node


@pytest.fixture
def fetch(node: Node) -> Consumer:
    return Consumer(node)


ALL = [(0, b"a"), (1, b"b"), (2, b"c"), (3, b"d")]


@pytest.mark.parametrize(("offset", "found"), [(0, ALL), (1, ALL), (2, ALL[2:]), (3, ALL[2:])])
def test_data_starts_with_the_batch_that_has_the_offset(
    fetch: Consumer, offset: int, found: list[tuple[int, bytes]]
) -> None:
    """Records before the offset may come along; the client leaves them out."""
    data = result(fetch(at(offset)))
    assert values(data) == found
    assert (data.error_code, data.high_watermark, data.last_stable_offset, data.log_start_offset) == (0, 4, 4, 0)
    assert data.aborted_transactions is None
    assert data.preferred_read_replica == -1


@pytest.mark.parametrize("version", range(4, 19))
def test_every_version_is_answered_in_its_form(node: Node, fetch: Consumer, version: int) -> None:
    """Versions before 13 name topics, later ones have their ids."""
    ref: Ref = node.image.topics_by_name["t"].topic_id if version >= FIRST_BY_ID else "t"
    reply = fetch(Place(ref), ask=Ask(version=version))
    topic = response(reply, version).responses[0]
    assert (topic.topic_id if isinstance(ref, UUID) else topic.topic) == ref
    assert values(result(reply, version)) == ALL


@pytest.mark.parametrize("offset", [-1, 5])
def test_offset_outside_of_the_log_is_out_of_range(fetch: Consumer, offset: int) -> None:
    """The client resets its position; nothing of the log is told."""
    found = result(fetch(at(offset)))
    assert (found.error_code, found.high_watermark, found.log_start_offset) == (ErrorCode.OFFSET_OUT_OF_RANGE, -1, -1)
    assert found.records is not None
    assert size_of(found) == 0


def test_deleted_offset_is_out_of_range(node: Node, fetch: Consumer) -> None:
    """Records before the start of the log are gone, even if their segment is not."""
    node.table.get("t", 0).delete_records_before(3)
    assert result(fetch(at(2))).error_code == ErrorCode.OFFSET_OUT_OF_RANGE
    found = result(fetch(at(3)))
    assert (found.error_code, found.log_start_offset) == (0, 3)


def test_nothing_is_read_beyond_the_high_watermark() -> None:
    """What is not on the disk yet, where the topic asks for that, is no error and no data."""
    node = Node()
    node.create("t", flush_messages="1")
    node.append("t", b"a")
    node.flusher.finish()
    node.append("t", b"b")
    fetch = Consumer(node)
    found = result(fetch(at(0)))
    assert (values(found), found.high_watermark) == ([(0, b"a")], 1)
    for offset in (1, 2):
        reply = fetch(at(offset), ask=Ask(max_wait_ms=0))
        assert (result(reply).error_code, size_of(result(reply))) == (0, 0)
    assert result(fetch(at(3))).error_code == ErrorCode.OFFSET_OUT_OF_RANGE


@pytest.mark.parametrize(
    ("epoch", "code"), [(-1, 0), (1, 0), (0, ErrorCode.FENCED_LEADER_EPOCH), (2, ErrorCode.UNKNOWN_LEADER_EPOCH)]
)
def test_leader_epoch_of_the_client_must_be_ours(node: Node, fetch: Consumer, epoch: int, code: int) -> None:
    """An older one is fenced, a newer one is unknown here, -1 is no opinion."""
    topic_id = node.image.topics_by_name["t"].topic_id
    node.change(PartitionChangeRecord(partition_id=0, topic_id=topic_id, leader=1))
    assert node.table.get("t", 0).leader_epoch == 1
    assert result(fetch(replace(at(0), epoch=epoch))).error_code == code


def test_diverging_reader_is_told_where_it_left_the_log(node: Node, fetch: Consumer) -> None:
    """A last record of an epoch that ended earlier here: that epoch's end instead of data, and at once."""
    topic_id = node.image.topics_by_name["t"].topic_id
    node.change(PartitionChangeRecord(partition_id=0, topic_id=topic_id, leader=1))
    node.append("t", b"e")
    found, _ = results(fetch(replace(at(5), last_epoch=0), at(0, partition=1), ask=Ask(min_bytes=ROOM)))
    assert (found.diverging_epoch.epoch, found.diverging_epoch.end_offset) == (0, 4)
    assert (found.error_code, size_of(found)) == (0, 0)
    assert values(result(fetch(replace(at(4), last_epoch=0)))) == [(4, b"e")]


def test_reader_from_an_unknown_epoch_is_out_of_range(fetch: Consumer) -> None:
    """An epoch after ours is none that the log could have left it in."""
    assert result(fetch(replace(at(0), last_epoch=5))).error_code == ErrorCode.OFFSET_OUT_OF_RANGE


@pytest.mark.parametrize(
    ("place", "version", "code"),
    [
        (Place("none"), 12, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (Place(NO_TOPIC_ID), 13, ErrorCode.UNKNOWN_TOPIC_ID),
        (Place("t", 3), 12, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (Place("t", -1), 12, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    ],
)
def test_what_is_unknown_is_answered_at_once(fetch: Consumer, place: Place, version: int, code: ErrorCode) -> None:
    """By name and by id with the code of each; an error does not wait for data."""
    found = result(fetch(place, ask=Ask(version=version)), version)
    assert (found.error_code, found.aborted_transactions) == (code, [])


def test_offline_partition_is_a_storage_error_while_others_are_read() -> None:
    """One partition whose files cannot be used takes nothing from the rest."""
    node = Node()
    node.files.fail("mkdir", path_part="/t-1")
    node.create("t", 2)
    node.append("t", b"a")
    first, second = results(Consumer(node)(at(), at(partition=1)))
    assert values(first) == [(0, b"a")]
    assert second.error_code == ErrorCode.KAFKA_STORAGE_ERROR


def test_read_error_is_a_storage_error_while_others_are_read(node: Node, fetch: Consumer) -> None:
    """A disk that fails under one partition."""
    node.append("t", b"x", partition=1)
    node.table.get("t", 0).log.local.reader.forget()
    partition = node.table.get("t", 0)
    partition.log.segments.active.file.close()
    first, second = results(fetch(at(2), at(partition=1)))
    assert first.error_code == ErrorCode.KAFKA_STORAGE_ERROR
    assert values(second) == [(0, b"x")]


@pytest.mark.parametrize(("version", "code"), [(FIRST_ZSTD - 1, 76), (FIRST_ZSTD, 0)])
def test_zstd_topic_is_not_for_clients_that_do_not_know_it(
    node: Node, fetch: Consumer, version: int, code: int
) -> None:
    """UNSUPPORTED_COMPRESSION_TYPE before version 10 where the topic's codec is zstd."""
    node.configure("t", compression_type="zstd")
    assert result(fetch(at(), ask=Ask(version=version)), version).error_code == code


# limits


def sized(node: Node, partition: int, *sizes: int) -> list[int]:
    """Append batches with values of these sizes, and return the sizes of the batches."""
    return [node.append("t", bytes(size), partition=partition).size for size in sizes]


@pytest.mark.parametrize("limit", [0, 1, 100])
def test_first_batch_comes_whole_whatever_the_limits(node: Node, limit: int) -> None:
    """Otherwise a consumer would never get past a batch that is larger than its limits (KIP-74)."""
    first, _ = sized(node, 1, 500, 500)
    fetch = Consumer(node)
    assert size_of(result(fetch(replace(at(partition=1), max_bytes=limit)))) == first
    assert size_of(result(fetch(at(partition=1), ask=Ask(max_bytes=limit)))) == first
    assert size_of(result(Consumer(node, max_bytes=limit)(at(partition=1)))) == first


def test_only_the_first_partition_with_data_may_be_over_the_limits(node: Node) -> None:
    """Empty ones before it do not count, later ones wait for their turn."""
    first, _ = sized(node, 1, 500, 500)
    sized(node, 2, 500)
    found = results(Consumer(node)(at(4), at(partition=1), at(partition=2), ask=Ask(max_bytes=10)))
    assert [size_of(each) for each in found] == [0, first, 0]
    small = [replace(at(partition=index), max_bytes=10) for index in (1, 2)]
    assert [size_of(each) for each in results(Consumer(node)(*small))] == [first, 0]


def test_limit_of_the_answer_is_shared_in_the_order_of_the_request(node: Node) -> None:
    """A later partition gets what the earlier ones left."""
    first = sum(sized(node, 1, 500, 500))
    second, _ = sized(node, 2, 400, 400)
    found = results(Consumer(node)(at(partition=1), at(partition=2), ask=Ask(max_bytes=first + second + 20)))
    assert [size_of(each) for each in found] == [first, second + 20]
    assert values(found[1]) == [(0, bytes(400))]
    turned = results(Consumer(node)(at(partition=2), at(partition=1), ask=Ask(max_bytes=first)))
    assert size_of(turned[0]) > second


def test_part_of_a_batch_alone_is_not_sent(node: Node) -> None:
    """A client that gets bytes without one whole batch in them takes its limit for too small, and gives up."""
    (first,) = sized(node, 1, 500)
    (second,) = sized(node, 2, 500)
    fetch = Consumer(node)
    for room, expected in ((1, 0), (second - 1, 0), (second, second)):
        found = results(fetch(at(partition=1), at(partition=2), ask=Ask(max_bytes=first + room)))
        assert [size_of(each) for each in found] == [first, expected]
    limited = replace(at(partition=2), max_bytes=second - 1)
    assert [size_of(each) for each in results(fetch(at(partition=1), limited))] == [first, 0]


def test_limit_of_a_partition_cuts_behind_the_first_batch(node: Node) -> None:
    """Bytes are counted, not batches: the last batch may be cut."""
    first, second = sized(node, 1, 500, 500)
    found = result(Consumer(node)(replace(at(partition=1), max_bytes=first + second - 1)))
    assert size_of(found) == first + second - 1
    assert values(found) == [(0, bytes(500))]


@pytest.mark.parametrize("session_epoch", [FINAL_EPOCH, INITIAL_EPOCH])
def test_partition_that_is_named_twice_is_answered_once(node: Node, session_epoch: int) -> None:
    """At its first place, with what was asked last."""
    for partition in (1, 2):
        sized(node, partition, 5, 5)
    places = [at(partition=1), at(partition=2), at(1, partition=1)]
    found = results(Consumer(node)(*places, ask=Ask(session_epoch=session_epoch)))
    assert [each.partition_index for each in found] == [1, 2]
    assert [offset for offset, _ in values(found[0])] == [1]


def test_topic_without_partitions_is_not_answered(node: Node) -> None:
    """There is nothing to say of it."""
    asked = request((at(),), Ask(max_wait_ms=0))
    asked.topics.insert(0, FetchTopic(topic="t", partitions=[]))
    assert [(ref, len(partitions)) for ref, partitions in wanted_without_session(asked, False)] == [("t", 1)]


def test_negative_limit_is_an_error_where_there_is_something_to_read(node: Node) -> None:
    """UNKNOWN_SERVER_ERROR, as in Kafka; an offset that is out of range is told before."""
    sized(node, 1, 500)
    limited = [replace(at(offset, partition), max_bytes=-1) for offset, partition in ((0, 1), (1, 1), (7, 1), (0, 2))]
    codes = [result(Consumer(node)(place, ask=Ask(max_wait_ms=0))).error_code for place in limited]
    assert codes == [ErrorCode.UNKNOWN_SERVER_ERROR, 0, ErrorCode.OFFSET_OUT_OF_RANGE, 0]


def test_negative_limit_of_an_answer_is_its_first_partitions_error(node: Node) -> None:
    """For the others nothing is left, and the first batch comes whole."""
    (size,) = sized(node, 2, 500)
    sized(node, 1, 500)
    found = results(Consumer(node)(at(partition=1), at(partition=2), ask=Ask(max_bytes=-4)))
    assert [(each.error_code, size_of(each)) for each in found] == [(ErrorCode.UNKNOWN_SERVER_ERROR, 0), (0, size)]


# committed data


@pytest.fixture
def transactions(node: Node) -> Node:
    """Topic `tx`: an aborted transaction at 0 and 1, its marker at 2, a plain batch at 3, an open one at 4."""
    node.create("tx")
    node.begin_transaction("tx", PRODUCER, b"x", b"y")
    node.end_transaction("tx", PRODUCER, committed=False)
    node.append("tx", b"plain")
    node.begin_transaction("tx", PRODUCER + 1, b"open")
    return node


def test_committed_reader_stops_at_the_first_open_transaction(transactions: Node, fetch: Consumer) -> None:
    """It reads to the last stable offset, others read on; both are told both offsets."""
    committed, all_of_it = result(fetch(Place("tx"), ask=COMMITTED)), result(fetch(Place("tx")))
    assert [offset for offset, _ in values(committed)] == [0, 1, 3]
    assert [offset for offset, _ in values(all_of_it)] == [0, 1, 3, 4]
    for found in (committed, all_of_it):
        assert (found.high_watermark, found.last_stable_offset) == (5, 4)
    transactions.end_transaction("tx", PRODUCER + 1, committed=True)
    assert values(result(fetch(Place("tx", offset=4), ask=COMMITTED))) == [(4, b"open")]


def test_committed_reader_is_told_what_to_leave_out(transactions: Node, fetch: Consumer) -> None:
    """Aborted transactions that concern the data of the answer; others are told nothing."""
    aborted = result(fetch(Place("tx"), ask=COMMITTED)).aborted_transactions
    assert aborted is not None
    assert [(each.producer_id, each.first_offset) for each in aborted] == [(PRODUCER, 0)]
    assert result(fetch(Place("tx", offset=3), ask=COMMITTED)).aborted_transactions == []
    assert result(fetch(Place("tx"))).aborted_transactions is None


def test_committed_reader_at_an_open_transaction_gets_nothing(transactions: Node, fetch: Consumer) -> None:
    """No data, and no error either."""
    found = result(fetch(Place("tx", offset=4), ask=replace(COMMITTED, max_wait_ms=0)))
    assert (found.error_code, size_of(found), found.aborted_transactions) == (0, 0, [])


def test_transactions_after_the_data_are_not_told_yet(node: Node, fetch: Consumer) -> None:
    """Under a limit, the list is about what the answer has, as near as the offset index can tell."""
    node.create("tx")
    sizes = [node.append("tx", bytes(300)).size for _ in range(4)]
    node.begin_transaction("tx", PRODUCER, b"x")
    node.end_transaction("tx", PRODUCER, committed=False)
    assert result(fetch(replace(Place("tx"), max_bytes=sizes[0]), ask=COMMITTED)).aborted_transactions == []
    assert result(fetch(Place("tx"), ask=COMMITTED)).aborted_transactions


def test_committed_reader_is_told_no_list_where_a_batch_does_not_fit(node: Node, fetch: Consumer) -> None:
    """Null; where nothing is left to read, or no byte is left for it, the list is empty."""
    (first,) = sized(node, 1, 500)
    sized(node, 2, 500)
    places = [at(partition=1), at(partition=2), at(1, partition=2)]
    for room, expected in ((first + 10, [[], None]), (first, [[], []])):
        found = results(fetch(*places[:2], ask=replace(COMMITTED, max_bytes=room)))
        assert [each.aborted_transactions for each in found] == expected
    found = results(fetch(places[0], places[2], ask=COMMITTED))
    assert [each.aborted_transactions for each in found] == [[], []]
