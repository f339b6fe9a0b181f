"""Where a follower reaches its leader."""

from types import MappingProxyType
from uuid import UUID

from odradek.broker.metadata.image import BrokerEndpoint, BrokerImage, MetadataImage
from odradek.broker.nodes.requests import NodeAddress
from odradek.broker.replication.manager import LeaderAddress


def an_image(*, port: int, fenced: bool = False) -> MetadataImage:
    endpoint = BrokerEndpoint("INTERNAL", "leader", port, 0)
    broker = BrokerImage(1, 5, UUID(int=1), (endpoint,), (), None, fenced, False, (), None)
    return MetadataImage(brokers=MappingProxyType({1: broker}))


def test_address_is_that_of_the_newest_metadata() -> None:
    """It is looked up again with each image: a leader that is fenced has none, one that comes back may have another."""
    images = [an_image(port=1)]
    address = LeaderAddress(lambda: images[-1], 1, "INTERNAL")
    assert address() == NodeAddress("leader", 1)
    images.append(an_image(port=1, fenced=True))
    assert address() is None
    images.append(an_image(port=2))
    assert address() == NodeAddress("leader", 2)
    assert address() is address()
