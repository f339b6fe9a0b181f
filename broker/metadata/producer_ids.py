"""Producer ids: handed out one by one from blocks, so that none is ever given twice.

Owns: the block in use, and blocks of a node that decides itself: 1,000 ids, recorded before the first of them is used.
Must not know: requests. What is left of a block when the broker stops is lost, as in Kafka (KIP-730).
"""

from collections import deque
from collections.abc import Callable
from typing import Final, NamedTuple

from odradek.broker.metadata.records import make_record
from odradek.broker.metadata.source import MetadataSource, Stored
from odradek.broker.runtime.deferred import Deferred
from odradek.protocol.errors import KafkaError
from odradek.protocol.messages.metadata_records import ProducerIdsRecord

BLOCK_SIZE: Final = 1000

Allocated = int | KafkaError
"""An id that nobody has had, or why there is none: the error for which there is no new block."""


class ProducerIdBlock(NamedTuple):
    """Ids that nobody else gives out."""

    first: int
    size: int


NextBlock = Callable[[], Deferred[ProducerIdBlock | KafkaError]]
"""Gets a new block."""


class RecordedBlocks:
    """Blocks that this node, which decides itself, records in the metadata."""

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

    def next_block(self) -> Deferred[ProducerIdBlock | KafkaError]:
        """Record a block; KAFKA_STORAGE_ERROR if that cannot be done."""
        block: Deferred[ProducerIdBlock | KafkaError] = Deferred()
        self._in_turn(lambda: self._propose(block))
        return block

    def _propose(self, block: Deferred[ProducerIdBlock | KafkaError]) -> None:
        image = self._source.proposed
        first = image.next_producer_id
        broker = image.brokers.get(self._node_id)
        record = ProducerIdsRecord(
            broker_id=self._node_id,
            broker_epoch=broker.epoch if broker else -1,
            next_producer_id=first + BLOCK_SIZE,
        )

        def recorded(stored: Stored) -> None:
            block.resolve(stored if isinstance(stored, KafkaError) else ProducerIdBlock(first, BLOCK_SIZE))

        stored = self._source.propose([make_record(record)], image)
        if isinstance(stored, Deferred):
            stored.on_done(recorded)
        else:
            recorded(stored)


class ProducerIds:
    """Gives out producer ids that are unique in the cluster."""

    def __init__(self, next_block: NextBlock) -> None:
        self._next_block = next_block
        self._next = 0
        self._end = 0
        self._waiting: deque[Deferred[Allocated]] = deque()
        """Those who wait for the next block."""
        self._is_asking = False

    def allocate(self) -> Allocated | Deferred[Allocated]:
        """Return an id, later where a new block has to be got first."""
        if self._next < self._end:
            return self._take()
        waiting: Deferred[Allocated] = Deferred()
        self._waiting.append(waiting)
        if not self._is_asking:
            self._ask()
        return waiting.now_or_later()

    def _take(self) -> int:
        self._next += 1
        return self._next - 1

    def _ask(self) -> None:
        self._is_asking = True
        block = self._next_block().now_or_later()
        if isinstance(block, Deferred):
            block.on_done(self._got)
        else:
            self._got(block)

    def _got(self, block: ProducerIdBlock | KafkaError) -> None:
        if isinstance(block, KafkaError):
            self._is_asking = False
            waiting, self._waiting = self._waiting, deque()
            for one in waiting:
                one.resolve(block)
            return
        self._next, self._end = block.first, block.first + block.size
        while self._waiting and self._next < self._end:
            self._waiting.popleft().resolve(self._take())
        self._is_asking = False
        if self._waiting:
            self._ask()
