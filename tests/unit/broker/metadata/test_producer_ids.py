"""Blocks of producer ids."""

import pytest

from odradek.broker.metadata.producer_ids import BLOCK_SIZE, ProducerIds
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.metadata_records import ProducerIdsRecord, RegisterBrokerRecord
from tests.unit.broker.metadata.support import MemorySource, image_of


def test_ids_come_in_a_row_and_one_record_is_written_per_block() -> None:
    """The first id is 0, as in Kafka."""
    source = MemorySource()
    ids = ProducerIds(source, 1)
    assert [ids.allocate() for _ in range(BLOCK_SIZE)] == list(range(BLOCK_SIZE))
    assert len(source.batches) == 1
    assert ids.allocate() == BLOCK_SIZE
    assert [r.message for batch in source.batches for r in batch] == [
        ProducerIdsRecord(broker_id=1, broker_epoch=-1, next_producer_id=1000),
        ProducerIdsRecord(broker_id=1, broker_epoch=-1, next_producer_id=2000),
    ]


def test_restart_begins_a_new_block() -> None:
    """Ids of the old block may be in use; none is given twice."""
    source = MemorySource()
    ProducerIds(source, 1).allocate()
    assert ProducerIds(source, 1).allocate() == BLOCK_SIZE


def test_block_is_taken_in_the_name_of_the_registration_that_kafka_made() -> None:
    """The record carries the broker epoch, where there is one."""
    source = MemorySource(image_of([RegisterBrokerRecord(broker_id=1, broker_epoch=42)]))
    ProducerIds(source, 1).allocate()
    (record,) = source.batches[0]
    assert isinstance(record.message, ProducerIdsRecord)
    assert record.message.broker_epoch == 42


def test_no_id_is_given_from_a_block_that_was_not_recorded() -> None:
    """After the failure the same block is asked for again."""
    source = MemorySource()
    ids = ProducerIds(source, 1)
    source.fail_with = KafkaError(ErrorCode.KAFKA_STORAGE_ERROR)
    with pytest.raises(KafkaError):
        ids.allocate()
    source.fail_with = None
    assert ids.allocate() == 0
