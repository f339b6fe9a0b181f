"""Steps and requests of scenarios in which there are transactions."""

from collections.abc import Generator, Sequence
from typing import Any, NamedTuple

from tests.interop.differential.batches import with_batches
from tests.interop.differential.play import Ask, Step, Steps, Until
from tests.interop.differential.prepare import NOW_MS
from tests.support.wire import BatchFields, Message, Record, build_batch

TIMEOUT_MS = 900_000
"""Longer than all scenarios take: what one leaves open is seen by those that list everything, in both brokers alike."""
NOBODY = {"producer_id": -1, "producer_epoch": -1}
TRANSACTIONAL = 0x10
FIRST_OF_BROKERS = 4
"""Version of AddPartitionsToTxn from which on it has many transactions."""
FIRST_WITH_BUMPS = 5
"""Version of EndTxn from which on the producer gets a new epoch."""

Prepared = Generator[Step, Message, "Producer"]


class Producer(NamedTuple):
    """Who begins, adds, writes and ends."""

    transactional_id: str
    producer_id: int
    epoch: int

    def at(self, epoch: int) -> "Producer":
        """Return the same with another epoch."""
        return self._replace(epoch=epoch)

    def other(self) -> "Producer":
        """Return the same with the id of nobody's."""
        return self._replace(producer_id=self.producer_id + 100_000)


def coordinated() -> Steps:
    """Wait until the broker coordinates transactions."""
    yield Until("FindCoordinator", 4, {"key_type": 1, "coordinator_keys": ["t"]}, _is_found)


def begin(transactional_id: str | None, **fields: object) -> Message:
    """Return an InitProducerId request."""
    return {"transactional_id": transactional_id, "transaction_timeout_ms": TIMEOUT_MS, **NOBODY, **fields}


def initialised(transactional_id: str, **fields: object) -> Prepared:
    """Begin, whatever was before; for the preparation alone."""
    request = begin(transactional_id, **fields)
    answer = yield Until("InitProducerId", 4, request, lambda told: not told["error_code"])
    producer_id, epoch = answer["producer_id"], answer["producer_epoch"]
    assert isinstance(producer_id, int)
    assert isinstance(epoch, int)
    return Producer(transactional_id, producer_id, epoch)


def adding(producer: Producer, version: int, topics: Sequence[tuple[str, list[int]]], verify: bool = False) -> Message:
    """Return an AddPartitionsToTxn request."""
    named = [{"name": name, "partitions": indexes} for name, indexes in topics]
    if version < FIRST_OF_BROKERS:
        return {
            "v3_and_below_transactional_id": producer.transactional_id,
            "v3_and_below_producer_id": producer.producer_id,
            "v3_and_below_producer_epoch": producer.epoch,
            "v3_and_below_topics": named,
        }
    transaction = {
        "transactional_id": producer.transactional_id,
        "producer_id": producer.producer_id,
        "producer_epoch": producer.epoch,
        "verify_only": verify,
        "topics": named,
    }
    return {"transactions": [transaction]}


def added(producer: Producer, *topics: tuple[str, list[int]]) -> Steps:
    """Make partitions part of the transaction."""
    yield Until("AddPartitionsToTxn", 3, adding(producer, 3, topics), _are_added)


def ending(producer: Producer, is_commit: bool) -> Message:
    """Return an EndTxn request."""
    return {
        "transactional_id": producer.transactional_id,
        "producer_id": producer.producer_id,
        "producer_epoch": producer.epoch,
        "committed": is_commit,
    }


def ended(producer: Producer, is_commit: bool, version: int = 3) -> Prepared:
    """End a transaction and wait until its markers are written; return the producer as it goes on."""
    answer = yield Until("EndTxn", version, ending(producer, is_commit), lambda told: not told["error_code"])
    yield from settled(producer.transactional_id)
    return producer if version < FIRST_WITH_BUMPS else producer.at(answer["producer_epoch"])


def settled(transactional_id: str) -> Steps:
    """Wait until the end of a transaction is complete."""
    yield Until("DescribeTransactions", 0, {"transactional_ids": [transactional_id]}, _is_complete)


def batch(producer: Producer, sequence: int, attributes: int = TRANSACTIONAL, text: bytes = b"1") -> bytes:
    """Return a batch of one record of a producer."""
    fields = BatchFields(
        timestamp=NOW_MS + sequence,
        producer_id=producer.producer_id,
        producer_epoch=producer.epoch,
        base_sequence=sequence,
        attributes=attributes,
    )
    return build_batch([Record(b"k", text)], fields)


def producing(transactional_id: str | None, topic: Message, *places: tuple[int, bytes], acks: int = -1) -> Message:
    """Return a Produce request; `topic` is its name and id."""
    data = {**topic, "partition_data": [{"index": index, "records": records} for index, records in places]}
    return {"transactional_id": transactional_id, "acks": acks, "timeout_ms": 3000, "topic_data": [data]}


def written(producer: Producer, topic: str, partition: int, sequence: int) -> Steps:
    """Write one record in a transaction that the partition is part of."""
    request = producing(producer.transactional_id, {"name": topic}, (partition, batch(producer, sequence)))
    yield Until("Produce", 11, request, _is_written)


def fetching(topic: Message, partition: int, offset: int = 0, *, isolation: int = 1) -> Message:
    """Return a Fetch request of one partition, of committed records unless said otherwise."""
    asked = {
        "partition": partition,
        "current_leader_epoch": -1,
        "fetch_offset": offset,
        "last_fetched_epoch": -1,
        "log_start_offset": -1,
        "partition_max_bytes": 1 << 20,
    }
    return {
        "replica_id": -1,
        "max_wait_ms": 20,
        "min_bytes": 1,
        "max_bytes": 1 << 20,
        "session_id": 0,
        "session_epoch": -1,
        "rack_id": "",
        "isolation_level": isolation,
        "topics": [{**topic, "partitions": [asked]}],
    }


def fetch(label: str, version: int, topic: Message, partition: int, offset: int = 0, **more: Any) -> Ask:
    """Ask for records, of which every field of every batch is compared."""
    return Ask(label, "Fetch", version, fetching(topic, partition, offset, **more), with_batches)


def describe_producers(label: str, topic: str, partitions: Sequence[int]) -> Ask:
    """Ask what partitions remember of producers."""
    fields = {"topics": [{"name": topic, "partition_indexes": partitions}]}
    return Ask(label, "DescribeProducers", 0, fields, _without_times)


def describe(label: str, *transactional_ids: str) -> Ask:
    """Ask for the state of transactions."""
    return Ask(label, "DescribeTransactions", 0, {"transactional_ids": transactional_ids})


def _without_times(answer: Message) -> Message:
    """Return what partitions remember without the times, which are those of markers."""
    for topic in answer["topics"]:
        for partition in topic["partitions"]:
            for producer in partition["active_producers"]:
                del producer["last_timestamp"]
    return answer


def _is_found(answer: Message) -> bool:
    return not answer["coordinators"][0]["error_code"]


def _is_complete(answer: Message) -> bool:
    return str(answer["transaction_states"][0]["transaction_state"]).startswith("Complete")


def _are_added(answer: Message) -> bool:
    [*topics] = answer["results_by_topic_v3_and_below"]
    return not any(each["partition_error_code"] for topic in topics for each in topic["results_by_partition"])


def _is_written(answer: Message) -> bool:
    return not answer["responses"][0]["partition_responses"][0]["error_code"]
