"""Blocks of producer ids."""

from odradek.broker.metadata.producer_ids import BLOCK_SIZE, ProducerIds, RecordedBlocks
from odradek.broker.runtime.deferred import Deferred
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.metadata_records import ProducerIdsRecord, RegisterBrokerRecord
from tests.support.deferred import now
from tests.support.manual_loop import HandThreads, ManualLoop
from tests.unit.broker.metadata.support import MemorySource, image_of
from tests.unit.broker.metadata.test_opening import new_directory, open_log


def test_ids_come_in_a_row_and_one_record_is_written_per_block() -> None:
    """The first id is 0, as in Kafka."""
    source = MemorySource()
    ids = ProducerIds(RecordedBlocks(source, 1).next_block)
    assert [now(ids.allocate()) for _ in range(BLOCK_SIZE)] == list(range(BLOCK_SIZE))
    assert len(source.batches) == 1
    assert now(ids.allocate()) == BLOCK_SIZE
    assert [r.message for batch in source.batches for r in batch] == [
        ProducerIdsRecord(broker_id=1, broker_epoch=-1, next_producer_id=1000),
        ProducerIdsRecord(broker_id=1, broker_epoch=-1, next_producer_id=2000),
    ]


def test_restart_begins_a_new_block() -> None:
    """Ids of the old block may be in use; none is given twice."""
    source = MemorySource()
    ProducerIds(RecordedBlocks(source, 1).next_block).allocate()
    assert ProducerIds(RecordedBlocks(source, 1).next_block).allocate() == BLOCK_SIZE


def test_block_is_taken_in_the_name_of_the_registration_that_kafka_made() -> None:
    """The record carries the broker epoch, where there is one."""
    source = MemorySource(image_of([RegisterBrokerRecord(broker_id=1, broker_epoch=42)]))
    ProducerIds(RecordedBlocks(source, 1).next_block).allocate()
    (record,) = source.batches[0]
    assert isinstance(record.message, ProducerIdsRecord)
    assert record.message.broker_epoch == 42


def test_no_id_is_given_from_a_block_that_was_not_recorded() -> None:
    """After the failure the same block is asked for again."""
    source = MemorySource()
    ids = ProducerIds(RecordedBlocks(source, 1).next_block)
    source.fail_with = KafkaError(ErrorCode.KAFKA_STORAGE_ERROR)
    assert now(ids.allocate()) is source.fail_with
    source.fail_with = None
    assert now(ids.allocate()) == 0


def test_those_who_come_while_a_block_is_recorded_wait_for_it() -> None:
    """In order, and over more than one block; an error is for all who wait."""
    log = open_log(new_directory())
    loop = ManualLoop()
    threads = HandThreads(loop)
    log.use_threads(threads)
    ids = ProducerIds(RecordedBlocks(log, 1).next_block)
    given: list[int | KafkaError] = []
    for _ in range(BLOCK_SIZE + 2):
        waiting = ids.allocate()
        assert isinstance(waiting, Deferred)
        waiting.on_done(given.append)
    for blocks in (1, 2):
        assert len(threads) == 1
        threads.run()
        loop.settle()
        assert given == list(range(min(blocks * BLOCK_SIZE, BLOCK_SIZE + 2)))
    assert now(ids.allocate()) == BLOCK_SIZE + 2


def test_an_error_is_for_all_who_wait() -> None:
    """And the next one asks for a block again."""
    files = new_directory()
    log = open_log(files)
    loop = ManualLoop()
    threads = HandThreads(loop)
    log.use_threads(threads)
    ids = ProducerIds(RecordedBlocks(log, 1).next_block)
    files.fail("sync", path_part=".log")
    given: list[int | KafkaError] = []
    for _ in range(2):
        waiting = ids.allocate()
        assert isinstance(waiting, Deferred)
        waiting.on_done(given.append)
    threads.run()
    loop.settle()
    assert [isinstance(one, KafkaError) for one in given] == [True, True]
    waiting = ids.allocate()
    assert isinstance(waiting, Deferred)
    waiting.on_done(given.append)
    threads.run()
    loop.settle()
    assert given[2:] == [0]
