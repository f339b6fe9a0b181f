"""Reads the metadata log of a controller over the network, as a broker that only follows does."""

from collections.abc import Iterator
from uuid import UUID

from odradek.broker.metadata.records import MetadataRecord, read_record
from odradek.protocol.records.batch import iter_batches
from odradek.protocol.records.record import iter_records
from tests.support.wire import Message, WireClient

_TOPIC_ID = UUID(int=1)
_FENCED_LEADER_EPOCH = 74


class WrittenMetadata:
    """The records that a controller wrote since it was last looked."""

    def __init__(self, port: int) -> None:
        self._wire = WireClient(port)
        self._epoch = 0
        self.next_offset = 0
        """Of the first record that was not read yet; nothing below it is left to be seen by a broker."""

    def close(self) -> None:
        """Close the connection."""
        self._wire.close()

    def read(self) -> list[MetadataRecord]:
        """Return what was written meanwhile, without records that carry nothing."""
        found: list[MetadataRecord] = []
        while True:
            partition = self._fetch()
            self._epoch = partition["current_leader"]["leader_epoch"]
            if partition["error_code"] == _FENCED_LEADER_EPOCH:
                continue
            assert partition["error_code"] == 0, partition
            found += self._records(partition["records"])
            if self.next_offset >= partition["high_watermark"]:
                return found

    def _fetch(self) -> Message:
        wanted = {
            "partition": 0,
            "current_leader_epoch": self._epoch,
            "fetch_offset": self.next_offset,
            "last_fetched_epoch": self._epoch if self.next_offset else 0,
            "log_start_offset": -1,
            "partition_max_bytes": 0,
            "high_watermark": 0,
        }
        answer = self._wire.ask(
            "Fetch",
            18,
            max_wait_ms=0,
            min_bytes=0,
            max_bytes=1 << 20,
            session_epoch=-1,
            topics=[{"topic_id": _TOPIC_ID, "partitions": [wanted]}],
            replica_state={"replica_id": 99, "replica_epoch": -1},
        )
        assert answer["error_code"] == 0, answer
        partition: Message = answer["responses"][0]["partitions"][0]
        return partition

    def _records(self, data: bytes | None) -> Iterator[MetadataRecord]:
        for at, header in iter_batches(data or b""):
            if not header.is_control:
                for record in iter_records((data or b"")[at:]):
                    read = read_record(record.value or b"", record.offset)
                    if read is not None:
                        yield read
            self.next_offset = header.next_offset
