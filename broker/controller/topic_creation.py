"""Making topics, as those see it who need one: at the controller of this process, or at another one."""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from odradek.broker.controller.topics import NewTopic
from odradek.broker.runtime.context import RequestContext
from odradek.broker.runtime.deferred import Deferred

Charge = Callable[[int], object]
"""Is told how many partitions are to be changed; raises KafkaError where they are too many."""


def free(_partitions: int) -> None:
    """Charge nothing."""


class TopicCreation(Protocol):
    """What makes topics: the controller of this process, or the way to another one."""

    def create_topics(
        self, topics: Sequence[NewTopic], *, charge: Charge = free, client: RequestContext | None = None
    ) -> list[Any] | Deferred[list[Any]]:
        """Make topics; return a KafkaError in the place of each that cannot be made. Raises KafkaError for all.

        They count for the quota of whoever asked for them: `charge` is told of each where this node decides, another
        controller is told of the client. Without one nobody asked, and nothing is counted.
        """
