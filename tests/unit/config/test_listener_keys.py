"""Keys of one listener: which of the values given for a key is its."""

from __future__ import annotations

import pytest

from odradek.config.errors import ConfigError
from odradek.config.listener_keys import ListenerConfigReader, is_served
from odradek.config.reading import BrokerConfigReader


def reader(**values: str) -> ListenerConfigReader:
    """What reads the keys of listener INTERNAL; `_` stands for `.`."""
    texts = {name.replace("_", "."): text for name, text in values.items()}
    return ListenerConfigReader(BrokerConfigReader(texts, dict.fromkeys(texts, "file:1")), "INTERNAL")


def test_a_listeners_own_key_wins_key_by_key() -> None:
    """What is given for the listener wins; any other key is that of the broker, or Kafka's default."""
    read = reader(
        listener_name_internal_ssl_client_auth="required", ssl_client_auth="none", ssl_keystore_location="/broker"
    )
    assert read.text("ssl.client.auth") == "required"
    assert read.text("ssl.keystore.location") == "/broker"
    assert read.elements("ssl.enabled.protocols") == ("TLSv1.2", "TLSv1.3")


def test_a_mechanisms_own_key_wins_over_the_listeners() -> None:
    """Mechanism, listener, broker, default: in this order."""
    read = reader(
        listener_name_internal_plain_connections_max_reauth_ms="3",
        listener_name_internal_connections_max_reauth_ms="2",
        connections_max_reauth_ms="1",
    )
    key = "connections.max.reauth.ms"
    assert [one.integer(key) for one in (read.mechanism("PLAIN"), read.mechanism("SCRAM-SHA-256"), read)] == [3, 2, 2]


def test_what_was_given_for_this_listener_alone_can_be_asked() -> None:
    """Some keys count for a listener only where they were given for it."""
    read = reader(ssl_client_auth="required")
    assert read.own("ssl.client.auth") is None
    given = read.given("ssl.client.auth")
    assert given is not None
    assert given.key == "ssl.client.auth"


def test_an_error_names_the_key_as_it_was_given_and_no_secret() -> None:
    """Key with prefix, origin and value; a password is hidden."""
    read = reader(listener_name_internal_ssl_client_auth="maybe", listener_name_internal_ssl_key_password="secret")
    with pytest.raises(ConfigError) as caught:
        read.text("ssl.client.auth")
    assert (caught.value.key, caught.value.origin) == ("listener.name.internal.ssl.client.auth", "file:1")
    assert "maybe" in str(caught.value)
    assert "secret" not in str(read.error("ssl.key.password", "is wrong"))


def test_keys_that_have_an_effect_for_one_listener_are_known() -> None:
    """A key that is served for the broker alone is not one of them."""
    assert is_served("max.connections")
    assert not is_served("num.partitions")
