"""What the shards of all partitions of `__transaction_state` share, and what they answer producers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from odradek.broker.coordinator.background import Background
from odradek.broker.coordinator.timers import TimerLoop
from odradek.broker.runtime.clock import Clock
from odradek.broker.runtime.deferred import Deferred
from odradek.broker.transactions.markers import MarkerSender
from odradek.broker.transactions.state import NO_PRODUCER_EPOCH, NO_PRODUCER_ID
from odradek.protocol.errors import ErrorCode, KafkaError


class ProducerResult(NamedTuple):
    """What a producer is told that begins or ends a transaction."""

    error: ErrorCode
    producer_id: int = NO_PRODUCER_ID
    producer_epoch: int = NO_PRODUCER_EPOCH


@dataclass(frozen=True, slots=True)
class TransactionShardServices:
    """What the shards of all partitions share."""

    scheduler: TimerLoop
    clock: Clock
    background: Background
    markers: MarkerSender
    new_producer_id: Callable[[], int | KafkaError | Deferred[int | KafkaError]]
    transaction_version: Callable[[], int]
    """The level of the feature `transaction.version`."""
