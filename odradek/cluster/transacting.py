"""Producing in transactions of so many records each."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from confluent_kafka import KafkaException, Producer

from odradek.cluster.errors import failure
from odradek.cluster.producing import drain
from odradek.terminal.errors import CommandError

TIMEOUT_S: Final = 60.0
"""For the coordinator's answer; it may have its topic to make first."""


class Transactions:
    """Puts every `size` records of a producer into a transaction of their own; one is begun with its first record.

    All methods raise CommandError where the coordinator refuses.
    """

    def __init__(
        self,
        producer: Producer,
        transactional_id: str,
        size: int,
        on_commit: Callable[[float], None],
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        """Take the transactional id, fencing whoever had it; what that one left open is aborted.

        `on_commit` is told after each commit how many seconds it took, from asking for it to its answer: the records
        are acknowledged before it is asked for.
        """
        self._on_commit = on_commit
        self._producer = producer
        self._what = f"transactional id {transactional_id}"
        self._size = size
        self._clock = clock
        self._records = 0
        self._is_open = False
        self._call(lambda: producer.init_transactions(TIMEOUT_S))

    def before_record(self) -> None:
        """Make room for a record: commit a transaction that is full, and have one open."""
        if self._records == self._size:
            self.commit()
        if not self._is_open:
            self._call(self._producer.begin_transaction)
            self._is_open = True
        self._records += 1

    def commit(self) -> None:
        """Commit the open transaction, if there is one, once its records are acknowledged, or else abort it."""
        if not self._is_open:
            return
        if drain(self._producer):
            raise CommandError(f"{self._what}: its records are not acknowledged; is the broker still there?")
        began = self._clock()
        try:
            self._call(lambda: self._producer.commit_transaction(TIMEOUT_S))
        except CommandError:
            with suppress(CommandError):  # a producer that is fenced may not
                self.abort()
            raise
        self._on_commit(self._clock() - began)
        self._is_open, self._records = False, 0

    def abort(self) -> None:
        """Abort the open transaction, if there is one."""
        if self._is_open:
            self._is_open, self._records = False, 0
            self._call(lambda: self._producer.abort_transaction(TIMEOUT_S))

    def _call(self, step: Callable[[], None]) -> None:
        try:
            step()
        except KafkaException as raised:
            raise failure(raised, self._what) from raised
