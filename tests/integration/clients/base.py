"""What every client is asked to do, in values that no client owns."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

READ_TIMEOUT_S = 60


class Codec(StrEnum):
    """Compression as all the clients name it."""

    NONE = "none"
    GZIP = "gzip"
    SNAPPY = "snappy"
    LZ4 = "lz4"
    ZSTD = "zstd"


class Sent(NamedTuple):
    """A record to be produced."""

    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes], ...]
    timestamp: int


class ReadRecord(NamedTuple):
    """A record as a consumer handed it out."""

    offset: int
    record: Sent


@dataclass(frozen=True, slots=True)
class ProduceSettings:
    """How a producer is set up; the defaults are those that most clients have."""

    acks: int = -1
    codec: Codec = Codec.NONE
    idempotent: bool = False

    def __str__(self) -> str:
        return f"{self.codec}-acks{'all' if self.acks < 0 else self.acks}{'-idempotent' if self.idempotent else ''}"


class Beginning(NamedTuple):
    """From the first record."""


class End(NamedTuple):
    """From after the last record at the time of asking."""


class FromOffset(NamedTuple):
    """From an offset."""

    offset: int


class FromTimestamp(NamedTuple):
    """From the first record that is not older than a timestamp, in milliseconds."""

    timestamp: int


BEGINNING, END = Beginning(), End()
Start = Beginning | End | FromOffset | FromTimestamp


class Client(ABC):
    """One client library, used with its default settings except for what a method is given."""

    name: str

    def __init__(self, bootstrap: str) -> None:
        self.bootstrap = bootstrap

    @abstractmethod
    def create_topic(self, topic: str, partitions: int = 1) -> None:
        """Create a topic with the client's admin interface."""

    @abstractmethod
    def produce(self, topic: str, partition: int, records: Sequence[Sent], settings: ProduceSettings) -> None:
        """Produce the records to one partition and return when all are acknowledged (or sent, with acks=0)."""

    @abstractmethod
    def read(self, topic: str, partition: int, start: Start, count: int) -> list[ReadRecord]:
        """Assign one partition, seek, and return the next `count` records."""

    @abstractmethod
    def end_offset(self, topic: str, partition: int) -> int:
        """Return the offset that the next record will have."""

    @abstractmethod
    def offset_for(self, topic: str, partition: int, timestamp: int) -> int | None:
        """Return the offset of the first record not older than a timestamp, None when there is none."""
