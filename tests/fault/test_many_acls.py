"""A node with a hundred thousand ACLs: how long it takes to load, to tell of them, to change one and to decide."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fault.talk import create_topic, produce
from tests.fault.test_costly_requests import AUTHORIZER, LONGEST_TURN_S
from tests.support.measured_broker import MeasuredBroker
from tests.support.wire import Message, WireClient

ACLS = 100_000
AT_ONCE = 10_000
START_S = 30.0
"""Of a node that reads them all, on a machine that does other things."""


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[MeasuredBroker]:
    """A node with an authorizer."""
    process = MeasuredBroker(tmp_path / "broker", AUTHORIZER)
    try:
        process.start()
        yield process
    finally:
        process.discard()


def creation(number: int) -> Message:
    """Return an ACL; half of them are of prefixes, of a hundred lengths."""
    name = f"t{number}" + "x" * (number % 100)
    return {
        "resource_type": 2,
        "resource_name": name,
        "resource_pattern_type": 3 + number % 2,
        "principal": f"User:{number % 1000}",
        "host": "*",
        "operation": 3,
        "permission_type": 3,
    }


@pytest.mark.timeout(300)
def test_a_hundred_thousand_acls_hold_nobody_up(broker: MeasuredBroker) -> None:
    """No turn of the event loop is long while they are made, told, changed and decided by; a restart reads them."""
    everything: Message = {"resource_type_filter": 1, "pattern_type_filter": 1, "operation": 1, "permission_type": 1}
    broker.start_measuring()
    with WireClient(broker.port, timeout=120) as wire:
        for start in range(0, ACLS, AT_ONCE):
            creations = [creation(number) for number in range(start, start + AT_ONCE)]
            results = wire.ask("CreateAcls", 3, creations=creations)["results"]
            assert {one["error_code"] for one in results} == {0}
        made = broker.longest_turn_s
        broker.start_measuring()
        told = wire.ask("DescribeAcls", 3, **everything)
        assert sum(len(one["acls"]) for one in told["resources"]) == ACLS
        one_filter = {**everything, "resource_type_filter": 2, "resource_name_filter": "t0", "pattern_type_filter": 3}
        (removed,) = wire.ask("DeleteAcls", 3, filters=[one_filter])["filter_results"]
        assert len(removed["matching_acls"]) == 1
        (refused,) = wire.ask("DeleteAcls", 3, filters=[everything])["filter_results"]
        assert refused["error_code"] == 44, "more than a request may remove"
        assert create_topic(wire, "orders", 1) == 0
        assert produce(wire, "orders", b"x").error_code == 0
        assert max(made, broker.longest_turn_s) <= LONGEST_TURN_S, (made, broker.longest_turn_s)
    broker.stop()
    began = time.monotonic()
    broker.start()
    assert time.monotonic() - began <= START_S
    with WireClient(broker.port, timeout=120) as wire:
        told = wire.ask("DescribeAcls", 3, **{**everything, "principal_filter": "User:0"})
        assert sum(len(one["acls"]) for one in told["resources"]) == ACLS // 1000 - 1
