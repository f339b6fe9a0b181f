"""What TLS costs: produce and fetch through librdkafka over it, and handshakes. All targets have the same key (P-256);
with SCRAM on top there is a log-in before.

librdkafka makes two records of TLS of every message, so that a message costs as much as its bytes. Apache Kafka 4.3 did
not resume sessions when it was asked to.
"""

from __future__ import annotations

import functools
import ipaddress
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import monotonic

from benchmarks import isolation, wire
from benchmarks.axes.produce import BATCH, GIGABYTE, MEASURES, values_of
from benchmarks.axis import Axis, Measure, Stage, Values
from benchmarks.clients import handshakes, librdkafka, logins
from benchmarks.clients.handshakes import HandshakeLoad
from benchmarks.connection import await_leaders, record_count
from benchmarks.target import Broker, Endpoint, free_port

_TOPIC = "tls"
_VALUE = 1024
_WARMUP_RATE = 100_000_000
_LEADER_SECONDS = 20
_HANDSHAKES = 1000
_WARMUP_HANDSHAKES = 300
_MECHANISM = "SCRAM-SHA-512"
_MODULE = "org.apache.kafka.common.security.scram.ScramLoginModule required;"
USER, PASSWORD = "bench", "bench-secret"

HANDSHAKE_MEASURES = (
    Measure("rate", "handshakes/s", lower_is_better=False),
    Measure("cpu", "broker µs CPU each"),
)


@dataclass(frozen=True, slots=True)
class SecureBroker:
    """A broker with a listener that encrypts, asks for a log-in, or both."""

    broker: Broker
    endpoint: Endpoint
    """Of that listener."""
    protocol: str
    authority: str
    topic: str = _TOPIC

    @property
    def settings(self) -> dict[str, str | int]:
        """What librdkafka needs to connect to it."""
        settings: dict[str, str | int] = {"security.protocol": self.protocol}
        if self.protocol.endswith("SSL"):
            settings["ssl.ca.location"] = self.authority
        if self.protocol.startswith("SASL"):
            settings |= {"sasl.mechanism": _MECHANISM, "sasl.username": USER, "sasl.password": PASSWORD}
        return settings

    def make_topic(self) -> None:
        """Create the topic, and wait for its leader."""
        with self.broker.connect() as connection:
            wire.check_created(connection.ask(wire.create_topics([wire.NewTopic(_TOPIC, 1, {})])))
            await_leaders(connection, _TOPIC, 1, monotonic() + _LEADER_SECONDS)

    def check_count(self, expected: int) -> None:
        """Raise WireError unless every acknowledged record is in the log."""
        with self.broker.connect() as connection:
            found = record_count(connection, _TOPIC)
        if found != expected:
            raise wire.WireError(f"{_TOPIC} holds {found} records where {expected} were acknowledged")


@contextmanager
def serving(stage: Stage, protocol: str = "SSL") -> Iterator[SecureBroker]:
    """A broker with a listener of this protocol beside a plain one, and a user where it takes one."""
    stage.close()
    with stage.bench.scratch("secure") as directory:
        key, authority = _certificate(directory.parent / f"{directory.name}-keys")
        ports, port = (free_port(), free_port()), free_port()
        listeners = f"PLAINTEXT://127.0.0.1:{ports[0]},SECURE://127.0.0.1:{port}"
        overrides = {
            "listeners": listeners,
            "listener.security.protocol.map": f"CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SECURE:{protocol}",
            "inter.broker.listener.name": "PLAINTEXT",
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": key,
        }
        if protocol.startswith("SASL"):
            overrides["sasl.enabled.mechanisms"] = _MECHANISM
            overrides[f"listener.name.secure.{_MECHANISM.lower()}.sasl.jaas.config"] = _MODULE
        if not stage.target.ours:
            overrides |= {
                "listeners": f"{listeners},CONTROLLER://127.0.0.1:{ports[1]}",
                "advertised.listeners": listeners,
            }
        with stage.target.prepare(directory, overrides, ports).start() as broker:
            if protocol.startswith("SASL"):
                isolation.run(logins.make_user, broker.endpoint, USER, PASSWORD)
            yield SecureBroker(broker, Endpoint(("127.0.0.1", port), broker.pid), protocol, authority)


