"""Removing delegation tokens that are over, every delegation.token.expiry.check.interval.ms."""

from __future__ import annotations

from collections.abc import Callable

from odradek.broker.controller.controller import Controller
from odradek.broker.controller.controller_view import ControllerView
from odradek.broker.metadata.records import MetadataRecord
from odradek.broker.runtime.deferred import then
from odradek.broker.runtime.logging import get_logger
from odradek.protocol.errors import KafkaError

log = get_logger("controller")


def token_sweep(controller: Controller, now_ms: Callable[[], int]) -> Callable[[], None]:
    """Return what removes tokens that are over."""

    def plan(view: ControllerView) -> tuple[list[MetadataRecord], int]:
        from odradek.broker.controller.delegation_tokens import plan_sweep  # a broker starts without its messages

        records = plan_sweep(view, now_ms())
        return records, len(records)

    def refused(error: KafkaError) -> int:
        log.warning("delegation tokens that are over could not be removed", reason=str(error))
        return 0

    def removed(count: int) -> None:
        if count:
            log.info("delegation tokens removed that were over", count=count)

    def sweep() -> None:
        if controller.proposed.delegation_tokens:
            then(controller.change(plan, refused), removed)

    return sweep
