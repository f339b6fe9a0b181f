"""The brokers of a cluster, as its active controller leads them: registrations, heartbeats, fencing.

Owns: who lives (`sessions`), and the order in which what brokers say becomes metadata. Must not know: connections, wire
versions, clocks: every method is given the time. The answers are Kafka's, error codes in their own field, and come once
what they promise is durable; a broker that only says that it lives waits for nothing.

    begin(now_ms)         leadership has begun: sessions begin anew
    register, heartbeat   what brokers ask
    tick(now_ms)          to be called every `CHECKS_PER_SESSION`th part of the session timeout
"""

from collections.abc import Sequence
from typing import Final

from odradek.broker.controller.broker_changes import (
    leads,
    plan_controlled_shutdown,
    plan_directories,
    plan_fencing,
    plan_unfencing,
)
from odradek.broker.controller.controller import Controller
from odradek.broker.controller.controller_view import ControllerView
from odradek.broker.controller.registration import plan_registration
from odradek.broker.controller.sessions import BrokerSessions, BrokerState
from odradek.broker.metadata.features import CORDONED_DIRECTORIES, METADATA_VERSION
from odradek.broker.metadata.image import BrokerImage
from odradek.broker.metadata.records import MetadataRecord
from odradek.broker.runtime.deferred import Deferred, then
from odradek.broker.runtime.logging import get_logger
from odradek.protocol.errors import KafkaError
from odradek.protocol.messages.broker_heartbeat import BrokerHeartbeatRequest, BrokerHeartbeatResponse
from odradek.protocol.messages.broker_registration import BrokerRegistrationRequest, BrokerRegistrationResponse

log = get_logger("controller")

CHECKS_PER_SESSION: Final = 8
"""How often within a session timeout it is looked for brokers that have fallen silent, as in Kafka."""


