"""What records of Kafka's own topics say."""

from typing import Any
from uuid import UUID

import pytest

from odradek.logs.decoding import (
    DELETED,
    MAX_DECODED_RECORD,
    Decoded,
    decode_control,
    decode_group_record,
    decode_metadata_record,
    decode_transaction_record,
)
from odradek.logs.message_json import message_to_json
from odradek.protocol.codec import Message, encode
from odradek.protocol.messages import group_records, metadata_records
from odradek.protocol.messages.consumer_protocol import ConsumerProtocolSubscription, TopicPartition
from odradek.protocol.messages.control_records import KRaftVersionRecord, LeaderChangeMessage, Voter
from odradek.protocol.messages.group_records import (
    GroupMetadataKey,
    GroupMetadataValue,
    MemberMetadata,
    OffsetCommitKey,
    OffsetCommitValue,
)
from odradek.protocol.messages.metadata_records import BrokerEndpoint, NoOpRecord, RegisterBrokerRecord, TopicRecord
from odradek.protocol.messages.transaction_records import TransactionLogKey, TransactionLogValue, TransactionPartitions
from odradek.protocol.records.control import ControlType, EndTransactionMarker, build_end_transaction_batch, control_key
from odradek.protocol.records.record import Record, iter_records


def _versioned(number: int, message: Message, version: int = 0) -> bytes:
    return number.to_bytes(2, "big") + encode(message, version)


def _group(key: bytes | None, value: bytes | None) -> Decoded:
    return decode_group_record(Record(5, 0, key, value))


def _metadata(message: Message, version: int = 0) -> Decoded:
    frame = bytes((1, message.SCHEMA.api_key, version))
    return decode_metadata_record(Record(5, 0, None, frame + encode(message, version)))


def test_a_committed_offset() -> None:
    """Key and value under Kafka's names; what the version does not have is left out."""
    key = _versioned(1, OffsetCommitKey(group="g", topic="t", partition=3))
    value = _versioned(3, OffsetCommitValue(offset=42, leader_epoch=1, metadata="m", commit_timestamp=9), 3)
    assert _group(key, value) == Decoded(
        {"type": "1", "data": {"group": "g", "topic": "t", "partition": 3}},
        {"version": "3", "data": {"offset": 42, "leaderEpoch": 1, "metadata": "m", "commitTimestamp": 9}},
    )
    assert _group(key, None).value == DELETED


def test_a_classic_group_is_shown_with_what_its_consumers_say() -> None:
    """The coordinator does not look into subscriptions and assignments; a person wants to."""
    subscription = ConsumerProtocolSubscription(
        topics=["t"], owned_partitions=[TopicPartition(topic="t", partitions=[0])]
    )
    member = MemberMetadata(
        member_id="m",
        client_id="c",
        client_host="h",
        session_timeout=6000,
        subscription=_versioned(1, subscription, 1),
        assignment=b"\xff",
    )
    message = GroupMetadataValue(protocol_type="consumer", generation=1, protocol="range", leader="m", members=[member])
    shown: Any = _group(_versioned(2, GroupMetadataKey(group="g")), _versioned(3, message, 3)).value
    [found] = shown["data"]["members"]
    assert found["subscription"] == {
        "topics": ["t"],
        "userData": None,
        "ownedPartitions": [{"topic": "t", "partitions": [0]}],
    }
    assert found["assignment"] == "/w=="


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (None, b""),
        (b"\0", b""),
        (b"\0\x63", b"x"),
        (b"\0\1\0\1", b"x"),
        (_versioned(1, OffsetCommitKey(group="g", topic="t")), b"\0\x09abc"),
        (_versioned(1, OffsetCommitKey(group="g", topic="t")), b""),
        (_versioned(2, GroupMetadataKey(group="g")), b"\0\3\xff\xff\xff\xff"),
    ],
)
def test_records_that_cannot_be_understood_are_sentences(key: bytes | None, value: bytes) -> None:
    """Unknown types, versions and cut records are told in the place of the record."""
    shown = _group(key, value)
    assert isinstance(shown.key, str)
    assert "offset 5, skipping." in shown.key


def test_metadata_records() -> None:
    """Type, version and data, with uuids as Kafka writes them; tagged fields that say nothing are left out."""
    topic_id = UUID("a3f0c1de-0000-4000-8000-0123456789ab")
    assert _metadata(TopicRecord(name="t", topic_id=topic_id)).value == {
        "type": "TOPIC_RECORD",
        "version": 0,
        "data": {"name": "t", "topicId": "o_DB3gAAQACAAAEjRWeJqw"},
    }
    endpoint = BrokerEndpoint(name="L", host="h", port=9092, security_protocol=0)
    shown = _metadata(RegisterBrokerRecord(broker_id=1, end_points=[endpoint]), 3).value
    assert isinstance(shown, dict)
    assert isinstance(shown["data"], dict)
    assert shown["data"]["endPoints"] == [{"name": "L", "host": "h", "port": 9092, "securityProtocol": 0}]
    assert "logDirs" not in shown["data"]
    assert _metadata(NoOpRecord()).value == {"type": "NO_OP_RECORD", "version": 0, "data": {}}