def _certificate(directory: Path) -> tuple[str, str]:
    """Make an authority and a key that it has signed; return the paths of the key with its chain, and of the former."""
    from odradek.tls.authority import issue, make_authority

    authority = make_authority("benchmark")
    signed = issue(authority, "localhost", ["localhost", str(ipaddress.IPv4Address("127.0.0.1"))])
    directory.mkdir(mode=0o700)
    key, trusted = directory / "server.pem", directory / "ca.pem"
    key.write_text(signed.key.reveal() + signed.certificate + authority.certificate)
    trusted.write_text(authority.certificate)
    return str(key), str(trusted)


def _load(stage: Stage, tls: SecureBroker, warmup_bytes: int) -> librdkafka.ClientLoad:
    settings: dict[str, str | int] = {**tls.settings, "linger.ms": 20, "batch.size": BATCH}
    amount = stage.bench.amount(GIGABYTE) // _VALUE
    return librdkafka.ClientLoad(tls.endpoint, _TOPIC, _VALUE, amount, warmup_bytes // _VALUE, settings)


def _produce(protocol: str, stage: Stage) -> Values:
    with serving(stage, protocol) as tls:
        tls.make_topic()
        load = _load(stage, tls, int(stage.warmup_seconds * _WARMUP_RATE))
        transfer = isolation.run(librdkafka.produce, load)
        tls.check_count(load.records + load.warmup_records)
    return values_of(transfer)


def _fetch(protocol: str, stage: Stage) -> Values:
    with serving(stage, protocol) as tls:
        tls.make_topic()
        isolation.run(librdkafka.produce, _load(stage, tls, 0))
        records = stage.bench.amount(GIGABYTE) // _VALUE
        settings: dict[str, str | int] = {**tls.settings, "fetch.queue.backoff.ms": 10}
        what = librdkafka.ClientLoad(tls.endpoint, _TOPIC, _VALUE, records, settings=settings)
        if stage.warmup_seconds > 1:
            isolation.run(librdkafka.consume, what)
        return values_of(isolation.run(librdkafka.consume, what))


def _handshakes(resumed: bool, stage: Stage) -> Values:
    with serving(stage) as tls:
        warmup = _WARMUP_HANDSHAKES if stage.warmup_seconds > 0.5 else 10
        load = HandshakeLoad(tls.endpoint, tls.authority, stage.bench.amount(_HANDSHAKES), warmup, resumed)
        done = isolation.run(handshakes.connect, load)
    return {"rate": done.per_second, "cpu": done.broker_cpu_us}


def _bulk(name: str, title: str, run: Callable[[str, Stage], Values], protocol: str) -> Axis:
    return Axis(name, title, MEASURES, functools.partial(run, protocol), bulk=True)


_PRODUCED = "1 MB batches, linger 20 ms, acks=all, librdkafka"
_FETCHED = "1 MB batches, librdkafka consumer"
AXES = (
    _bulk("tls-produce", f"produce 1 KiB over TLS, {_PRODUCED}", _produce, "SSL"),
    _bulk("tls-fetch", f"fetch 1 KiB over TLS, {_FETCHED}", _fetch, "SSL"),
    _bulk("sasl-tls-produce", f"produce 1 KiB over TLS, logged in by SCRAM, {_PRODUCED}", _produce, "SASL_SSL"),
    _bulk("sasl-tls-fetch", f"fetch 1 KiB over TLS, logged in by SCRAM, {_FETCHED}", _fetch, "SASL_SSL"),
    Axis(
        "tls-handshakes", "TLS handshakes, one after another", HANDSHAKE_MEASURES, functools.partial(_handshakes, False)
    ),
    Axis(
        "tls-resumed",
        "TLS handshakes that resume a session",
        HANDSHAKE_MEASURES,
        functools.partial(_handshakes, True),
        ours_only=True,
    ),
)
