"""Which listeners this process opens, with what they need of other keys: roles, protocols, limits.

Owns how `listeners` goes together with `listener.security.protocol.map`, `process.roles`, `controller.listener.names`,
`advertised.listeners` and `inter.broker.listener.name`; what each says alone is `config.listeners`. Source: Kafka 4.3's
KafkaConfig (validateValues, KIP-103, KIP-630).
"""

from collections.abc import Mapping

from odradek.config import listeners as addresses
from odradek.config.definitions import broker_definitions
from odradek.config.listeners import Endpoint, Listener, Text
from odradek.config.quorum import QuorumSettings
from odradek.config.reading import BrokerConfigReader


def read_protocols(read: BrokerConfigReader, quorum: QuorumSettings) -> dict[str, str]:
    """Return listener name -> security protocol."""
    given = read.given("listener.security.protocol.map")
    if given:
        return addresses.parse_protocol_map(given)
    return {**dict.fromkeys(quorum.controller_listener_names, "PLAINTEXT"), **addresses.DEFAULT_PROTOCOL_MAP}


def read_endpoints(read: BrokerConfigReader) -> tuple[Text, tuple[Endpoint, ...]]:
    """Return the value of `listeners`, and what it says; ConfigError where it cannot be opened as it is."""
    given = read.given("listeners") or Text("listeners", broker_definitions()["listeners"].default or "", None)
    endpoints = addresses.parse_endpoints(given, read.elements("listeners"))
    addresses.check_ports(given, endpoints)
    return given, endpoints


def read_listeners(
    read: BrokerConfigReader, quorum: QuorumSettings, protocols: Mapping[str, str]
) -> tuple[tuple[Listener, ...], tuple[Listener, ...]]:
    """Return the listeners for clients, and those of the controller.

    ConfigError where a listener has no protocol, or is none that a process with these roles opens.
    """
    given, endpoints = read_endpoints(read)
    map_given = read.given("listener.security.protocol.map")
    names = quorum.controller_listener_names

    def opened(endpoint: Endpoint) -> Listener:
        return Listener(
            endpoint.name,
            endpoint.host,
            endpoint.port,
            addresses.protocol_of(endpoint, protocols, given, map_given),
            read.listener_limit(endpoint.name, "max.connections"),
            read.listener_limit(endpoint.name, "max.connection.creation.rate"),
        )

    for_clients = [endpoint for endpoint in endpoints if endpoint.name not in names]
    of_controller = [endpoint for endpoint in endpoints if endpoint.name in names]
    if not quorum.is_controller and len(for_clients) < len(endpoints):
        raise given.error(
            "has a listener of the controllers (controller.listener.names), and this process is a broker only"
            " (process.roles)"
        )
    if quorum.is_broker and not for_clients:
        raise given.error("has only listeners of the controller (controller.listener.names); clients need one too")
    if not quorum.is_broker and (for_clients or not of_controller):
        raise given.error(
            "a process that is a controller only (process.roles) opens the listeners of controller.listener.names"
            f" and no others: expected {', '.join(names)} alone"
        )
    return tuple(map(opened, for_clients)), tuple(map(opened, of_controller))


def read_advertised(
    read: BrokerConfigReader, listeners: tuple[Listener, ...], quorum: QuorumSettings
) -> tuple[Endpoint, ...]:
    """Return what clients are told instead of the listeners' own addresses; ConfigError for what they cannot use."""
    given = read.given("advertised.listeners")
    if given is None:
        return ()
    endpoints = addresses.parse_endpoints(given, read.elements("advertised.listeners"))
    opened = [listener.name for listener in listeners]
    wanted = tuple(one for one in endpoints if one.name in opened or one.name not in quorum.controller_listener_names)
    addresses.check_advertised(given, wanted, opened)
    return wanted


def read_inter_broker_name(read: BrokerConfigReader, listeners: tuple[Listener, ...]) -> str:
    """Return the listener by which brokers reach each other, "" where there is none; ConfigError for none of ours."""
    names = [listener.name for listener in listeners]
    if not names:
        return ""
    given = read.given("inter.broker.listener.name")
    if given is None:
        protocol = read.text("security.inter.broker.protocol")
        return protocol if protocol in names else names[0]
    if read.given("security.inter.broker.protocol"):
        raise given.error("give either inter.broker.listener.name or security.inter.broker.protocol, not both")
    name = (read.text("inter.broker.listener.name") or "").upper()
    if name not in names:
        raise given.error(f"is no listener; listeners has {', '.join(sorted(names))}")
    return name
