"""The records of a topic as they come, no faster than a person's browser takes them, and not for ever."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Mapping
from contextlib import closing
from threading import Semaphore
from typing import Final, NamedTuple

from confluent_kafka import Consumer, KafkaError, TopicPartition

from odradek.cluster.connection import ClusterClients
from odradek.cluster.consuming import SETTINGS, WITHOUT_GROUP, consumed
from odradek.cluster.errors import sentence
from odradek.records.consumed import Consumed
from odradek.terminal.errors import CommandError

TAILS_AT_ONCE: Final = 8
LONGEST_S: Final = 3600.0
POLL_S: Final = 0.5
MOST_A_POLL: Final = 50
TAKEN_A_POLL: Final = 5_000
"""Records that one step goes through; what is more waits in the topic."""
_QUEUED_KIB: Final = 4 << 10
_FETCHED_BYTES: Final = 256 << 10
_PASSING: Final = frozenset({KafkaError._PARTITION_EOF, KafkaError._TRANSPORT, KafkaError._ALL_BROKERS_DOWN})


class TailStep(NamedTuple):
    """What came in half a second: the last records that are wanted, and how many more there were."""

    records: list[Consumed]
    left_out: int


def open_tail(cluster: ClusterClients, topic: str, starts: Mapping[int, int]) -> Consumer:
    """Return a consumer that reads from these offsets on."""
    settings = {
        **WITHOUT_GROUP,
        "enable.partition.eof": False,
        "fetch.message.max.bytes": _FETCHED_BYTES,
        "queued.max.messages.kbytes": _QUEUED_KIB,
    }
    consumer = cluster.consumer(settings, defaults=SETTINGS)
    consumer.assign([TopicPartition(topic, number, start) for number, start in starts.items()])
    return consumer


def tail(
    consumer: Consumer,
    accepts: Callable[[Consumed], bool],
    places: Semaphore,
    clock: Callable[[], float] = time.monotonic,
) -> Generator[TailStep, None, None]:
    """Yield a step each half second, empty ones among them, and close the consumer at the end.

    Raises CommandError where there is no place for another one, or the cluster lets it read no more.
    """
    with closing(consumer):
        if not places.acquire(blocking=False):
            raise CommandError(f"{TAILS_AT_ONCE} visitors follow topics already; close one of the pages")
        try:
            ends = clock() + LONGEST_S
            while clock() < ends:
                yield _step(consumer, accepts, clock)
        finally:
            places.release()


def _step(consumer: Consumer, accepts: Callable[[Consumed], bool], clock: Callable[[], float]) -> TailStep:
    until = clock() + POLL_S
    wanted: list[Consumed] = []
    taken = 0
    while taken < TAKEN_A_POLL and (left := until - clock()) > 0:
        message = consumer.poll(left)
        if message is None:
            break
        error = message.error()
        if error is None:
            taken += 1
            record = consumed(message)
            if accepts(record):
                wanted.append(record)
        elif error.code() not in _PASSING:
            raise CommandError(sentence(error, f"topic {message.topic()}"))
    return TailStep(wanted[-MOST_A_POLL:], max(0, len(wanted) - MOST_A_POLL))
