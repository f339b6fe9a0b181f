"""Produce: what is appended, and what the answer says. Who may append what is in test_produce_admission, and waiting
for the disk in test_produce_waiting."""

from uuid import UUID

import pytest

from odradek.broker.runtime.responses import CloseConnectionError
from odradek.protocol.errors import ErrorCode
from odradek.protocol.hot.produce import FIRST_BY_ID
from odradek.protocol.messages.produce import ProduceRequest, ProduceResponse, TopicProduceData
from odradek.protocol.records.batch import ATTRIBUTES_AT, LENGTH_AT, MAGIC_AT
from odradek.protocol.records.building import BatchFields
from tests.support.logs import NOW_MS, a_batch, read_all
from tests.support.partitions import Node, decoded
from tests.unit.broker.handlers.produce_support import (
    HEAD,
    NO_TOPIC_ID,
    Ref,
    batch,
    end,
    idempotent,
    produce,
    request,
    result,
    results,
    two_partitions,
)

HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS


@pytest.fixture
def node() -> Node:
    """A node with a topic `t` of two partitions."""
    return two_partitions()


def test_batches_get_offsets_in_a_row(node: Node) -> None:
    """The answer has the offset of the first record, and says at which offset the log starts."""
    assert result(produce(node, request(("t", 0, batch(b"a", b"b"))))).base_offset == 0
    second = result(produce(node, request(("t", 0, batch(b"c")))))
    assert (second.index, second.error_code, second.base_offset, second.log_start_offset) == (0, 0, 2, 0)
    assert second.log_append_time_ms == -1
    assert read_all(node.table.get("t", 0).log) == [(0, b"a"), (1, b"b"), (2, b"c")]


def test_start_of_the_log_is_told(node: Node) -> None:
    """After deletions it is where they ended."""
    node.append("t", b"a", b"b")
    node.table.get("t", 0).delete_records_before(2)
    assert result(produce(node, request(("t", 0, batch())))).log_start_offset == 2


def test_append_time_is_told_where_the_topic_has_it(node: Node) -> None:
    """With LogAppendTime the client learns the broker's clock."""
    node.create("stamped", message_timestamp_type="LogAppendTime")
    assert result(produce(node, request(("stamped", 0, batch(timestamp=5))))).log_append_time_ms == NOW_MS


@pytest.mark.parametrize("version", range(3, 14))
def test_every_version_is_answered_in_its_form(node: Node, version: int) -> None:
    """Versions 3 to 12 name topics, version 13 has their ids."""
    ref: Ref = node.image.topics_by_name["t"].topic_id if version >= FIRST_BY_ID else "t"
    reply = produce(node, request((ref, 1, batch())), version)
    response = decoded(ProduceResponse, reply.data[len(HEAD) :], version)
    assert (response.responses[0].topic_id if isinstance(ref, UUID) else response.responses[0].name) == ref
    assert result(reply, version).base_offset == 0


@pytest.mark.parametrize("acks", [1, -1])
def test_acknowledged_at_once_without_flush_messages(node: Node, acks: int) -> None:
    """With one replica, what is written is committed: both kinds of acknowledgement come at once."""
    reply = produce(node, request(("t", 0, batch()), acks=acks))
    assert result(reply).error_code == 0
    assert node.table.get("t", 0).high_watermark == 1
    assert node.flusher.begun == 0


def test_partitions_are_answered_one_by_one(node: Node) -> None:
    """An error concerns its partition alone; the others are appended."""
    found = results(produce(node, request(("t", 0, batch()), ("t", 7, batch()), ("t", 1, None), ("none", 0, batch()))))
    assert [ErrorCode(each.error_code) for each in found] == [
        ErrorCode.NONE,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.INVALID_RECORD,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ]
    assert (end(node), end(node, partition=1)) == (1, 0)


