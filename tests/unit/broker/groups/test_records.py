"""Records of `__consumer_offsets` are byte for byte what Kafka 4.3 writes, and all versions of them are read."""

import struct
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.broker.coordinator.effects import CoordinatorRecord
from odradek.broker.groups.records import (
    OffsetAndMetadata,
    OffsetKey,
    UnknownRecordError,
    decode_committed,
    decode_offset_key,
    decode_record,
    encode_committed,
    encode_offset_key,
    encode_record,
)
from odradek.protocol.codec import DecodeError, encode
from odradek.protocol.messages.group_records import (
    ConsumerGroupMetadataKey,
    ConsumerGroupMetadataValue,
    GroupMetadataKey,
    GroupMetadataValue,
    MemberMetadata,
    OffsetCommitKey,
    OffsetCommitValue,
)

TOPIC_ID = UUID("62f402c2-a203-4693-b569-da94f3f906ee")
KEY = b"\x00\x01\x00\x02s1\x00\x02gr\x00\x00\x00\x00"
VALUE = (
    b"\x00\x04\x00\x00\x00\x00\x00\x00\x00\x05\xff\xff\xff\xff\x02x\x00\x00\x01\xa1\xfdMv\x0b"
    b"\x01\x00\x10b\xf4\x02\xc2\xa2\x03F\x93\xb5i\xda\x94\xf3\xf9\x06\xee"
)
EXPIRING = b"\x00\x01\x00\x00\x00\x00\x00\x00\x00\x05\x00\x01x\x00\x00\x01\xa1\xfdMv\xca\x00\x00\x01\xa1\xfdM\x8aR"

names = st.text(st.characters(exclude_categories=["Cs"]), max_size=300)
int64 = st.integers(-(2**63), 2**63 - 1)
int32 = st.integers(-(2**31), 2**31 - 1)


def test_a_commit_is_written_as_kafka_writes_it() -> None:
    """Key and value as Apache Kafka 4.3.0 had them in its log."""
    assert encode_offset_key(OffsetKey("s1", "gr", 0)) == KEY
    assert encode_committed(OffsetAndMetadata(5, -1, "x", 0x1A1FD4D760B, topic_id=TOPIC_ID)) == VALUE
    assert decode_offset_key(KEY) == OffsetKey("s1", "gr", 0)
    assert decode_committed(VALUE) == OffsetAndMetadata(5, -1, "x", 0x1A1FD4D760B, -1, TOPIC_ID)


def test_a_commit_with_a_time_of_its_own_is_written_in_version_1() -> None:
    """The only one with a place for it; Kafka does the same."""
    committed = OffsetAndMetadata(5, -1, "x", 0x1A1FD4D76CA, 0x1A1FD4D8A52)
    assert encode_committed(committed) == EXPIRING
    assert decode_committed(EXPIRING) == committed


@given(group=names, topic=names, partition=int32)
def test_keys_of_commits_come_back(group: str, topic: str, partition: int) -> None:
    """And equal what the declared message makes."""
    key = encode_offset_key(OffsetKey(group, topic, partition))
    assert decode_offset_key(key) == OffsetKey(group, topic, partition)
    message = OffsetCommitKey(group=group, topic=topic, partition=partition)
    assert key == b"\0\x01" + bytes(encode(message, 0))
    assert decode_record(key, None) == CoordinatorRecord(message, None)


@given(offset=int64, epoch=int32, text=names, timestamp=int64, topic_id=st.sampled_from([UUID(int=0), TOPIC_ID]))
def test_values_of_commits_come_back(offset: int, epoch: int, text: str, timestamp: int, topic_id: UUID) -> None:
    """And equal what the declared message makes."""
    value = encode_committed(OffsetAndMetadata(offset, epoch, text, timestamp, -1, topic_id))
    assert decode_committed(value) == OffsetAndMetadata(offset, epoch, text, timestamp, -1, topic_id)
    message = OffsetCommitValue(
        offset=offset, leader_epoch=epoch, metadata=text, commit_timestamp=timestamp, topic_id=topic_id
    )
    assert value == b"\0\x04" + bytes(encode(message, 4))


@pytest.mark.parametrize("version", range(5))
def test_every_version_of_a_commit_is_read(version: int) -> None:
    """With what it can say."""
    message = OffsetCommitValue(offset=7, leader_epoch=3, metadata="m", commit_timestamp=9, expire_timestamp=11)
    found = decode_committed(struct.pack(">h", version) + bytes(encode(message, version)))
    assert found.offset == 7
    assert (found.metadata, found.commit_timestamp) == ("m", 9)
    assert found.leader_epoch == (3 if version >= 3 else -1)
    assert found.expire_timestamp == (11 if version == 1 else -1)


@pytest.mark.parametrize("value", [b"", b"\0", b"\0\x05" + VALUE[2:], VALUE[:-1], b"\0\x03\0\0"])
def test_what_is_no_commit_is_refused(value: bytes) -> None:
    """With the error of everything that does not parse."""
    with pytest.raises(DecodeError):
        decode_committed(value)


@pytest.mark.parametrize("key", [b"", b"\0", b"\0\x01", KEY[:-1], b"\0\x01\0\x01\xff\0\0\0\0\0\0"])
def test_what_is_no_key_is_refused(key: bytes) -> None:
    """Too short, or no text."""
    with pytest.raises(DecodeError):
        decode_offset_key(key)


@pytest.mark.parametrize(
    "record",
    [
        CoordinatorRecord(
            GroupMetadataKey(group="g"),
            GroupMetadataValue(
                protocol_type="consumer",
                generation=3,
                protocol="range",
                leader="m",
                current_state_timestamp=5,
                members=[MemberMetadata(member_id="m", group_instance_id="i", subscription=b"s", assignment=b"a")],
            ),
        ),
        CoordinatorRecord(GroupMetadataKey(group="g"), None),
        CoordinatorRecord(ConsumerGroupMetadataKey(group_id="g"), ConsumerGroupMetadataValue(epoch=4, metadata_hash=5)),
    ],
)
def test_records_of_groups_come_back(record: CoordinatorRecord) -> None:
    """Tombstones too."""
    assert decode_record(*encode_record(record)) == record


def test_a_classic_group_is_written_in_version_3() -> None:
    """As Kafka 4.3 does."""
    _, value = encode_record(CoordinatorRecord(GroupMetadataKey(group="g"), GroupMetadataValue()))
    assert value is not None
    assert value[:2] == b"\0\x03"


@pytest.mark.parametrize("number", [9, 15, 17, 300, -1])
def test_unknown_types_are_told_apart_from_damage(number: int) -> None:
    """Share and streams groups, and what comes after."""
    with pytest.raises(UnknownRecordError) as caught:
        decode_record(struct.pack(">h", number) + b"\0\x01g", b"\0\0")
    assert caught.value.number == number


def test_unknown_versions_of_values_are_refused() -> None:
    """Version 5 of a group's metadata is not guessed at."""
    with pytest.raises(DecodeError):
        decode_record(b"\0\x02\0\x01g", b"\0\x05\0\0\0\0")
