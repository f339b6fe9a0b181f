"""Where the broker listens and what it tells clients, against what Apache Kafka 4.3 makes of the same texts."""

import pytest

from odradek.config.errors import ConfigError
from odradek.config.listeners import Endpoint, Listener
from odradek.config.loading import load_settings
from odradek.config.settings import BrokerSettings

CONTROLLER = ("controller.listener.names=CONTROLLER", "process.roles=broker,controller")


def settings(*overrides: str) -> BrokerSettings:
    return load_settings(None, overrides)


def listen(text: str, *more: str) -> list[tuple[str, str, int]]:
    return [(one.name, one.host, one.port) for one in settings(f"listeners={text}", *more).listeners]


TWO = "listener.security.protocol.map=PLAINTEXT:PLAINTEXT,A:PLAINTEXT"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("PLAINTEXT://:9092", [("PLAINTEXT", "", 9092)]),
        ("plaintext://:9092", [("PLAINTEXT", "", 9092)]),
        ("PLAINTEXT://0.0.0.0:0", [("PLAINTEXT", "0.0.0.0", 0)]),
        ("PLAINTEXT://[::]:9092", [("PLAINTEXT", "::", 9092)]),
        ("PLAINTEXT://[::1]:9092", [("PLAINTEXT", "::1", 9092)]),
        ("PLAINTEXT://[fe80::1%eth0]:9092", [("PLAINTEXT", "fe80::1%eth0", 9092)]),
        ("PLAINTEXT://my_host-1.example.com:65535", [("PLAINTEXT", "my_host-1.example.com", 65535)]),
        ("PLAINTEXT://h:1 , A://h:2", [("PLAINTEXT", "h", 1), ("A", "h", 2)]),
        ("PLAINTEXT://127.0.0.1:9092,A://[::1]:9092", [("PLAINTEXT", "127.0.0.1", 9092), ("A", "::1", 9092)]),
        ("PLAINTEXT://h:0,A://h:0", [("PLAINTEXT", "h", 0), ("A", "h", 0)]),
    ],
)
def test_listeners_are_read(text: str, expected: list[tuple[str, str, int]]) -> None:
    """Name in upper case, host without brackets, port; port 0 and both families may share a port."""
    assert listen(text, TWO) == expected


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "at least one element"),
        ("PLAINTEXT//:9092", "expected NAME://host:port"),
        ("PLAINTEXT://:", "expected NAME://host:port"),
        ("PLAINTEXT://h", "expected NAME://host:port"),
        ("PLAINTEXT://h:-1", "expected NAME://host:port"),
        ("PLAINTEXT://h:٣", "expected NAME://host:port"),
        ("PLAINTEXT://h/x:1", "expected NAME://host:port"),
        ("PLAINTEXT://[::1:9092", "expected NAME://host:port"),
        ("://h:1", "has no name"),
        ("PLAINTEXT://:65536", "beyond 65535"),
        ("PLAINTEXT://:" + "9" * 5000, "beyond 65535"),
        ("PLAINTEXT://:1,,A://:2", "without empty elements"),
        ("PLAINTEXT://:1,plaintext://:2", "PLAINTEXT stands twice"),
        ("PLAINTEXT://:9092,A://:9092", "both on port 9092"),
        ("PLAINTEXT://127.0.0.1:9092,A://127.0.0.2:9092", "both on port 9092"),
        ("PLAINTEXT://[::1]:9092,A://[::2]:9092", "both on port 9092"),
        ("PLAINTEXT://localhost:9092,A://[::2]:9092", "both on port 9092"),
    ],
)
def test_listeners_that_cannot_be_opened_are_refused(text: str, problem: str) -> None:
    """The error names the key and says what is wrong with it."""
    with pytest.raises(ConfigError, match=r"^--override: listeners=") as caught:
        listen(text, TWO)
    assert problem in str(caught.value)


def test_a_listener_without_protocol_is_refused() -> None:
    """A name of one's own needs an entry in the protocol map."""
    with pytest.raises(ConfigError, match=r"add A:PLAINTEXT to listener\.security\.protocol\.map"):
        listen("A://:9092")


