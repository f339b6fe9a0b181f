"""What the metadata says of brokers, as far as replication asks: who may join an ISR, who is alive, and where.

Pure, on one image. Follows KIP-841 and KIP-903.
"""

from odradek.broker.metadata.image import MetadataImage
from odradek.broker.nodes.requests import NodeAddress


def is_eligible(image: MetadataImage, broker_id: int, broker_epoch: int | None) -> bool:
    """Whether a broker that fetches under `broker_epoch` may be in an ISR; -1 for one that does not say, None for one
    that has not fetched."""
    broker = image.brokers.get(broker_id)
    if broker is None or broker.fenced or broker.in_controlled_shutdown or broker_epoch is None:
        return False
    return broker_epoch in (-1, broker.epoch)


def is_alive(image: MetadataImage, broker_id: int) -> bool:
    """Whether a broker is registered and not fenced."""
    broker = image.brokers.get(broker_id)
    return broker is not None and not broker.fenced


def address_of(image: MetadataImage, broker_id: int, listener: str) -> NodeAddress | None:
    """Where a broker that is alive is reached by others; None where it is not alive, or has no such listener."""
    broker = image.brokers.get(broker_id)
    if broker is None or broker.fenced:
        return None
    return next((NodeAddress(one.host, one.port) for one in broker.endpoints if one.name == listener), None)
