"""The settings in force: those of the file, with what was changed at run time on top (KIP-226).

Dynamic values live in the metadata; they are followed as it changes, and come back after a restart. A value for this
broker wins over one for all brokers.
"""

from __future__ import annotations

from collections.abc import Callable

from odradek.broker.metadata.image import ImageDelta, MetadataImage, ResourceType
from odradek.broker.runtime.logging import get_logger
from odradek.config.settings import BrokerSettings

log = get_logger("config")

ALL_BROKERS = ""
"""Name of the resource that holds the values for all brokers."""
WARNINGS_AT_A_TIME = 20
"""Ignored values that are named one by one; a request may bring a thousand."""


class LiveSettings:
    """The settings as they are now: those of the file with what was changed at run time on top."""

    def __init__(self, static: BrokerSettings, image: MetadataImage) -> None:
        self._static = static
        self._watchers: list[Callable[[BrokerSettings], None]] = []
        self.current = self._merged(image, static)

    def watch(self, watcher: Callable[[BrokerSettings], None]) -> None:
        """Call with the settings whenever they changed."""
        self._watchers.append(watcher)

    def on_metadata(self, old: MetadataImage, new: MetadataImage, _delta: ImageDelta) -> None:
        """Follow the metadata."""
        if old.configs is new.configs or self._dynamic(old) == self._dynamic(new):
            return
        self.current = self._merged(new, self.current)
        for watcher in self._watchers:
            watcher(self.current)

    def _dynamic(self, image: MetadataImage) -> dict[str, str]:
        return {
            **image.config(ResourceType.BROKER, ALL_BROKERS),
            **image.config(ResourceType.BROKER, str(self._static.node_id)),
        }

    def _merged(self, image: MetadataImage, before: BrokerSettings) -> BrokerSettings:
        """Return the settings with an image, and say what is ignored of it that was not before."""
        dynamic = self._dynamic(image)
        if not dynamic:
            return self._static
        merged = self._static.with_dynamic(dynamic)
        said = set(before.warnings)
        new = [warning for warning in merged.warnings if warning not in said]
        for warning in new[:WARNINGS_AT_A_TIME]:
            log.warning("config", key=warning.key, origin=warning.origin, warning=warning.message)
        if len(new) > WARNINGS_AT_A_TIME:
            log.warning("more stored dynamic values are ignored", count=len(new) - WARNINGS_AT_A_TIME)
        return merged