SCRAM = "sasl.enabled.mechanisms=SCRAM-SHA-512"


@pytest.mark.parametrize(
    ("protocol", "tls", "sasl"),
    [
        ("PLAINTEXT", False, False),
        ("SSL", True, False),
        ("SASL_PLAINTEXT", False, True),
        ("SASL_SSL", True, True),
    ],
)
def test_a_listener_knows_what_its_protocol_asks_for(protocol: str, tls: bool, sasl: bool) -> None:
    """All four of Kafka's protocols, by map or by the listener's name: encrypted or not, with a log-in or without."""
    for given in (
        settings("listeners=A://:9092", f"listener.security.protocol.map=A:{protocol}", SCRAM),
        settings(f"listeners={protocol}://:9092", SCRAM),
    ):
        (listener,) = given.listeners
        assert (listener.protocol, listener.uses_tls, listener.uses_sasl) == (protocol, tls, sasl)


@pytest.mark.parametrize(
    ("text", "problem"),
    [("PLAINTEXT", "expected NAME:PROTOCOL"), (":SSL", "expected NAME:PROTOCOL"), ("PLAINTEXT:TLS", "TLS of listener")],
)
def test_a_protocol_map_that_cannot_be_read_is_refused(text: str, problem: str) -> None:
    """A pair without colon, without name or with an unknown protocol."""
    with pytest.raises(ConfigError, match=problem):
        settings(f"listener.security.protocol.map={text}")


def test_protocol_map_ignores_case_and_the_last_entry_counts() -> None:
    """As in Kafka."""
    assert listen("a://:9092", "listener.security.protocol.map=A:SSL, a : plaintext") == [("A", "", 9092)]


def test_listeners_of_the_controller_are_not_for_clients() -> None:
    """They are without a protocol of their own in plain text, as in Kafka; the map may say otherwise."""
    text = "PLAINTEXT://:9092,CONTROLLER://:9093"
    assert listen(text, *CONTROLLER) == [("PLAINTEXT", "", 9092)]
    given = settings(f"listeners={text}", *CONTROLLER)
    assert [str(one) for one in given.controller_listeners] == ["CONTROLLER://:9093"]
    assert given.controller_protocol == "PLAINTEXT"
    mapped = settings(
        f"listeners={text}", *CONTROLLER, "listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:SSL"
    )
    assert (mapped.controller_listeners[0].protocol, mapped.controller_protocol) == ("SSL", "SSL")


def test_only_listeners_of_the_controller_are_refused() -> None:
    """A broker that no client could reach is a mistake."""
    with pytest.raises(ConfigError, match="only listeners of the controller"):
        listen("CONTROLLER://:9093", *CONTROLLER)


def test_limits_of_one_listener() -> None:
    """listener.name.<name in lower case>.<key> limits that listener alone."""
    given = settings(
        "listeners=PLAINTEXT://:1,A://:2",
        TWO,
        "max.connections=10",
        "listener.name.a.max.connections=3",
        "listener.name.a.max.connection.creation.rate=4",
    )
    first, second = given.listeners
    assert (first.max_connections, second.max_connections) == (2**31 - 1, 3)
    assert second.max_connection_creation_rate == 4
    assert given.max_connections == 10
    with pytest.raises(ConfigError, match=r"listener\.name\.plaintext\.max\.connections=x: expected a whole number"):
        settings("listener.name.plaintext.max.connections=x")


@pytest.mark.parametrize("host", ["0.0.0.0", "[::]", "[0:0:0:0:0:0:0:0]"])
def test_a_wildcard_is_never_advertised(host: str) -> None:
    """No client can connect to every address; Kafka refuses 0.0.0.0, we its IPv6 form as well."""
    with pytest.raises(ConfigError, match="none that a client can connect to") as caught:
        settings(f"advertised.listeners=PLAINTEXT://{host}:9092")
    assert caught.value.key == "advertised.listeners"


