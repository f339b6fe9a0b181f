"""What counts how much is produced and fetched, as those who do that see it; `broker.monitoring.traffic` is one.

A broker without metrics has none, and Produce and Fetch look once for each request whether there is one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from odradek.broker.handlers.fetch_sessions import Found
    from odradek.broker.handlers.produce_results import Topics
    from odradek.protocol.hot.wire import TopicRef
    from odradek.protocol.messages.produce import ProduceRequest


class TrafficCounter(Protocol):
    """Counts on the event loop; each call is a few additions."""

    waited: int
    """Batches whose acknowledgement waited for the disk or for replicas."""

    def produced(self, request: ProduceRequest, topics: Topics) -> None:
        """A request of a client was worked on; batches that are still checked are told of later."""

    def appended(self, ref: TopicRef, records: memoryview) -> None:
        """The only batch of a request was appended."""

    def checked(self, name: str, records: memoryview, code: int = 0) -> None:
        """A batch that took longer to check is appended, or refused with the code."""

    def refused_late(self, code: int) -> None:
        """What became of a batch is known by now: it is refused with the code, unless that is 0."""

    def fetched(self, found: Found) -> None:
        """A fetch of a consumer is about to be answered with this."""

    def fetched_by_follower(self, found: Found) -> None:
        """A fetch of a follower is about to be answered with this."""
