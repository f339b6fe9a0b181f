"""A small Kafka client driven by Kafka's own schemas, for tests that must say exactly what goes over the wire.

It shares no code with the project's codec, so that the two are checks on each other: the messages come from
tests/data/messages.jsonl, which was printed by Apache Kafka itself.
"""

from tests.support.wire.batches import BatchFields, Record, build_batch
from tests.support.wire.client import ConnectionClosedError, WireClient
from tests.support.wire.codec import Message, UndecodableError, decode, encode
from tests.support.wire.schema import ERROR_NAMES, SCHEMAS, error_code, known_versions, served_versions

__all__ = [
    "ERROR_NAMES",
    "SCHEMAS",
    "BatchFields",
    "ConnectionClosedError",
    "Message",
    "Record",
    "UndecodableError",
    "WireClient",
    "build_batch",
    "decode",
    "encode",
    "error_code",
    "known_versions",
    "served_versions",
]
