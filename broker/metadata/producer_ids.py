"""Producer ids: handed out one by one from blocks that the metadata log gives, so that none is ever given twice.

Owns: the block in use. Must not know: requests. A block is 1,000 ids, recorded before the first of them is used; what
is left of a block when the broker stops is lost, as in Kafka (KIP-730).
"""

from collections import deque
from collections.abc import Callable
from typing import Final

from odradek.broker.metadata.records import make_record
from odradek.broker.metadata.source import MetadataSource, Stored
from odradek.broker.runtime.deferred import Deferred
from odradek.protocol.errors import KafkaError
from odradek.protocol.messages.metadata_records import ProducerIdsRecord

BLOCK_SIZE: Final = 1000

Allocated = int | KafkaError
"""An id that nobody has had, or why there is none: KAFKA_STORAGE_ERROR if a new block could not be recorded."""


class ProducerIds:
    """Gives out producer ids that are unique in the cluster."""

    def __init__(
        self,
        source: MetadataSource,
        node_id: int,
        in_turn: Callable[[Callable[[], None]], object] = lambda work: work(),
    ) -> None:
        """`in_turn` does what proposes a change when nobody else plans one (`Controller.in_turn`)."""
        self._source = source
        self._in_turn = in_turn
        self._node_id = node_id
        self._next = 0
        self._end = 0
        self._waiting: deque[Deferred[Allocated]] = deque()
        """Those who wait for the next block."""
        self._is_recording = False

    def allocate(self) -> Allocated | Deferred[Allocated]:
        """Return an id, later where a new block has to be recorded first."""
        if self._next < self._end:
            return self._take()
        waiting: Deferred[Allocated] = Deferred()
        self._waiting.append(waiting)
        if not self._is_recording:
            self._begin_block()
        return waiting.now_or_later()

    def _take(self) -> int:
        self._next += 1
        return self._next - 1

    def _begin_block(self) -> None:
        self._is_recording = True
        self._in_turn(self._propose_block)

    def _propose_block(self) -> None:
        image = self._source.proposed
        first = image.next_producer_id
        broker = image.brokers.get(self._node_id)
        record = ProducerIdsRecord(
            broker_id=self._node_id,
            broker_epoch=broker.epoch if broker else -1,
            next_producer_id=first + BLOCK_SIZE,
        )
        stored = self._source.propose([make_record(record)], image)
        if isinstance(stored, Deferred):
            stored.on_done(lambda outcome: self._recorded(first, outcome))
        else:
            self._recorded(first, stored)

    def _recorded(self, first: int, stored: Stored) -> None:
        if isinstance(stored, KafkaError):
            self._is_recording = False
            waiting, self._waiting = self._waiting, deque()
            for one in waiting:
                one.resolve(stored)
            return
        self._next, self._end = first, first + BLOCK_SIZE
        while self._waiting and self._next < self._end:
            self._waiting.popleft().resolve(self._take())
        self._is_recording = False
        if self._waiting:
            self._begin_block()
