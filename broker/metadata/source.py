"""Where the cluster's metadata comes from, as everybody above sees it.

Owns: the interface between those who read and change metadata and whatever keeps it: the local metadata log now; a
quorum or ZooKeeper can stand behind the same three operations. Must not know: any of them.
"""

from collections.abc import Callable, Sequence
from typing import Protocol

from odradek.broker.metadata.image import ImageDelta, MetadataImage
from odradek.broker.metadata.records import MetadataRecord

Watcher = Callable[[MetadataImage, MetadataImage, ImageDelta], None]
"""Called with the old image, the new one and what changed, once per change, in order. Must not raise or propose."""


class MetadataSource(Protocol):
    """The newest image, a way to change it, and word of changes."""

    @property
    def image(self) -> MetadataImage:
        """The newest image."""

    def propose(self, records: Sequence[MetadataRecord], based_on: MetadataImage) -> MetadataImage:
        """Make the records part of the metadata, all or none, and return the image after them.

        They are durable and every watcher has been told when this returns. Raises StaleMetadataError if `based_on` is
        no longer the newest image, KafkaError KAFKA_STORAGE_ERROR if they cannot be stored.
        """

    def watch(self, watcher: Watcher) -> None:
        """Tell `watcher` of every change from now on."""
