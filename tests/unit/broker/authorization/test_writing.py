"""What the gate knows of producers without a look at the rules."""

from odradek.broker.dispatch.gate import ChangesGate, everybody
from odradek.protocol.acls import AclOperation, AclResourceType
from odradek.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from odradek.protocol.registry import API, ApiKey
from tests.unit.broker.authorization.support import ANNA, IMAGE, ROOT, TOPIC_ID, Front, acls, allow, context

WRITE_T = allow(AclResourceType.TOPIC, "t", AclOperation.WRITE)
NAMED = 12
BY_ID = 13


def test_writing_is_known_once_it_was_decided_and_until_the_acls_change() -> None:
    """By the name that was used, for the client that was looked at, as long as the same ACLs count."""
    front = Front(WRITE_T)
    client = context(NAMED)
    request = ProduceRequest(topic_data=[TopicProduceData(name="t", partition_data=[PartitionProduceData()])])
    assert not front.gate.may_write(client, "t")
    assert front.gate.admit(client, API[ApiKey.PRODUCE], request) is None
    assert front.gate.may_write(client, "t")
    assert not front.gate.may_write(client, "u")
    assert not front.gate.may_write(client, TOPIC_ID)
    client.principal = ROOT
    assert not front.gate.may_write(client, "t")
    client.principal = ANNA
    front.authorizer.follow(acls())
    assert not front.gate.may_write(client, "t")


def test_ids_are_known_like_names() -> None:
    """From Produce 13 on topics are named by id."""
    front = Front(WRITE_T)
    client = context(BY_ID)
    request = ProduceRequest(topic_data=[TopicProduceData(topic_id=TOPIC_ID, partition_data=[PartitionProduceData()])])
    assert front.gate.admit(client, API[ApiKey.PRODUCE], request) is None
    assert front.gate.may_write(client, TOPIC_ID)


def test_an_audit_log_alone_keeps_nobody_from_writing() -> None:
    """What it stands in front of decides, where there is anything."""
    front = Front(WRITE_T)
    client = context(NAMED)
    assert ChangesGate(everybody, lambda: IMAGE).may_write(client, "t")
    assert not ChangesGate(front.gate.admit, lambda: IMAGE, front.gate.may_write).may_write(client, "t")
