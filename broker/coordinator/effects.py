"""What a coordinator's state machine asks of the world: records to append, answers to give, timers to set.

Owns: the value that every event of a machine returns, whatever the machine is for. Must not know: how records are
written, who waits for an answer, or what time it is.

A machine has no clock, no socket and no log. Each of its events returns `Effects`, and `operations` carries them out,
in this order:

1. `timers` are set, set anew or cancelled, whatever becomes of the rest.
2. `records` are appended in one batch. A failed append means that none was written.
3. `after`, where given, is called with `ErrorCode.NONE`, or with the coordinator's error if the append failed, and
   returns further effects, carried out in the same way. It is how a machine makes a change depend on its record.
4. `background`, where given, is begun: it goes on between other events, and what it comes to is called with the time,
   and returns further effects, an event of its own. It is not begun if the append failed, or the machine is dropped.
5. `answers` go out. If the append failed they were not true: each of these tokens is answered with the error instead.

A token that is in no answer yet is parked; the machine keeps it, and answers it exactly once in some later effects.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import NamedTuple, Protocol

from odradek.protocol.codec import Message
from odradek.protocol.errors import ErrorCode

Now = int
"""Wall time in milliseconds since 1970 UTC: for what is recorded. Durations are measured by timers alone."""

Token = object
"""Stands for one waiting request. Made by `operations`, opaque to a machine, compared by identity."""


class OperationResult(Protocol):
    """What a request is told: a small named tuple that a handler turns into a message of any version."""

    @property
    def error(self) -> ErrorCode:
        """The error of the request as a whole."""


class CoordinatorRecord(NamedTuple):
    """One record of an internal topic, as the messages that its key and value are."""

    key: Message
    value: Message | None
    """None removes what the key names."""


class TimerKey(NamedTuple):
    """Names a timer within its machine."""

    kind: str
    member_id: str = ""
    """The member it watches, or nobody: the machine as a whole."""


class Effects:
    """What is to be done after one event; a machine fills it in."""

    __slots__ = ("after", "answers", "background", "records", "timers")

    def __init__(self) -> None:
        self.records: list[CoordinatorRecord] = []
        self.answers: list[tuple[Token, OperationResult]] = []
        self.timers: list[tuple[TimerKey, int | None]] = []
        """Milliseconds from now; None cancels. Of two entries with the same key the later counts."""
        self.after: Callable[[ErrorCode, Now], Effects] | None = None
        """Told how the append of `records` went."""
        self.background: Generator[None, None, Callable[[Now], Effects]] | None = None
        """Work that takes long, in slices of about a millisecond."""
