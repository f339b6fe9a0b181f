"""What clients are told about where to connect, which is what confuses users of Kafka most."""

import json
import socket

import pytest

from tests.conftest import AGAINST_APACHE_KAFKA, BrokerFactory
from tests.support.broker import BrokerProcess
from tests.support.ports import free_ports
from tests.support.waiting import eventually
from tests.support.wire import Message, WireClient

pytestmark = pytest.mark.skipif(AGAINST_APACHE_KAFKA, reason="Apache Kafka advertises the host name by default")


def _advertised(port: int, address: str = "127.0.0.1") -> list[tuple[str, int]]:
    with WireClient(port, address=address) as wire:
        answers: list[Message] = [wire.ask("Metadata", 9, topics=[]), wire.ask("DescribeCluster", 0)]
    told = [[(broker["host"], broker["port"]) for broker in answer["brokers"]] for answer in answers]
    assert told[0] == told[1]
    return told[0]


def _start_line(broker: BrokerProcess) -> dict[str, str]:
    """The fields of the start line, which is written a moment after the port is open."""

    def find() -> list[dict[str, str]]:
        return [json.loads(line) for line in broker.log.splitlines() if '"ready"' in line]

    [line] = eventually(find, "the start line")
    return line


def test_without_advertised_listeners_clients_are_told_where_they_connected(new_broker: BrokerFactory) -> None:
    """A broker on every interface tells each client the address that it reached the broker at, never 0.0.0.0."""
    [port] = free_ports(1)
    broker = new_broker({"listeners": f"PLAINTEXT://0.0.0.0:{port}"})
    broker.port = port
    broker.start()
    assert _advertised(port) == [("127.0.0.1", port)]
    assert _advertised(port, "127.0.0.5") == [("127.0.0.5", port)]
    assert "0.0.0.0" not in _start_line(broker)["advertised"]


def test_advertised_listeners_are_told_as_given(new_broker: BrokerFactory) -> None:
    """What advertised.listeners says is told to every client, wherever it connected."""
    [port] = free_ports(1)
    given = {
        "listeners": f"PLAINTEXT://0.0.0.0:{port}",
        "advertised.listeners": "PLAINTEXT://broker.example:19092",
    }
    broker = new_broker(given)
    broker.port = port
    broker.start()
    assert _advertised(port) == [("broker.example", 19092)]
    assert "broker.example:19092" in _start_line(broker)["advertised"]


def test_each_listener_advertises_its_own_address(new_broker: BrokerFactory) -> None:
    """A client is told the address that belongs to the listener it used: inside and outside may differ."""
    inside, outside = free_ports(2)
    given = {
        "listeners": f"INSIDE://127.0.0.1:{inside},OUTSIDE://127.0.0.1:{outside}",
        "advertised.listeners": f"INSIDE://broker:{inside},OUTSIDE://example.org:9999",
        "listener.security.protocol.map": "INSIDE:PLAINTEXT,OUTSIDE:PLAINTEXT",
        "inter.broker.listener.name": "INSIDE",
    }
    broker = new_broker(given)
    broker.port = inside
    broker.start()
    assert _advertised(inside) == [("broker", inside)]
    assert _advertised(outside) == [("example.org", 9999)]


@pytest.mark.skipif(not socket.has_ipv6, reason="no IPv6 here")
def test_an_ipv6_client_is_told_an_ipv6_address(new_broker: BrokerFactory) -> None:
    """Over IPv6 the address told is the one of IPv6."""
    [port] = free_ports(1)
    try:
        socket.create_server(("::1", port), family=socket.AF_INET6).close()
    except OSError:
        pytest.skip("no IPv6 on the loopback interface")
    broker = new_broker({"listeners": f"PLAINTEXT://:{port}"})
    broker.port = port
    broker.start()
    assert _advertised(port) == [("127.0.0.1", port)]
    assert _advertised(port, "::1") == [("::1", port)]
