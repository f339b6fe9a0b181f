"""Requests to other brokers: one connection for each, to where it is now, and none for a node that is alone."""

from odradek.broker.nodes.broker_channels import BrokerChannels
from odradek.broker.nodes.requests import Disconnected, NodeAddress
from odradek.protocol.codec import Message
from odradek.protocol.messages.write_txn_markers import WriteTxnMarkersRequest, WriteTxnMarkersResponse
from tests.support.manual_loop import ManualLoop
from tests.support.memory_network import MemoryConnector


class Channels:
    """Channels to brokers, and where these are."""

    def __init__(self, is_alone: bool = False) -> None:
        self.loop = ManualLoop()
        self.network = MemoryConnector()
        self.addresses: dict[int, NodeAddress] = {1: NodeAddress("a", 1), 2: NodeAddress("b", 2)}
        connector = None if is_alone else self.network
        self.channels = BrokerChannels(self.loop, connector, self.addresses.get, "broker-0-x")
        self.answers: list[Message | Disconnected] = []

    def ask(self, broker_id: int) -> None:
        """Send something."""
        self.channels.send(broker_id, WriteTxnMarkersRequest(), 1.0).on_done(self.answers.append)


def test_each_broker_has_one_connection() -> None:
    """However much is asked of it, and whoever else is asked."""
    brokers = Channels()
    for broker_id in (1, 2, 1):
        brokers.ask(broker_id)
    assert [(one.address, len(one.asked)) for one in brokers.network.made] == [
        (NodeAddress("a", 1), 2),
        (NodeAddress("b", 2), 1),
    ]
    assert brokers.network.made[0].client_id == "broker-0-x"
    brokers.network.made[1].answer(WriteTxnMarkersResponse())
    assert brokers.answers == [WriteTxnMarkersResponse()]


def test_a_broker_that_has_moved_is_asked_where_it_is() -> None:
    """The old connection is closed, and who waits on it learns that there will be no answer."""
    brokers = Channels()
    brokers.ask(1)
    brokers.addresses[1] = NodeAddress("c", 3)
    brokers.ask(1)
    assert [(one.address.host, one.is_closed) for one in brokers.network.made] == [("a", True), ("c", False)]
    brokers.loop.settle()
    assert brokers.answers == [Disconnected("broker 1 has another address now")]


def test_a_broker_that_is_not_there_is_said_to_be_so() -> None:
    """Later, never while it is asked; its connection goes, since a new one may be elsewhere."""
    brokers = Channels()
    brokers.ask(1)
    del brokers.addresses[1]
    brokers.ask(1)
    assert brokers.answers == []
    brokers.loop.settle()
    assert brokers.answers == [
        Disconnected("broker 1 has another address now"),
        Disconnected("broker 1 is not reachable at present"),
    ]
    assert brokers.network.made[0].is_closed


def test_a_node_that_is_alone_asks_nobody() -> None:
    """Even of brokers that the metadata of another time has."""
    brokers = Channels(is_alone=True)
    brokers.ask(1)
    brokers.loop.settle()
    assert len(brokers.answers) == 1
    assert brokers.network.made == []


def test_nothing_is_asked_after_the_end() -> None:
    """Connections are closed, and who asks is refused."""
    brokers = Channels()
    brokers.ask(1)
    brokers.channels.close()
    brokers.ask(2)
    brokers.loop.settle()
    assert [one.is_closed for one in brokers.network.made] == [True]
    assert len(brokers.answers) == 1
