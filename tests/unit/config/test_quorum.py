"""What a process is in its cluster: files that this version can serve, and those that are refused with a reason."""

import pytest

from odradek.config.errors import ConfigError
from odradek.config.loading import load_settings
from odradek.config.quorum import QuorumVoter

CONTROLLER = ("process.roles=controller", "controller.listener.names=C", "listeners=C://127.0.0.1:0")
BROKER = ("process.roles=broker", "controller.listener.names=C")
MAP = "listener.security.protocol.map=C:PLAINTEXT,PLAINTEXT:PLAINTEXT"


@pytest.mark.parametrize(
    "overrides",
    [
        ("controller.quorum.voters=1@localhost:9093",),
        ("controller.quorum.voters=5@[::1]:9093", "node.id=5"),
        ("controller.quorum.bootstrap.servers=localhost:9093",),
        ("controller.quorum.voters=",),
        ("process.roles=controller,broker",),
        (*BROKER, "controller.quorum.voters=7@a:1,8@b:1"),
        (*BROKER, "controller.quorum.bootstrap.servers=a:1,b:1"),
    ],
)
def test_what_can_be_served_is_accepted_without_a_word(overrides: tuple[str, ...]) -> None:
    """What Apache Kafka needs in the file of a single node, or of a broker, is neither refused nor warned of."""
    assert load_settings(None, overrides).warnings == ()


VOTERS, SERVERS = "controller.quorum.voters", "controller.quorum.bootstrap.servers"


@pytest.mark.parametrize(
    ("overrides", "key", "reason"),
    [
        (("process.roles=controller",), "controller.listener.names", "a controller needs it"),
        ((*CONTROLLER, f"{VOTERS}=2@h:1"), VOTERS, "the one voter is node 2"),
        ((*CONTROLLER, f"{SERVERS}=h:x"), SERVERS, "expected host:port"),
        ((*CONTROLLER, f"{SERVERS}=h:70000"), SERVERS, "expected host:port"),
        (("process.roles=broker,zookeeper",), "process.roles", "expected broker or controller"),
        ((f"{VOTERS}=1@a:1,2@b:1",), VOTERS, "names 2 controllers"),
        (
            (f"{VOTERS}=2@a:1",),
            VOTERS,
            "the one voter is node 2, but this is node 1",
        ),
        ((f"{VOTERS}=a:1",), VOTERS, "expected id@host:port"),
        ((f"{VOTERS}=1@a",), VOTERS, "expected id@host:port"),
        ((f"{VOTERS}=x@a:1",), VOTERS, "expected id@host:port"),
        (
            (f"{SERVERS}=a:1,b:1",),
            SERVERS,
            "names 2 controllers",
        ),
        (BROKER, SERVERS, "process.roles=broker needs it"),
        (("process.roles=broker", f"{SERVERS}=a:1"), "controller.listener.names", "process.roles=broker needs it"),
        ((*BROKER, f"{VOTERS}=2@a:1,1@b:1"), VOTERS, "names node 1 as a controller"),
        ((*BROKER, MAP, f"{SERVERS}=a:1", "listeners=PLAINTEXT://:1,C://:2"), "listeners", "a broker only"),
    ],
)
def test_what_cannot_be_served_is_refused(overrides: tuple[str, ...], key: str, reason: str) -> None:
    """Starting on it would make a second cluster; the error names the key and says why."""
    with pytest.raises(ConfigError) as caught:
        load_settings(None, overrides)
    assert caught.value.key == key
    assert reason in caught.value.reason


def test_a_controller_has_its_own_listeners_and_no_others() -> None:
    """Kafka's rule; clients of a cluster do not talk to it."""
    settings = load_settings(None, [*CONTROLLER, MAP, f"{VOTERS}=1@[::1]:9093", f"{SERVERS}=h:1"])
    assert settings.listeners == ()
    assert [str(listener) for listener in settings.controller_listeners] == ["C://127.0.0.1:0"]
    assert settings.quorum.process_roles == {"controller"}
    assert settings.quorum.controller_listener_names == ("C",)
    assert settings.quorum.voters == (QuorumVoter(1, "::1", 9093),)
    assert settings.quorum.bootstrap_servers == (("h", 1),)
    with pytest.raises(ConfigError, match="expected C alone"):
        load_settings(None, [*CONTROLLER[:2], MAP, "listeners=C://:1,PLAINTEXT://:2"])
    with pytest.raises(ConfigError, match="expected C alone"):
        load_settings(None, [*CONTROLLER[:2], MAP, "listeners=PLAINTEXT://:2"])


def test_a_controller_may_advertise_its_listener_and_never_every_address() -> None:
    """Brokers connect to what they are told."""
    settings = load_settings(None, [*CONTROLLER, MAP, "advertised.listeners=C://h:7"])
    assert settings.advertised_for("C", "127.0.0.1", 1, 2) == ("h", 7)
    with pytest.raises(ConfigError, match="every address"):
        load_settings(None, [*CONTROLLER, MAP, "advertised.listeners=C://0.0.0.0:7"])
