"""A cluster that is gone while records go to or come from it, and what the person beside it is told."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from confluent_kafka import KafkaError

Tell: TypeAlias = Callable[[str], None]
"""Takes a sentence for the person."""


def ignore(_sentence: str) -> None:
    """Tell nobody: a loss ends the work, and is told as its error."""


@dataclass(slots=True)
class Disconnects:
    """What a client's error callback heard; a loss is told once, and so is its end."""

    bootstrap: str = ""
    tell: Tell = ignore
    lost: KafkaError | None = None
    drained: bool = False
    """Nothing that had come before the loss is left: what comes now comes over a new connection."""

    def on_error(self, error: KafkaError) -> None:
        """Take note that no broker can be reached, or that the client is of no use any more."""
        if error.code() != KafkaError._ALL_BROKERS_DOWN and not error.fatal():
            return
        if self.lost is None:
            self.tell(f"the connection to {self.bootstrap} is lost; trying on")
            self.drained = False
        self.lost = error

    def over(self) -> None:
        """Take note that there is a connection again."""
        if self.lost is not None:
            self.tell(f"connected to {self.bootstrap} again")
            self.lost = None
