"""Asking the coordinator of a group, which may be on its way yet.

On a new cluster the first word about a group makes the topic of the groups, and until its partitions are there and read
no coordinator answers. The Java clients ask again for as long as a request may take; librdkafka's admin client gives
the error out instead.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

from confluent_kafka import KafkaError, KafkaException

from odradek.cluster.errors import ANSWER_TIMEOUT_S, answer

T = TypeVar("T")

PAUSE_S = 0.1

_ON_ITS_WAY = frozenset(
    {
        KafkaError.COORDINATOR_NOT_AVAILABLE,
        KafkaError.NOT_COORDINATOR,
        KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
    }
)


def is_on_its_way(error: object) -> bool:
    """Tell whether an error only says that there is no coordinator yet, or no longer where it was."""
    return isinstance(error, KafkaError) and error.code() in _ON_ITS_WAY


def ask_coordinator(
    ask: Callable[[], Future[T]],
    what: str,
    *,
    refused: Callable[[T], object] = lambda _answer: None,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> T:
    """Ask until a coordinator answers, for ANSWER_TIMEOUT_S seconds at most; CommandError where it fails.

    `refused` finds an error in an answer that holds errors of its own, so that it is asked again for those too.
    """
    deadline = clock() + ANSWER_TIMEOUT_S
    while True:
        future = ask()
        try:
            found = future.result(ANSWER_TIMEOUT_S)
            again = is_on_its_way(refused(found))
        except KafkaException as raised:
            again = is_on_its_way(raised.args[0])
        except TimeoutError:
            again = False
        if not again or clock() >= deadline:
            return answer(future, what, 0)
        sleep(PAUSE_S)