@pytest.mark.parametrize(
    "value", [None, b"", b"\1", b"\1\x02", b"\2\2\0", b"\1\x7f\0", b"\1\2\x09", b"\xff\xff\xff\xff\xff\xff"]
)
def test_what_is_no_metadata_record_is_a_sentence(value: bytes | None) -> None:
    """A frame that is cut, or of an unknown type or version, is told in its place."""
    shown = decode_metadata_record(Record(5, 0, None, value)).value
    assert isinstance(shown, str)
    assert shown.startswith("Error at 5, skipping.")


def test_control_records() -> None:
    """Markers of transactions, and what KRaft notes in its log."""
    [marker] = iter_records(build_end_transaction_batch(EndTransactionMarker(False, 9), 1, 0, 5))
    assert decode_control(marker) == ("ABORT", {"coordinatorEpoch": 9})
    change = encode(LeaderChangeMessage(version=0, leader_id=1, voters=[Voter(voter_id=1)]), 0)
    assert decode_control(Record(0, 0, control_key(ControlType.LEADER_CHANGE), change)) == (
        "LeaderChange",
        {"version": 0, "leaderId": 1, "voters": [{"voterId": 1}], "grantingVoters": []},
    )
    version = encode(KRaftVersionRecord(kraft_version=1), 0)
    assert decode_control(Record(0, 0, control_key(ControlType.KRAFT_VERSION), version)).data["kRaftVersion"] == 1
    assert decode_control(Record(0, 0, b"\0\0\0\x63", b"")) == ("UNKNOWN", {"type": 99})
    for key, value in ((None, b""), (control_key(ControlType.COMMIT), b"\0"), (control_key(ControlType(2)), b"\0\7")):
        assert decode_control(Record(0, 0, key, value)).kind == "UNREADABLE"


@pytest.mark.parametrize("module", [group_records, metadata_records])
def test_every_message_can_be_shown_at_every_version(module: object) -> None:
    """No declared message has a field that has no JSON form."""
    declared = [each for each in vars(module).values() if isinstance(each, type) and issubclass(each, Message)]
    for kind in declared:
        if kind is not Message:
            for version in range(kind.SCHEMA.versions.first, kind.SCHEMA.versions.last + 1):
                assert isinstance(message_to_json(kind(), version), dict)


def test_transactions() -> None:
    """A transaction by its id: tagged fields only where they say something, and a null value takes it away."""
    key = b"\0\0" + encode(TransactionLogKey(transactional_id="t"), 0)
    value = TransactionLogValue(
        producer_id=7,
        previous_producer_id=7,
        producer_epoch=1,
        transaction_timeout_ms=60_000,
        transaction_status=1,
        transaction_partitions=[TransactionPartitions(topic="orders", partition_ids=[0, 2])],
        transaction_last_update_timestamp_ms=9,
        transaction_start_timestamp_ms=8,
    )
    shown = decode_transaction_record(Record(0, 0, key, b"\0\1" + encode(value, 1)))
    assert shown.key == {"type": "0", "data": {"transactionalId": "t"}}
    assert shown.value == {
        "version": "1",
        "data": {
            "producerId": 7,
            "previousProducerId": 7,
            "producerEpoch": 1,
            "transactionTimeoutMs": 60_000,
            "transactionStatus": 1,
            "transactionPartitions": [{"topic": "orders", "partitionIds": [0, 2]}],
            "transactionLastUpdateTimestampMs": 9,
            "transactionStartTimestampMs": 8,
        },
    }
    assert decode_transaction_record(Record(1, 0, key, None)).value == DELETED


def test_what_is_larger_than_any_broker_writes_is_not_taken_apart() -> None:
    """A snapshot of a few hundred bytes of zstd can be one record of a million fields, each of them an object."""
    large = bytes(MAX_DECODED_RECORD + 1)
    said = f"{MAX_DECODED_RECORD + 1} bytes are not taken apart, {MAX_DECODED_RECORD} at most are"
    assert said in str(decode_metadata_record(Record(5, 0, None, large)).value)
    assert said in str(_group(_versioned(2, GroupMetadataKey(group="g")), large).key)
    assert said in str(_group(large, None).key)
    assert said in str(decode_control(Record(5, 0, control_key(ControlType.KRAFT_VOTERS), large)).data)
