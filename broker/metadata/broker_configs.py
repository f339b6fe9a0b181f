"""The configuration of this broker, layer by layer: what was given at start, and what the metadata says since.

Owns: putting the two together. The dynamic layers are configs of broker resources in the image: `""` for all brokers,
the node's id for this one (KIP-226).
"""

from collections.abc import Callable, Mapping

from odradek.broker.metadata.image import MetadataImage, ResourceType
from odradek.broker.metadata.source import MetadataImages
from odradek.config.layers import BrokerLayers


class BrokerConfigs:
    """The layers of the broker's configuration, at any moment those of the newest image."""

    def __init__(self, source: MetadataImages, node_id: int, static: Mapping[str, str]) -> None:
        """`static` has the texts of the file and the command line."""
        self._source = source
        self._static = static
        self.node_id = node_id
        self._usable: Callable[[Mapping[str, str]], None] | None = None

    def judge_by(self, usable: Callable[[Mapping[str, str]], None]) -> None:
        """Have dynamic values of this node looked at before they are stored; raises ConfigRequestError to refuse."""
        self._usable = usable

    def usable_for(self, name: str) -> Callable[[Mapping[str, str]], None] | None:
        """Return what looks at the dynamic values of a broker, if that is this node."""
        return self._usable if name == str(self.node_id) else None

    @property
    def layers(self) -> BrokerLayers:
        """The layers of now."""
        return self.layers_with(self._source.image)

    def layers_with(self, image: MetadataImage) -> BrokerLayers:
        """Return the layers as they are with an image."""
        return layers_of(image, self.node_id, self._static)


def layers_of(image: MetadataImage, node_id: int, static: Mapping[str, str]) -> BrokerLayers:
    """Return the layers of a broker's configuration as they are with an image."""
    return BrokerLayers(static, image.config(ResourceType.BROKER, ""), image.config(ResourceType.BROKER, str(node_id)))
