"""Tells the controller in which log directories the replicas of this broker lie, one request under way at a time.

Owns: what waits to be told, and when it is tried again: after 100 ms, twice as long each time, 10 s at most. What waits
is looked at again before it is sent, so that nothing is told that is known by then. Follows Kafka's
`AssignmentsManager` (KIP-858).
"""

from __future__ import annotations

from asyncio import AbstractEventLoop, Handle
from collections.abc import Callable
from functools import partial
from typing import Final
from uuid import UUID

from odradek.broker.metadata.image import ImageDelta, MetadataImage
from odradek.broker.replication.replica_directories import (
    MOST_REPLICAS,
    Locate,
    ReplicaPlace,
    assignment_request,
    changed_places,
    misplaced,
    verdicts,
)
from odradek.broker.runtime.deferred import Deferred
from odradek.broker.runtime.logging import get_logger
from odradek.protocol.codec import Message
from odradek.protocol.errors import ErrorCode, KafkaError, known_error
from odradek.protocol.messages.assign_replicas_to_dirs import AssignReplicasToDirsResponse

FIRST_RETRY_S: Final = 0.1
LAST_RETRY_S: Final = 10.0

log = get_logger("replication")


class DirectoryReports:
    """Reports the directories of replicas wherever the metadata has others."""

    def __init__(
        self,
        loop: AbstractEventLoop,
        send: Callable[[Message], Deferred[Message | KafkaError]],
        node_id: int,
        broker_epoch: Callable[[], int],
        image: Callable[[], MetadataImage],
        locate: Locate,
    ) -> None:
        """`send` takes a request to the active controller; `broker_epoch` is that of this broker's registration."""
        self._loop = loop
        self._send = send
        self._node_id = node_id
        self._broker_epoch = broker_epoch
        self._image = image
        self._locate = locate
        self._waiting: dict[ReplicaPlace, None] = {}
        self._scheduled: Handle | None = None
        self._is_under_way = False
        self._failures = 0
        self._problem = ""
        self._is_stopped = False

    def opened(self, topic_id: UUID, partition: int) -> None:
        """Look at a replica whose log is open now."""
        self._look_at(ReplicaPlace(topic_id, partition), self._image())

    def is_known(self, topic_id: UUID, partition: int) -> bool:
        """Return whether the metadata says where a replica lies, or need not."""
        place = ReplicaPlace(topic_id, partition)
        return misplaced(self._image(), place, self._node_id, self._locate) is None

    def on_metadata(self, old: MetadataImage, new: MetadataImage, _delta: ImageDelta) -> None:
        """Look at the replicas of which the metadata says something new; those that are not open yet come later."""
        for place in changed_places(old, new):
            self._look_at(place, new)

    def stop(self) -> None:
        """Tell nothing any more."""
        self._is_stopped = True
        if self._scheduled is not None:
            self._scheduled.cancel()

    def _look_at(self, place: ReplicaPlace, image: MetadataImage) -> None:
        if misplaced(image, place, self._node_id, self._locate) is not None:
            self._waiting[place] = None
            self._schedule()

    def _schedule(self) -> None:
        if self._is_under_way or self._is_stopped or self._scheduled is not None:
            return
        if self._failures:
            delay_s = min(FIRST_RETRY_S * 2 ** min(self._failures - 1, 10), LAST_RETRY_S)
            self._scheduled = self._loop.call_later(delay_s, self._send_waiting)
        else:
            self._scheduled = self._loop.call_soon(self._send_waiting)

    def _send_waiting(self) -> None:
        self._scheduled = None
        image = self._image()
        told: dict[ReplicaPlace, UUID] = {}
        while self._waiting and len(told) < MOST_REPLICAS:
            place = next(iter(self._waiting))
            del self._waiting[place]
            directory = misplaced(image, place, self._node_id, self._locate)
            if directory is not None:
                told[place] = directory
        if told:
            self._is_under_way = True
            request = assignment_request(self._node_id, self._broker_epoch(), told)
            self._send(request).on_done(partial(self._answered, tuple(told)))

    def _answered(self, told: tuple[ReplicaPlace, ...], answer: Message | KafkaError) -> None:
        self._is_under_way = False
        codes: dict[ReplicaPlace, ErrorCode] = {}
        problem = ""
        if isinstance(answer, AssignReplicasToDirsResponse) and not answer.error_code:
            codes = verdicts(answer)
        elif isinstance(answer, AssignReplicasToDirsResponse):
            problem = known_error(answer.error_code).name
        else:
            problem = str(answer)
        untold = [place for place in told if codes.get(place) is not ErrorCode.NONE]
        self._waiting.update(dict.fromkeys(untold))
        if untold and not problem:
            problem = codes.get(untold[0], ErrorCode.UNKNOWN_SERVER_ERROR).name
        self._failures = self._failures + 1 if untold else 0
        if problem and problem != self._problem:
            log.warning(
                "the controller did not note where replicas lie; telling it again",
                replicas=len(untold),
                reason=problem,
            )
        self._problem = problem
        if self._waiting:
            self._schedule()
