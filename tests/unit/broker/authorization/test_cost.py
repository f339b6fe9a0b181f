"""What decisions cost, counted in calls: the clock of a busy machine says little."""

import sys
from collections.abc import Callable
from types import FrameType

import pytest

from odradek.broker.authorization.standard_authorizer import StandardAuthorizer
from odradek.protocol.acls import Acl, AclOperation, AclPermission, AclResourceType, PatternType
from odradek.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from odradek.protocol.registry import API, ApiKey
from tests.unit.broker.authorization.support import ANNA, TOPIC_ID, Front, acls, allow, context

TOPIC, WRITE = AclResourceType.TOPIC, AclOperation.WRITE


def calls_of(work: Callable[[], object]) -> int:
    """Return how many functions of Python are called, the work itself not counted."""
    count = -1

    def note(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal count
        count += event == "call"

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(before)
    return count


@pytest.mark.parametrize(("version", "calls"), [(12, 1), (13, 2)])
def test_a_produce_to_topics_that_were_written_to_passes_with_one_call(version: int, calls: int) -> None:
    """That of the gate, and the hash of an id: nothing is made for it, and no rule is asked."""
    front = Front(allow(TOPIC, "t", WRITE))
    data = [TopicProduceData(name="t", topic_id=TOPIC_ID, partition_data=[PartitionProduceData()])]
    request, client, api = ProduceRequest(acks=1, topic_data=data), context(version), API[ApiKey.PRODUCE]
    assert front.gate.admit(client, api, request) is None
    assert calls_of(lambda: front.gate.admit(client, api, request)) == calls


def test_a_decision_that_is_remembered_is_one_call() -> None:
    """A look into a dictionary."""
    access = Front(allow(TOPIC, "t", WRITE)).authorizer.access_of(context(0))
    assert access.may(WRITE, TOPIC, "t")
    assert calls_of(lambda: access.may(WRITE, TOPIC, "t")) == 1


def test_a_decision_does_not_depend_on_how_many_rules_there_are() -> None:
    """Ten thousand of them, literal and of prefixes, cost what a hundred do."""

    def calls(count: int) -> int:
        others = (
            Acl(
                TOPIC,
                PatternType(3 + number % 2),
                f"other-{number:06}",
                f"User:{number}",
                "*",
                WRITE,
                AclPermission.ALLOW,
            )
            for number in range(count)
        )
        rules = StandardAuthorizer(acls(allow(TOPIC, "t", WRITE), *others))
        assert rules.decide(str(ANNA), "10.0.0.7", WRITE, TOPIC, "t").allowed
        return calls_of(lambda: rules.decide(str(ANNA), "10.0.0.7", WRITE, TOPIC, "t"))

    assert calls(10_000) == calls(100)
