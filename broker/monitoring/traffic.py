"""How much clients produce and fetch, topic by topic: numbers that grow, for who looks at metrics.

Owns: what is counted (`handlers.counting.TrafficCounter`). Counting is adding to numbers, on the
event loop alone. Must not know: how it is shown.
Follows Kafka's BrokerTopicMetrics, refusals that are a matter of course among them.
"""

from __future__ import annotations

from collections.abc import Sequence
from struct import Struct
from typing import TYPE_CHECKING

from odradek.broker.monitoring.errors import ErrorCounts
from odradek.broker.partitions.table import PartitionTable
from odradek.protocol.errors import ErrorCode
from odradek.protocol.hot.wire import TopicRef
from odradek.protocol.registry import ApiKey

if TYPE_CHECKING:
    from odradek.broker.handlers.fetch_sessions import Found
    from odradek.broker.handlers.produce_results import Topics
    from odradek.protocol.hot.fetch import FetchResult
    from odradek.protocol.messages.produce import ProduceRequest, TopicProduceData

_COUNT_AT = 57
_count_of = Struct(">i").unpack_from
"""How many records a batch has, the last field of its header."""

_EXPECTED = frozenset(
    {
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.KAFKA_STORAGE_ERROR,
    }
)
OF_PRODUCE = _EXPECTED | {ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.RECORD_LIST_TOO_LARGE, ErrorCode.CORRUPT_MESSAGE}
"""Refusals of Produce that do not count as failed."""
OF_FETCH = _EXPECTED | {
    ErrorCode.UNKNOWN_LEADER_EPOCH,
    ErrorCode.FENCED_LEADER_EPOCH,
    ErrorCode.REPLICA_NOT_AVAILABLE,
    ErrorCode.OFFSET_OUT_OF_RANGE,
    ErrorCode.INCONSISTENT_TOPIC_ID,
}
"""Refusals of Fetch that do not count as failed."""
_LATER = ErrorCode.REQUEST_TIMED_OUT
"""Stands for a batch that is checked on a thread first (`late_checks`)."""


class TopicTraffic:
    """The numbers of one topic."""

    __slots__ = ("bytes_in", "bytes_out", "failed_fetches", "failed_produces", "fetches", "messages_in", "produces")

    def __init__(self) -> None:
        self.messages_in = self.bytes_in = self.bytes_out = 0
        self.produces = self.failed_produces = 0
        self.fetches = self.failed_fetches = 0

    def appended(self, records: memoryview) -> None:
        """A batch was appended."""
        self.bytes_in += len(records)
        self.messages_in += _count_of(records, _COUNT_AT)[0]

    def add(self, other: TopicTraffic) -> None:
        """Add the numbers of another topic."""
        for name in self.__slots__:
            setattr(self, name, getattr(self, name) + getattr(other, name))


class Traffic:
    """The numbers of all topics."""

    def __init__(self, partitions: PartitionTable, errors: ErrorCounts) -> None:
        """What is refused is told to `errors`, too: nobody else sees the answers to Produce and Fetch."""
        self._partitions = partitions
        self._errors = errors
        self.by_topic: dict[str, TopicTraffic] = {}
        self._by_ref: dict[TopicRef, TopicTraffic] = {}
        """The same by what requests call them: names, and ids; begun anew whenever somebody looks."""
        self._gone = TopicTraffic()
        """Of topics that are no more."""
        self.bytes_to_followers = 0
        self.waited = 0
        """Batches whose acknowledgement waited for the disk or for replicas."""

    def produced(self, request: ProduceRequest, topics: Topics) -> None:
        """A request of a client was worked on; batches that are still checked are told of later."""
        asked: Sequence[TopicProduceData] = request.topic_data
        if len(asked) != len(topics):
            asked = [wanted for wanted in asked if wanted.partition_data]
        place = 0
        for ref, results in topics:  # by number: a zip would take as long as all the rest
            batches = asked[place].partition_data
            place += 1
            topic = self._by_ref.get(ref) or self._of(ref)
            if topic is None:
                for result in results:
                    self.refused_late(result[1])
                continue
            topic.produces += len(results)
            for at, result in enumerate(results):
                code = result[1]
                if code == 0:
                    records = batches[at].records
                    assert records is not None
                    topic.bytes_in += len(records)
                    topic.messages_in += _count_of(records, _COUNT_AT)[0]
                elif code != _LATER:
                    self._errors.refused(ApiKey.PRODUCE, code)
                    topic.failed_produces += code not in OF_PRODUCE

    def appended(self, ref: TopicRef, records: memoryview) -> None:
        """The only batch of a request was appended."""
        topic = self._by_ref.get(ref) or self._of(ref)
        if topic is not None:
            topic.produces += 1
            topic.appended(records)

    def checked(self, name: str, records: memoryview, code: int = 0) -> None:
        """A batch that took longer to check is appended, or refused with the code."""
        topic = self._of(name)
        self.refused_late(code)
        if topic is not None and code == 0:
            topic.appended(records)
        elif topic is not None and code not in OF_PRODUCE:
            topic.failed_produces += 1

    def refused_late(self, code: int) -> None:
        """What became of a batch is known by now: it is refused with the code, unless that is 0."""
        if code:
            self._errors.refused(ApiKey.PRODUCE, code)

    def fetched(self, found: Found) -> None:
        """A fetch of a consumer is about to be answered with this."""
        for ref, results in found:
            topic = self._by_ref.get(ref) or self._of(ref)
            if topic is None:
                self._refused(results)
                continue
            sent = _bytes_of(results)
            topic.fetches += len(results)
            topic.bytes_out += sent
            if not sent:
                self._refused(results)
                topic.failed_fetches += sum(one.error_code != 0 and one.error_code not in OF_FETCH for one in results)

    def fetched_by_follower(self, found: Found) -> None:
        """A fetch of a follower is about to be answered with this."""
        for _, results in found:
            sent = _bytes_of(results)
            self.bytes_to_followers += sent
            if not sent:
                self._refused(results)

    def _refused(self, results: Sequence[FetchResult]) -> None:
        for one in results:
            if one.error_code:
                self._errors.refused(ApiKey.FETCH, one.error_code)

    def total(self) -> TopicTraffic:
        """Return the numbers of all topics together, and forget those of topics that are no more."""
        self._by_ref.clear()
        for name in [name for name in self.by_topic if self._partitions.find(name) is None]:
            self._gone.add(self.by_topic.pop(name))
        total = TopicTraffic()
        for one in (self._gone, *self.by_topic.values()):
            total.add(one)
        return total

    def _of(self, ref: TopicRef) -> TopicTraffic | None:
        """The numbers of a topic, None where there is none of that name: names that clients make up take no memory."""
        topic = self._partitions.find(ref)
        if topic is None:
            return None
        known = self.by_topic.get(topic.name)
        if known is None:
            known = self.by_topic[topic.name] = TopicTraffic()
        self._by_ref[ref] = known
        return known


def _bytes_of(results: Sequence[FetchResult]) -> int:
    sent = 0
    for result in results:
        if result.records is not None:
            sent += result.records.length
    return sent
