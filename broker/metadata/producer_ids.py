"""Producer ids: handed out one by one from blocks that the metadata log gives, so that none is ever given twice.

Owns: the block in use. Must not know: requests. A block is 1,000 ids, recorded before the first of them is used; what
is left of a block when the broker stops is lost, as in Kafka (KIP-730).
"""

from typing import Final

from odradek.broker.metadata.records import make_record
from odradek.broker.metadata.source import MetadataSource
from odradek.protocol.messages.metadata_records import ProducerIdsRecord

BLOCK_SIZE: Final = 1000


class ProducerIds:
    """Gives out producer ids that are unique in the cluster."""

    def __init__(self, source: MetadataSource, node_id: int) -> None:
        self._source = source
        self._node_id = node_id
        self._next = 0
        self._end = 0

    def allocate(self) -> int:
        """Return an id that nobody has had; raise KafkaError KAFKA_STORAGE_ERROR if a new block cannot be recorded."""
        if self._next == self._end:
            self._begin_block()
        producer_id = self._next
        self._next += 1
        return producer_id

    def _begin_block(self) -> None:
        image = self._source.image
        first = image.next_producer_id
        broker = image.brokers.get(self._node_id)
        record = ProducerIdsRecord(
            broker_id=self._node_id,
            broker_epoch=broker.epoch if broker else -1,
            next_producer_id=first + BLOCK_SIZE,
        )
        self._source.propose([make_record(record)], image)
        self._next, self._end = first, first + BLOCK_SIZE
