"""Whom clients are told of in a cluster."""

from random import Random
from uuid import UUID

from odradek.broker.handlers.known_brokers import KnownBroker, RegisteredBrokers
from odradek.broker.metadata.image import MetadataImage
from odradek.broker.runtime.context import RequestContext
from odradek.protocol.messages.metadata_records import (
    BrokerEndpoint,
    BrokerRegistrationChangeRecord,
    RegisterBrokerRecord,
)
from tests.unit.broker.metadata.support import image_of


def broker(broker_id: int, *listeners: str, fenced: bool = False) -> RegisterBrokerRecord:
    """Return a registration."""
    endpoints = [BrokerEndpoint(name=name, host=f"{name}.example", port=broker_id) for name in listeners]
    return RegisterBrokerRecord(
        broker_id=broker_id, incarnation_id=UUID(int=broker_id), end_points=endpoints, rack="r", fenced=fenced
    )


def context(listener: str) -> RequestContext:
    """Return a client of a listener."""
    return RequestContext("h:1", "h", listener, "h", 1)


def test_alive_is_who_is_not_fenced_and_has_the_client_s_listener() -> None:
    """With the address of that listener; one of them is given as the controller."""
    image = image_of([broker(1, "A", "B"), broker(2, "A"), broker(3, "A", fenced=True)])
    known = RegisteredBrokers("c", lambda: image, Random(1))
    assert known.alive(context("A")) == {1: KnownBroker(1, "A.example", 1, "r"), 2: KnownBroker(2, "A.example", 2, "r")}
    assert known.alive(context("B")) == {1: KnownBroker(1, "B.example", 1, "r")}
    assert [one.node_id for one in known.fenced(context("A"))] == [3]
    assert {known.controller_id(context("A")) for _ in range(50)} == {1, 2}
    assert known.controller_id(context("C")) == -1
    assert known.registered() == [1, 2, 3]


def test_what_clients_are_told_follows_the_metadata() -> None:
    """And is made once for each change."""
    images = [image_of([broker(1, "A")])]
    known = RegisteredBrokers("c", lambda: images[-1], Random(1))
    assert known.alive(context("A")) is known.alive(context("A"))
    images.append(image_of([broker(1, "A"), BrokerRegistrationChangeRecord(broker_id=1, fenced=1)]))
    assert known.alive(context("A")) == {}
    images.append(MetadataImage())
    assert known.registered() == []
