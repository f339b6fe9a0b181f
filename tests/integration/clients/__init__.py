"""The real Kafka clients behind one small face, so that one test can say what holds for all of them."""

from tests.integration.clients.aio import AioKafka
from tests.integration.clients.base import (
    BEGINNING,
    END,
    Client,
    Codec,
    FromOffset,
    FromTimestamp,
    ProduceSettings,
    ReadRecord,
    Sent,
)
from tests.integration.clients.confluent import Confluent
from tests.integration.clients.kafka_python import KafkaPython

CLIENTS: tuple[type[Client], ...] = (Confluent, KafkaPython, AioKafka)

__all__ = [
    "BEGINNING",
    "CLIENTS",
    "END",
    "AioKafka",
    "Client",
    "Codec",
    "Confluent",
    "FromOffset",
    "FromTimestamp",
    "KafkaPython",
    "ProduceSettings",
    "ReadRecord",
    "Sent",
]
