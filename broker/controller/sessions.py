"""Which brokers live: their heartbeats, and what each of them leads to.

Owns: the volatile part of what a controller knows of brokers: when it last heard of each, how far each follows the
metadata, and who waits to stop. It is lost with the leadership and begins anew with the next one. Pure: time is passed
in. Must not know: records, answers. Rules: Kafka's `BrokerHeartbeatManager` (KIP-631).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum

from odradek.broker.metadata.image import BrokerImage
from odradek.protocol.messages.broker_heartbeat import BrokerHeartbeatRequest


class BrokerState(Enum):
    """What a broker is allowed to do."""

    FENCED = "fenced"
    UNFENCED = "unfenced"
    CONTROLLED_SHUTDOWN = "controlled shutdown"
    """It hands over what it leads."""
    SHUTDOWN_NOW = "shut down"


@dataclass(slots=True)
class _Session:
    epoch: int
    last_heard_ms: int
    metadata_offset: int = -1
    shutdown_offset: int | None = None
    """Once in controlled shutdown: how far the others must be before it may stop."""


class BrokerSessions:
    """The sessions of all brokers that have been heard of."""

    def __init__(self, timeout_ms: int) -> None:
        """`timeout_ms` is broker.session.timeout.ms."""
        self._timeout_ms = timeout_ms
        self._sessions: dict[int, _Session] = {}

    def begin(self, brokers: Mapping[int, BrokerImage], now_ms: int) -> None:
        """Forget everything, and give every unfenced broker a whole session to be heard of: leadership has begun."""
        self._sessions = {one.broker_id: _Session(one.epoch, now_ms) for one in brokers.values() if not one.fenced}

    def is_alive(self, broker: BrokerImage, now_ms: int) -> bool:
        """Whether this incarnation was heard of within the session timeout."""
        session = self._sessions.get(broker.broker_id)
        return session is not None and session.epoch == broker.epoch and not self._is_over(session, now_ms)

    def touch(self, broker: BrokerImage, metadata_offset: int, now_ms: int) -> None:
        """Take note of a heartbeat."""
        session = self._session(broker, now_ms)
        session.last_heard_ms = now_ms
        if broker.fenced:
            session.shutdown_offset = None
        session.metadata_offset = max(session.metadata_offset, metadata_offset)

    def shuts_down(self, broker: BrokerImage, offset: int, now_ms: int) -> None:
        """Take note that a broker wants to stop; what moves its leaders ends at `offset`. The first time counts."""
        session = self._session(broker, now_ms)
        if session.shutdown_offset is None:
            session.shutdown_offset = offset

    def forget(self, broker_id: int) -> None:
        """Drop the session of a broker that has ended."""
        self._sessions.pop(broker_id, None)

    def registered(self, broker_id: int) -> None:
        """Take note that a broker has registered: what it told before counts no more, but when it was last heard of.

        With the epoch that it has, that is still its session; else nobody is heard of with the old one any more.
        """
        session = self._sessions.get(broker_id)
        if session is not None:
            session.metadata_offset, session.shutdown_offset = -1, None

    def stale(self, brokers: Mapping[int, BrokerImage], now_ms: int) -> BrokerImage | None:
        """Return the unfenced broker that was silent for longest, if that is longer than the session timeout."""
        silent = [
            (session.last_heard_ms, broker.broker_id)
            for broker in brokers.values()
            if not broker.fenced
            and (session := self._sessions.get(broker.broker_id)) is not None
            and self._is_over(session, now_ms)
        ]
        return brokers[min(silent)[1]] if silent else None

    def next_state(
        self,
        broker: BrokerImage,
        request: BrokerHeartbeatRequest,
        brokers: Mapping[int, BrokerImage],
        registered_at: int,
        leads: Callable[[], bool],
    ) -> tuple[BrokerState, BrokerState]:
        """Return what a broker is and what its heartbeat makes of it.

        `registered_at` is the offset of its registration, which it must have seen before it is unfenced; `leads` tells
        whether it leads anything.
        """
        session = self._sessions.get(broker.broker_id)
        is_stopping = session is not None and session.epoch == broker.epoch and not broker.fenced
        if is_stopping and session is not None and session.shutdown_offset is not None:
            now = BrokerState.CONTROLLED_SHUTDOWN
            waits = leads() or session.shutdown_offset > self._lowest_offset(broker.broker_id, brokers)
            return now, now if waits else BrokerState.SHUTDOWN_NOW
        if broker.fenced:
            if request.want_shut_down:
                return BrokerState.FENCED, BrokerState.SHUTDOWN_NOW
            is_ready = not request.want_fence and request.current_metadata_offset >= registered_at
            return BrokerState.FENCED, BrokerState.UNFENCED if is_ready else BrokerState.FENCED
        if request.want_shut_down:
            is_gentle = not request.want_fence and leads()
            return BrokerState.UNFENCED, BrokerState.CONTROLLED_SHUTDOWN if is_gentle else BrokerState.SHUTDOWN_NOW
        return BrokerState.UNFENCED, BrokerState.FENCED if request.want_fence else BrokerState.UNFENCED

    def _lowest_offset(self, leaving: int, brokers: Mapping[int, BrokerImage]) -> int:
        """Return how far every broker that goes on serving has followed the metadata."""
        offsets = [
            session.metadata_offset
            for broker_id, session in self._sessions.items()
            if broker_id != leaving
            and session.shutdown_offset is None
            and broker_id in brokers
            and not brokers[broker_id].fenced
        ]
        return min(offsets, default=2**63 - 1)

    def _session(self, broker: BrokerImage, now_ms: int) -> _Session:
        session = self._sessions.get(broker.broker_id)
        if session is None or session.epoch != broker.epoch:
            session = self._sessions[broker.broker_id] = _Session(broker.epoch, now_ms)
        return session

    def _is_over(self, session: _Session, now_ms: int) -> bool:
        return session.last_heard_ms + self._timeout_ms < now_ms
