"""New leader epochs after an unclean stop."""

from uuid import UUID

import pytest

from odradek.broker.metadata import new_epochs
from odradek.broker.metadata.new_epochs import begin_new_epochs, plan_new_epochs
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.storage.names import TopicPartition
from tests.support.log_lines import LogLines
from tests.unit.broker.metadata.support import MemorySource, image_of, topic_records

A, B = UUID(int=0xA), UUID(int=0xB)


def source() -> MemorySource:
    """Return metadata of three partitions of this node, and one of another."""
    base = MemorySource().image
    return MemorySource(image_of([*topic_records("mine", A, 3), *topic_records("other", B, replicas=[2])], base))


def epochs(metadata: MemorySource) -> list[int]:
    """Return the leader epochs of the topic `mine`."""
    return [partition.leader_epoch for partition in metadata.image.topics_by_name["mine"].partitions]


def test_epoch_begins_where_records_may_be_missing() -> None:
    """Leader, ISR and all else stay; partitions of other brokers and those that are intact are not touched."""
    metadata = source()
    before = metadata.image.topics_by_name
    begin_new_epochs(metadata, 1, {TopicPartition("mine", 1)})
    assert epochs(metadata) == [1, 0, 1]
    after = metadata.image.topics_by_name
    assert after["other"] == before["other"]
    old, new = before["mine"].partitions[2], after["mine"].partitions[2]
    assert new == old._replace(leader_epoch=1, partition_epoch=old.partition_epoch + 1)
    assert len(metadata.batches) == 1


def test_nothing_is_written_where_all_is_intact() -> None:
    """A restart in order leaves the metadata as it is."""
    metadata = source()
    assert plan_new_epochs(metadata.image, 1, {TopicPartition("mine", index) for index in range(3)}) == []


def test_full_disk_does_not_keep_the_broker_from_serving(monkeypatch: pytest.MonkeyPatch) -> None:
    """What could not be written is said, and the partitions go on in their epochs."""
    lines = LogLines()
    monkeypatch.setattr(new_epochs, "log", lines)
    metadata = source()
    metadata.fail_with = KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, "no space left")
    begin_new_epochs(metadata, 1, ())
    assert epochs(metadata) == [0, 0, 0]
    [line] = lines.lines
    assert (line.level, line.fields["partitions"]) == ("warning", 3)