class BrokerControl:
    """Answers what brokers ask of the active controller about themselves."""

    def __init__(self, controller: Controller, cluster_id: str, session_timeout_ms: int) -> None:
        """`session_timeout_ms` is broker.session.timeout.ms."""
        self._controller = controller
        self._cluster_id = cluster_id
        self._sessions = BrokerSessions(session_timeout_ms)
        self._registered_at: dict[int, int] = {}
        """Offsets of the registrations of this leadership; of earlier ones the epoch stands for it."""
        self._is_fencing = False

    def begin(self, now_ms: int, own_broker: int | None = None) -> None:
        """Begin to lead: every unfenced broker has a whole session timeout to be heard of.

        But for `own_broker`, which is one process with this controller and ended with it: its id is free at once.
        """
        self._sessions.begin(self._controller.brokers(), now_ms)
        if own_broker is not None:
            self._sessions.forget(own_broker)
        self._registered_at = {}

    def register(
        self, request: BrokerRegistrationRequest, now_ms: int
    ) -> BrokerRegistrationResponse | Deferred[BrokerRegistrationResponse]:
        """Answer BrokerRegistration: the epoch of the broker, or Kafka's code for what forbids it."""
        known = self._controller.brokers().get(request.broker_id)
        is_alive = known is not None and self._sessions.is_alive(known, now_ms)

        offset = 0

        def plan(view: ControllerView) -> tuple[Sequence[MetadataRecord], BrokerRegistrationResponse]:
            nonlocal offset
            next_offset = view.image.offset
            planned = plan_registration(view, self._cluster_id, request, is_alive=is_alive, next_offset=next_offset)
            offset = next_offset + len(planned.records) - 1
            return planned.records, BrokerRegistrationResponse(broker_epoch=planned.epoch)

        def refused(error: KafkaError) -> BrokerRegistrationResponse:
            log.warning("registration refused", broker=request.broker_id, reason=str(error))
            return BrokerRegistrationResponse(error_code=error.code)

        def answer(response: BrokerRegistrationResponse) -> BrokerRegistrationResponse:
            if not response.error_code:
                self._sessions.registered(request.broker_id)
                self._registered_at[request.broker_id] = offset
                log.info("broker registered", broker=request.broker_id, epoch=response.broker_epoch)
            return response

        return then(self._controller.change(plan, refused), answer)

    def heartbeat(
        self, request: BrokerHeartbeatRequest, now_ms: int
    ) -> BrokerHeartbeatResponse | Deferred[BrokerHeartbeatResponse]:
        """Answer BrokerHeartbeat: whether the broker is caught up, fenced, and may stop."""
        try:
            broker = self._controller.view(self._controller.proposed).check_broker_epoch(
                request.broker_id, request.broker_epoch
            )
        except KafkaError as error:
            return BrokerHeartbeatResponse(error_code=error.code)
        registered_at = self._registered_at.get(broker.broker_id, broker.epoch)
        before, after = self._next_state(broker, request, registered_at)
        self._sessions.touch(broker, request.current_metadata_offset, now_ms)
        response = BrokerHeartbeatResponse(
            is_caught_up=request.current_metadata_offset >= registered_at,
            is_fenced=after in (BrokerState.FENCED, BrokerState.SHUTDOWN_NOW),
            should_shut_down=after is BrokerState.SHUTDOWN_NOW,
        )
        if before is after and not _changes_directories(self._controller, broker, request):
            return response

        end = 0

        def plan(view: ControllerView) -> tuple[list[MetadataRecord], BrokerHeartbeatResponse]:
            nonlocal end
            registered = view.check_broker_epoch(request.broker_id, request.broker_epoch)
            records = [] if before is after else _plan_state(view, registered, after)
            records += _plan_directories(view, registered, request)
            end = view.image.offset + len(records)
            return records, response

        def answer(answered: BrokerHeartbeatResponse) -> BrokerHeartbeatResponse:
            if answered is response and after is BrokerState.CONTROLLED_SHUTDOWN and before is not after:
                self._sessions.shuts_down(broker, end, now_ms)
            return answered

        if before is not after:
            log.info("broker changes its state", broker=broker.broker_id, now=after.value, before=before.value)
        return then(self._controller.change(plan, lambda error: BrokerHeartbeatResponse(error_code=error.code)), answer)

    def tick(self, now_ms: int) -> None:
        """Fence the broker that was silent for longest, if that is too long; the next one once that is durable.

        One at a time, so that what follows from the one is seen when the other is decided on, as in Kafka.
        """
        stale = None if self._is_fencing else self._sessions.stale(self._controller.brokers(), now_ms)
        if stale is None:
            return
        log.warning("broker fenced: its session has timed out", broker=stale.broker_id)
        self._is_fencing = True

        def plan(view: ControllerView) -> tuple[list[MetadataRecord], bool]:
            return plan_fencing(view, view.check_broker_epoch(stale.broker_id, stale.epoch)), True

        def refused(error: KafkaError) -> bool:
            log.warning("broker not fenced", broker=stale.broker_id, reason=str(error))
            return False

        def fenced(is_done: bool) -> None:
            self._is_fencing = False
            if is_done:
                self.tick(now_ms)

        then(self._controller.change(plan, refused), fenced)

    def _next_state(
        self, broker: BrokerImage, request: BrokerHeartbeatRequest, registered_at: int
    ) -> tuple[BrokerState, BrokerState]:
        controller = self._controller
        return self._sessions.next_state(
            broker,
            request,
            controller.brokers(),
            registered_at,
            lambda: leads(controller.view(controller.proposed), broker.broker_id),
        )


def _plan_state(view: ControllerView, broker: BrokerImage, state: BrokerState) -> list[MetadataRecord]:
    match state:
        case BrokerState.UNFENCED:
            return plan_unfencing(view, broker)
        case BrokerState.CONTROLLED_SHUTDOWN:
            return plan_controlled_shutdown(view, broker)
        case _:
            return plan_fencing(view, broker)


def _plan_directories(
    view: ControllerView, broker: BrokerImage, request: BrokerHeartbeatRequest
) -> list[MetadataRecord]:
    knows_cordons = view.image.feature(METADATA_VERSION) >= CORDONED_DIRECTORIES
    cordoned = request.cordoned_log_dirs if knows_cordons else None
    return plan_directories(view, broker, request.offline_log_dirs, cordoned)


def _changes_directories(controller: Controller, broker: BrokerImage, request: BrokerHeartbeatRequest) -> bool:
    if request.cordoned_log_dirs is None and not request.offline_log_dirs:
        return False
    view = controller.view(controller.proposed)
    offline = not set(request.offline_log_dirs).isdisjoint(broker.log_dirs)
    return offline or bool(_plan_directories(view, broker, request))
