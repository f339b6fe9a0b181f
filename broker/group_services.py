"""The coordinator of groups, made when it is first needed: a broker without consumers starts without it.

Part of the composition root: imports are late on purpose.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from odradek.broker.coordinator_services import CoordinatorServiceParts, CoordinatorServices
from odradek.broker.metadata.internal_topics import OFFSETS_TOPIC
from odradek.config.settings import BrokerSettings

if TYPE_CHECKING:
    from odradek.broker.coordinator.topic import CoordinatorTopic
    from odradek.broker.groups.coordinator import GroupCoordinator


class GroupServices(CoordinatorServices["GroupCoordinator"]):
    """Everything of groups, built when it is first asked for."""

    def __init__(self, parts: CoordinatorServiceParts) -> None:
        super().__init__(parts, OFFSETS_TOPIC)

    def expire_offsets(self) -> None:
        """Look for offsets that have expired."""
        if self._made is not None:
            self._made.expire_offsets()

    def _make_coordinator(self, settings: BrokerSettings, topic: Callable[[int], CoordinatorTopic]) -> GroupCoordinator:
        from odradek.broker.groups.coordinator import GroupCoordinator

        parts = self._parts
        stored = topic(settings.offsets_topic_replication_factor)
        return GroupCoordinator(parts.loop, parts.threads, parts.clock, settings, stored, parts.image)
