"""Requests over connections of our own: who is asked, in which version, and what is said when nobody answers."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing
from typing import TypeAlias

import pytest

from odradek.client.errors import ConnectionLostError
from odradek.cluster.broker_requests import Address, BrokerRequests, check
from odradek.protocol.codec import Message
from odradek.protocol.messages.metadata import MetadataRequest, MetadataResponse
from odradek.protocol.messages.sasl_authenticate import SaslAuthenticateResponse
from odradek.protocol.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from odradek.protocol.registry import ApiKey
from odradek.terminal.errors import CommandError, WrongUsageError
from tests.support.ports import free_ports
from tests.support.scripted_broker import ScriptedBroker

Of: TypeAlias = Callable[..., BrokerRequests]

SASL = {ApiKey.SASL_HANDSHAKE: (0, 1), ApiKey.SASL_AUTHENTICATE: (0, 2)}
SERVED = {ApiKey.METADATA: (0, 12)}
REQUEST = MetadataRequest(topics=[], allow_auto_topic_creation=False)


def _named(name: str) -> MetadataResponse:
    return MetadataResponse(cluster_id=name)


@pytest.fixture
def of() -> Iterator[Of]:
    """Make what asks the brokers at these addresses, and close it at the end."""
    with ExitStack() as stack:

        def make(addresses: Sequence[Address], **settings: str) -> BrokerRequests:
            named = {name.replace("_", "."): value for name, value in settings.items()}
            return stack.enter_context(closing(BrokerRequests(named, lambda: addresses, timeout_s=5)))

        yield make


def _nobody() -> Address:
    return "127.0.0.1", free_ports(1)[0]


def test_the_newest_version_that_both_know_is_spoken(of: Of) -> None:
    """Ours ends with 13, that of the broker with 12."""
    with ScriptedBroker(SERVED, lambda _: _named("c")) as broker:
        assert of([broker.address]).ask(REQUEST, MetadataResponse, "it").cluster_id == "c"
    assert broker.asked == [(12, REQUEST)]


def test_the_next_broker_is_asked_where_one_is_away_and_stays_the_one_that_is_asked(of: Of) -> None:
    """Any broker will do, and one that answered is not left for one that did not."""
    with ScriptedBroker(SERVED, lambda _: _named("c")) as broker:
        addresses = [_nobody(), broker.address]
        requests = of(addresses)
        requests.ask(REQUEST, MetadataResponse, "it")
        addresses.clear()
        requests.ask(REQUEST, MetadataResponse, "it")
    assert broker.connections == 1


def test_a_connection_that_was_closed_meanwhile_is_made_again(of: Of) -> None:
    """Brokers close connections that are idle, which is no error of a command that waits long."""
    with ScriptedBroker(SERVED, lambda _: _named("c")) as broker:
        requests = of([broker.address])
        requests.ask(REQUEST, MetadataResponse, "it")
        broker.hang_up()
        assert requests.ask(REQUEST, MetadataResponse, "it").cluster_id == "c"
    assert broker.connections == 2


def test_nobody_answers(of: Of) -> None:
    """The sentence names each broker that was tried."""
    first, second = _nobody(), _nobody()
    with pytest.raises(CommandError, match=rf"^it: .*{first[1]}.*; .*{second[1]}"):
        of([first, second]).ask(REQUEST, MetadataResponse, "it")


def test_a_request_that_brokers_do_not_know(of: Of) -> None:
    """It is an error that names both sides' versions, or nothing for those who can do without."""
    with ScriptedBroker({ApiKey.METADATA: (14, 20)}, lambda _: None) as broker:
        requests = of([broker.address])
        said = r"^it: METADATA cannot be asked for: .* serves versions 14 to 20, known here are 0 to 13$"
        with pytest.raises(CommandError, match=said):
            requests.ask(REQUEST, MetadataResponse, "it")
        assert requests.ask_if_served(REQUEST, MetadataResponse, "it") is None
    with ScriptedBroker({}, lambda _: None) as broker, pytest.raises(CommandError, match="does not serve it"):
        of([broker.address]).ask(REQUEST, MetadataResponse, "it")


def test_several_brokers_are_asked_and_each_has_its_answer(of: Of) -> None:
    """One that is away keeps nobody from knowing the others."""

    away = _nobody()
    with ScriptedBroker(SERVED, lambda _: _named("a")) as one, ScriptedBroker(SERVED, lambda _: _named("b")) as other:
        wanted = dict.fromkeys((one.address, away, other.address), REQUEST)
        found = of([]).ask_each(wanted, MetadataResponse)
    names = [each.cluster_id if isinstance(each, MetadataResponse) else type(each) for each in found.values()]
    assert names == ["a", ConnectionLostError, "b"]


def test_a_login_that_settings_do_not_say(of: Of) -> None:
    """It is the settings that are wrong, not the cluster, and no connection is tried."""
    asking = of([_nobody()], security_protocol="SASL_SSL", sasl_mechanism="PLAIN")
    with pytest.raises(WrongUsageError, match=r"^--command-config: sasl.mechanism PLAIN needs sasl.username and"):
        asking.ask(REQUEST, MetadataResponse, "it")


def test_a_login_that_the_broker_refuses(of: Of) -> None:
    """Its reason is told."""

    def refuse(request: Message) -> Message:
        if isinstance(request, SaslHandshakeRequest):
            return SaslHandshakeResponse(mechanisms=["PLAIN"])
        return SaslAuthenticateResponse(error_code=58, error_message="Authentication failed: Invalid username")

    account = {"security_protocol": "SASL_PLAINTEXT", "sasl_mechanism": "PLAIN", "sasl_username": "u"}
    with ScriptedBroker(SERVED | SASL, refuse) as broker, pytest.raises(CommandError, match="Invalid username"):
        of([broker.address], **account, sasl_password="p").ask(REQUEST, MetadataResponse, "it")


def test_tls_files_that_cannot_be_used(of: Of) -> None:
    """It is the settings that are wrong, not the cluster."""
    with pytest.raises(WrongUsageError, match="TLS files that --command-config names cannot be used"):
        of([_nobody()], security_protocol="SSL", ssl_ca_location="/nowhere").ask(REQUEST, MetadataResponse, "it")


def test_error_codes_become_sentences() -> None:
    """The broker's own reason is in it, where there is one."""
    check(0, None, "topic t")
    with pytest.raises(CommandError, match=r"^topic t does not exist; `odradek topics list` shows what does$"):
        check(3, None, "topic t")
    with pytest.raises(CommandError, match=r"^topic t: because \(INVALID_REQUEST\)$"):
        check(42, "because", "topic t")