@pytest.mark.parametrize(
    ("ref", "version", "code"),
    [
        ("none", 12, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (NO_TOPIC_ID, 13, ErrorCode.UNKNOWN_TOPIC_ID),
    ],
)
def test_unknown_topic_has_the_error_of_how_it_was_named(node: Node, ref: Ref, version: int, code: ErrorCode) -> None:
    """By name UNKNOWN_TOPIC_OR_PARTITION, by id UNKNOWN_TOPIC_ID; no offset is told."""
    found = result(produce(node, request((ref, 0, batch())), version), version)
    assert (found.error_code, found.base_offset, found.log_start_offset) == (code, -1, -1)


def with_byte(place: int, value: int) -> memoryview:
    records = batch()
    records[place] = value
    return records


TOO_SMALL = memoryview(bytes(100))
LARGEST_SIZE = with_byte(LENGTH_AT, 0x7F)
LARGEST_SIZE[LENGTH_AT + 1 : LENGTH_AT + 4] = b"\xff" * 3


@pytest.mark.parametrize(
    ("records", "version", "code"),
    [
        (with_byte(MAGIC_AT, 3), 9, ErrorCode.CORRUPT_MESSAGE),
        (with_byte(MAGIC_AT, 0xFF), 9, ErrorCode.CORRUPT_MESSAGE),
        (TOO_SMALL, 9, ErrorCode.CORRUPT_MESSAGE),
        (LARGEST_SIZE, 9, ErrorCode.UNKNOWN_SERVER_ERROR),
        (with_byte(ATTRIBUTES_AT + 1, 5), 3, ErrorCode.UNKNOWN_SERVER_ERROR),
        (with_byte(ATTRIBUTES_AT + 1, 7), 6, ErrorCode.UNKNOWN_SERVER_ERROR),
    ],
)
def test_first_entry_that_can_be_none_ends_the_whole_request(
    node: Node, records: memoryview, version: int, code: ErrorCode
) -> None:
    """No partition is written to, whether it comes before or after, and all are answered with the same error."""
    asked = request(("t", 1, batch()), ("t", 0, records), ("t", 1, batch()), ("none", 0, batch()))
    found = results(produce(node, asked, version), version)
    assert {ErrorCode(each.error_code) for each in found} == {code}
    assert (end(node), end(node, partition=1)) == (0, 0)


def test_unknown_codec_is_its_partitions_error_from_zstd_on(node: Node) -> None:
    """The others are written; in versions before, a partition that is not here is not looked into."""
    unknown = with_byte(ATTRIBUTES_AT + 1, 5)
    for version, place in ((7, ("t", 0)), (6, ("none", 0)), (6, ("t", 9))):
        found = results(produce(node, request(("t", 1, batch()), (*place, unknown)), version), version)
        assert found[0].error_code == 0
        assert found[1].error_code != 0


@pytest.mark.parametrize("records", [batch(), TOO_SMALL])
def test_topic_without_partitions_is_not_told(node: Node, records: memoryview) -> None:
    """Neither where the others are written nor where the request is refused whole."""
    asked = request(("t", 0, records))
    asked.topic_data.insert(0, TopicProduceData(name="t", partition_data=[]))
    response = decoded(ProduceResponse, produce(node, asked, 9).data[len(HEAD) :], 9)
    assert [len(topic.partition_responses) for topic in response.responses] == [1]


def test_corrupt_request_without_acks_closes_the_connection(node: Node) -> None:
    """There is no answer that could say it."""
    with pytest.raises(CloseConnectionError):
        produce(node, request(("t", 0, batch()), ("t", 1, TOO_SMALL), acks=0))
    assert end(node) == 0


def test_damaged_batch_is_corrupt_and_has_no_log_start(node: Node) -> None:
    """CORRUPT_MESSAGE, as Kafka answers it: without the start of the log."""
    records = batch()
    records[-1] ^= 1
    found = result(produce(node, request(("t", 0, records))))
    assert (found.error_code, found.base_offset, found.log_start_offset) == (ErrorCode.CORRUPT_MESSAGE, -1, -1)


def test_batch_above_the_limit_is_too_large(node: Node) -> None:
    """max.message.bytes of the topic counts."""
    node.configure("t", max_message_bytes="100")
    found = result(produce(node, request(("t", 0, batch(bytes(100))))))
    assert (found.error_code, found.log_start_offset) == (ErrorCode.MESSAGE_TOO_LARGE, -1)
    assert end(node) == 0


def test_refused_records_are_named() -> None:
    """Every record that breaks a rule is listed by its place, the batch is refused whole, the log's start is told."""
    node = Node()
    node.create("t", message_timestamp_before_max_ms=str(HOUR_MS))
    records = a_batch([b"a", b"b", b"c"], [NOW_MS - DAY_MS, NOW_MS, NOW_MS - DAY_MS])
    found = result(produce(node, request(("t", 0, records))))
    assert (found.error_code, found.log_start_offset) == (ErrorCode.INVALID_TIMESTAMP, 0)
    assert [error.batch_index for error in found.record_errors] == [0, 2]
    assert all("imestamp" in (error.batch_index_error_message or "") for error in found.record_errors)
    assert found.error_message == "One or more records have been rejected due to invalid timestamp"
    assert end(node) == 0


@pytest.mark.parametrize("version", [5, 7])
def test_old_versions_have_no_room_for_reasons(node: Node, version: int) -> None:
    """Before version 8 there is the code alone."""
    found = result(produce(node, request(("t", 0, memoryview(b""))), version), version)
    assert (found.error_code, found.record_errors, found.error_message) == (ErrorCode.INVALID_RECORD, [], None)


def transactional(acks: int = -1) -> ProduceRequest:
    fields = BatchFields(producer_id=7, producer_epoch=0, base_sequence=0, transactional=True)
    return request(("t", 0, batch()), ("t", 1, a_batch([b"x"], fields=fields)), acks=acks)


def test_transactional_batch_needs_a_transactional_id(node: Node) -> None:
    """Without one the whole request is refused, plain batches included."""
    found = results(produce(node, transactional()))
    assert {each.error_code for each in found} == {ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED}
    assert (end(node), end(node, partition=1)) == (0, 0)


def test_acks_0_is_silent(node: Node) -> None:
    """The batch is appended, and no answer is sent."""
    assert produce(node, request(("t", 0, batch()), acks=0)).answers == [None]
    assert end(node) == 1


@pytest.mark.parametrize(
    "asked",
    [
        request(("t", 0, batch()), ("t", 7, batch()), acks=0),
        request(("t", 0, batch()), ("t", 1, memoryview(b"")), acks=0),
        request(("t", 0, batch()), ("none", 0, batch()), acks=0),
    ],
)
def test_acks_0_loses_its_connection_on_an_error(node: Node, asked: ProduceRequest) -> None:
    """That is how such a client learns of it; what could be appended stays."""
    with pytest.raises(CloseConnectionError):
        produce(node, asked)
    assert end(node) == 1


def test_acks_0_has_no_answer_when_the_request_is_refused_whole(node: Node) -> None:
    """A client that expects no answer would take it for the one to its next request."""
    with pytest.raises(CloseConnectionError):
        produce(node, transactional(acks=0))
    assert end(node) == 0


def test_duplicate_has_the_offset_of_the_original(node: Node) -> None:
    """A batch that an idempotent producer sends again is acknowledged as the first time, and not written."""
    produce(node, request(("t", 0, batch())))
    first = result(produce(node, request(("t", 0, idempotent(0, b"a", b"b")))))
    produce(node, request(("t", 0, batch())))
    again = result(produce(node, request(("t", 0, idempotent(0, b"a", b"b")))))
    assert (again.error_code, again.base_offset) == (0, first.base_offset)
    assert again.log_append_time_ms == NOW_MS  # Kafka's quirk: the largest timestamp of the original
    assert end(node) == 4


@pytest.mark.parametrize(
    ("records", "code"),
    [
        (idempotent(5), ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER),
        (idempotent(1, epoch=0), ErrorCode.INVALID_PRODUCER_EPOCH),
    ],
)
def test_producer_out_of_step_is_told_so_with_the_start_of_the_log(
    node: Node, records: memoryview, code: ErrorCode
) -> None:
    """A gap in the sequence and an old epoch have Kafka's codes."""
    node.append("t", b"a")
    node.table.get("t", 0).delete_records_before(1)
    assert result(produce(node, request(("t", 0, idempotent(0, epoch=1))))).error_code == 0
    again = idempotent(5, epoch=1) if code is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER else records
    found = result(produce(node, request(("t", 0, again))))
    assert (found.error_code, found.log_start_offset) == (code, 1)


def test_failing_disk_is_a_storage_error_of_its_partition(node: Node) -> None:
    """The others are appended, and the next append finds the log as it was."""
    node.files.fail("write", path_part="/t-0/")
    found = results(produce(node, request(("t", 0, batch()), ("t", 1, batch()))))
    assert [each.error_code for each in found] == [ErrorCode.KAFKA_STORAGE_ERROR, 0]
    assert found[0].log_start_offset == -1
    assert result(produce(node, request(("t", 0, batch())))).base_offset == 0
