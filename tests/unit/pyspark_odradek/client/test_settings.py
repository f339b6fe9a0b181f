"""Which client reads, and with which settings."""

from __future__ import annotations

import pytest

from odradek.client.connection import Buffers
from pyspark_odradek.client.backoff import Backoff
from pyspark_odradek.client.settings import (
    addresses,
    cluster_options,
    librdkafka_reader_settings,
    librdkafka_settings,
    needs_librdkafka,
)
from pyspark_odradek.errors import OptionError

HERE = {"bootstrap.servers": "a:1"}


def test_the_small_client_reads_what_it_can() -> None:
    """Listeners of every protocol need no other client; settings that are librdkafka's alone do."""
    assert not needs_librdkafka(HERE | {"group.id": "g", "max.poll.records": "5", "isolation.level": "read_committed"})
    assert not needs_librdkafka(HERE | {"security.protocol": "SSL", "ssl.ca.location": "/ca.pem"})
    assert not needs_librdkafka(
        HERE | {"security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN", "sasl.jaas.config": "x"}
    )
    assert needs_librdkafka(HERE | {"socket.nagle.disable": "false"})


def test_settings_of_the_small_client() -> None:
    """Names and units are those of Java's consumer."""
    given = {
        "isolation.level": "READ_COMMITTED",
        "request.timeout.ms": "1500",
        "client.id": "me",
        "check.crcs": "false",
    }
    found = cluster_options(HERE | given | {"max.partition.fetch.bytes": "1000"}, retry_timeout_s=3)
    assert found.read_committed
    assert (found.request_timeout_s, found.retry_timeout_s, found.first_retry_timeout_s) == (1.5, 3, 3)
    assert (found.client_id, found.check_crcs, found.fetch_bytes) == ("me", False, 1000)


def test_settings_of_fetches_connections_and_retries() -> None:
    """What concerns one who reads is acted upon, whether a group would be joined or not."""
    given = {
        "client.rack": "a",
        "exclude.internal.topics": "false",
        "fetch.min.bytes": "2",
        "fetch.max.bytes": "3",
        "fetch.max.wait.ms": "4",
        "connections.max.idle.ms": "5000",
        "default.api.timeout.ms": "6000",
        "socket.connection.setup.timeout.ms": "7000",
        "retry.backoff.ms": "8000",
        "retry.backoff.max.ms": "9000",
        "reconnect.backoff.ms": "10000",
        "reconnect.backoff.max.ms": "11000",
        "receive.buffer.bytes": "12",
        "send.buffer.bytes": "-1",
    }
    assert not needs_librdkafka(HERE | given)
    found = cluster_options(HERE | given, retry_timeout_s=60)
    assert (found.rack, found.internal_topics) == ("a", True)
    assert (found.fetch_min_bytes, found.fetch_max_bytes, found.fetch_max_wait_ms) == (2, 3, 4)
    assert (found.idle_timeout_s, found.first_retry_timeout_s, found.connect_timeout_s) == (5, 6, 7)
    assert (found.retry_backoff, found.reconnect_backoff) == (Backoff(8, 9), Backoff(10, 11))
    assert found.buffers == Buffers(12, None)


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("metric.reporters", "x", "cannot be set: there is no Java client here"),
        ("socket.connection.setup.timeout.max.ms", "1", "does not grow here"),
        ("allow.auto.create.topics", "true", "can only be false: reading makes no topic"),
        ("client.dns.lookup", "default", "can only be use_all_dns_ips"),
    ],
)
def test_settings_that_cannot_be_kept_to_are_refused(name: str, value: str, said: str) -> None:
    """A reader does not take what it will not do, whichever client reads."""
    for read in (lambda given: cluster_options(given, 1), librdkafka_reader_settings):
        with pytest.raises(OptionError, match=f"kafka.{name} .*{said}"):
            read(HERE | {name: value})
    assert not needs_librdkafka(HERE | {"allow.auto.create.topics": "False", "metadata.max.age.ms": "5"})


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("a:1,b:2", (("a", 1), ("b", 2))),
        (" a , b:2,", (("a", 9092), ("b", 2))),
        ("[::1]:5,[::1]", (("::1", 5), ("::1", 9092))),
        ("PLAINTEXT://a:1", (("a", 1),)),
    ],
)
def test_addresses(text: str, found: tuple[tuple[str, int], ...]) -> None:
    """Several brokers can be named, with Kafka's port where none is said."""
    assert addresses(text) == found


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"bootstrap.servers": "a:b"}, "must be like host1:9092"),
        ({"bootstrap.servers": ","}, "names no broker"),
        ({"bootstrap.servers": "a:70000"}, "must be like host1:9092"),
        ({"isolation.level": "all"}, "read_uncommitted or read_committed"),
        ({"request.timeout.ms": "long"}, "a whole number"),
        ({"security.protocol": "SSL", "ssl.ca.location": "/no/such/file"}, "cannot be used"),
        ({"security.protocol": "SSL", "ssl.truststore.location": "/x.jks"}, "only stores of type PEM"),
        ({"security.protocol": "SASL_PLAINTEXT"}, "kafka.sasl.mechanism GSSAPI is not known here"),
        ({"security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN"}, "needs sasl.username and sasl.password"),
    ],
)
def test_wrong_settings_are_told(settings: dict[str, str], said: str) -> None:
    """A value that a setting cannot have is named."""
    with pytest.raises(OptionError) as caught:
        cluster_options(HERE | settings, retry_timeout_s=1)
    assert said in str(caught.value)


def test_java_names_are_translated_for_librdkafka() -> None:
    """The login of PLAIN and SCRAM, PEM stores and timeouts have other names there."""
    login = 'org.apache.kafka.common.security.scram.ScramLoginModule required username="me" password="a\\"b";'
    given = {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "SCRAM-SHA-256",
        "sasl.jaas.config": login,
        "request.timeout.ms": "500",
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": "/ca.pem",
        "ssl.endpoint.identification.algorithm": "",
        "max.poll.records": "10",
        "exclude.internal.topics": "false",
        "fetch.max.wait.ms": "7",
        "fetch.min.bytes": "9",
        "metadata.max.age.ms": "1000",
        "receive.buffer.bytes": "65536",
        "send.buffer.bytes": "-1",
        "retry.backoff.ms": "50",
    }
    assert librdkafka_reader_settings(HERE | given) == {
        "bootstrap.servers": "a:1",
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "SCRAM-SHA-256",
        "sasl.username": "me",
        "sasl.password": 'a"b',
        "socket.timeout.ms": "500",
        "fetch.wait.max.ms": "7",
        "fetch.min.bytes": "9",
        "topic.metadata.refresh.interval.ms": "1000",
        "socket.receive.buffer.bytes": "65536",
        "socket.send.buffer.bytes": "0",
        "retry.backoff.ms": "50",
        "ssl.ca.location": "/ca.pem",
        "ssl.endpoint.identification.algorithm": "none",
    }


def test_a_login_that_is_not_understood_is_told() -> None:
    """Kerberos and others have no user and password to translate."""
    with pytest.raises(OptionError, match=r"^kafka.sasl.jaas.config: understood are PlainLoginModule"):
        librdkafka_settings(HERE | {"sasl.jaas.config": "com.sun.security.auth.module.Krb5LoginModule required;"})
