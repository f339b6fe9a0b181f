"""Where the cluster's metadata comes from, as everybody above sees it.

Owns: the interfaces between those who read and change metadata and whatever keeps it: the local metadata log, or the
copy of one that another node writes, which can only be read. Must not know: any of them.
"""

from collections.abc import Callable, Sequence
from typing import Protocol

from odradek.broker.metadata.image import ImageDelta, MetadataImage
from odradek.broker.metadata.records import MetadataRecord
from odradek.broker.runtime.deferred import Deferred
from odradek.protocol.errors import KafkaError

Watcher = Callable[[MetadataImage, MetadataImage, ImageDelta], None]
"""Called with the old image, the new one and what changed, once per change, in order. Must not raise or propose."""

Stored = MetadataImage | KafkaError
"""How a proposal ended: the image after it, or why it could not be stored (KAFKA_STORAGE_ERROR)."""


class MetadataImages(Protocol):
    """The newest image, and word of changes: what every broker of a cluster has."""

    @property
    def image(self) -> MetadataImage:
        """The newest image that is durable: what everybody acts on."""

    def watch(self, watcher: Watcher) -> None:
        """Tell `watcher` of every change from now on."""


class MetadataSource(MetadataImages, Protocol):
    """The images, and a way to change them: what the active controller has."""

    @property
    def proposed(self) -> MetadataImage:
        """The image after all that was proposed, durable or not: what the next proposal is planned on."""

    def propose(self, records: Sequence[MetadataRecord], based_on: MetadataImage) -> Stored | Deferred[Stored]:
        """Make the records part of the metadata, all or none, after those that were proposed before.

        They are durable and every watcher has been told when the outcome is there; if they cannot be stored, neither is
        what was proposed after them. Without records the outcome is there as soon as that of all before is. Raises
        StaleMetadataError if `based_on` is not `proposed`.
        """

    def prepare(
        self, records: Sequence[MetadataRecord], based_on: MetadataImage
    ) -> Callable[[], Stored | Deferred[Stored]]:
        """Do the work of proposing many records on any thread; what is returned proposes them, on the event loop.

        Raises StaleMetadataError, and so does what is returned, where `propose` does.
        """


def stored_now(outcome: Stored | Deferred[Stored]) -> MetadataImage:
    """Return the image after a proposal to a source that does not make anybody wait, as at start.

    Raises the KafkaError for which it could not be stored.
    """
    assert not isinstance(outcome, Deferred), "at start nothing is stored in the background"
    if isinstance(outcome, KafkaError):
        raise outcome
    return outcome