def test_advertised_names_are_listeners() -> None:
    """An address for a listener that does not exist helps nobody; the controller's is one of them."""
    with pytest.raises(ConfigError, match="OTHER is no listener; listeners has PLAINTEXT"):
        settings("advertised.listeners=PLAINTEXT://h:1,OTHER://h:2")
    given = settings(
        "listeners=PLAINTEXT://:9092,CONTROLLER://:9093",
        *CONTROLLER,
        "advertised.listeners=CONTROLLER://h:9093,PLAINTEXT://h:9092",
    )
    assert given.advertised_listeners == (Endpoint("CONTROLLER", "h", 9093), Endpoint("PLAINTEXT", "h", 9092))


@pytest.mark.parametrize(
    ("connected", "told"),
    [
        (("192.168.1.7", 9092), ("192.168.1.7", 9092)),
        (("::1", 9092), ("::1", 9092)),
        (("::ffff:10.0.0.1", 9092), ("10.0.0.1", 9092)),
        (("0.0.0.0", 9092), ("127.0.0.1", 9092)),
        (("::", 9092), ("::1", 9092)),
    ],
)
def test_without_advertised_listeners_a_client_is_told_the_address_it_connected_to(
    connected: tuple[str, int], told: tuple[str, int]
) -> None:
    """Whatever the listener says; an IPv4 address in IPv6 clothes is undressed, a wildcard replaced."""
    assert settings("listeners=PLAINTEXT://:0").advertised_for("PLAINTEXT", *connected, 9092) == told


def test_explicit_advertised_listeners_win_and_port_zero_means_the_bound_port() -> None:
    """Per listener; an entry without host leaves the host to the connection."""
    given = settings(
        "listeners=PLAINTEXT://:0,A://:0,B://:0",
        "listener.security.protocol.map=PLAINTEXT:PLAINTEXT,A:PLAINTEXT,B:PLAINTEXT",
        "advertised.listeners=PLAINTEXT://kafka.example.com:19092,A://[2001:db8::1]:0",
    )
    assert given.advertised_for("PLAINTEXT", "10.0.0.1", 40001, 40001) == ("kafka.example.com", 19092)
    assert given.advertised_for("A", "10.0.0.1", 40002, 40002) == ("2001:db8::1", 40002)
    assert given.advertised_for("B", "10.0.0.1", 40003, 40003) == ("10.0.0.1", 40003)
    texts = [given.advertised_text(one, 40000) for one in given.listeners]
    assert texts[0] == "PLAINTEXT://kafka.example.com:19092"
    assert texts[1] == "A://[2001:db8::1]:40000"
    assert texts[2] == "B the address each client connects to, port 40000"


def test_advertised_text_of_a_listener_on_one_address() -> None:
    """A listener on one address can only be reached there."""
    given = settings("listeners=PLAINTEXT://[::1]:0")
    assert given.advertised_text(given.listeners[0], 5) == "PLAINTEXT://[::1]:5"
    assert str(given.listeners[0]) == "PLAINTEXT://[::1]:0"
    assert str(Endpoint("A", "h", 1)) == "A://h:1"


@pytest.mark.parametrize(
    ("overrides", "name"),
    [
        ((), "PLAINTEXT"),
        (("listeners=A://:1", "listener.security.protocol.map=A:PLAINTEXT"), "A"),
        (("listeners=PLAINTEXT://:1,A://:2", TWO, "inter.broker.listener.name=a"), "A"),
        (("listeners=PLAINTEXT://:1,A://:2", TWO, "security.inter.broker.protocol=PLAINTEXT"), "PLAINTEXT"),
    ],
)
def test_the_listener_among_brokers(overrides: tuple[str, ...], name: str) -> None:
    """Named, chosen by protocol, or the only one there is."""
    assert settings(*overrides).inter_broker_listener_name == name


def test_a_wrong_listener_among_brokers_is_refused() -> None:
    """It must be one of listeners, and be said in one way only."""
    with pytest.raises(ConfigError, match="is no listener; listeners has PLAINTEXT"):
        settings("inter.broker.listener.name=NOPE")
    with pytest.raises(ConfigError, match="not both"):
        settings("inter.broker.listener.name=PLAINTEXT", "security.inter.broker.protocol=PLAINTEXT")


def test_listener_defaults() -> None:
    """A listener made by hand speaks PLAINTEXT and has no limits."""
    assert Listener("PLAINTEXT", "", 9092).protocol == "PLAINTEXT"
