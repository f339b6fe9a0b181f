"""Apache Kafka's kafka-acls, unmodified, and ACLs in a directory that goes from one broker to the other and back."""

from pathlib import Path

import pytest

from tests.interop.acls.world import AUTHORIZER
from tests.support.broker import ApacheKafkaProcess, BrokerProcess, OdradekProcess, run_java

pytestmark = [pytest.mark.interop, pytest.mark.xdist_group("apache-kafka")]

SETTINGS = {"authorizer.class.name": AUTHORIZER, "super.users": "User:ANONYMOUS"}


def kafka_acls(broker: BrokerProcess, *arguments: str) -> str:
    """Return what the tool prints."""
    found = run_java("org.apache.kafka.tools.AclCommand", "--bootstrap-server", broker.bootstrap, *arguments)
    return found.stdout.decode()


def acls_of(text: str) -> set[str]:
    """Return the ACLs that the tool lists."""
    return {line.strip() for line in text.splitlines() if line.strip().startswith("(principal=")}


def test_kafka_acls_makes_lists_and_removes(tmp_path: Path) -> None:
    """Its short forms for producers and consumers, prefixes, hosts, denials."""
    broker = OdradekProcess(tmp_path, SETTINGS)
    try:
        broker.start()
        made = kafka_acls(
            broker, "--add", "--allow-principal", "User:anna", "--producer", "--topic", "orders", "--idempotent"
        )
        assert "Adding ACLs for resource `ResourcePattern(resourceType=TOPIC, name=orders" in made
        kafka_acls(
            broker,
            *("--add", "--allow-principal", "User:bert", "--consumer", "--topic", "ord", "--group", "*"),
            *("--resource-pattern-type", "prefixed", "--allow-host", "10.0.0.7"),
        )
        kafka_acls(broker, "--add", "--deny-principal", "User:*", "--operation", "Delete", "--topic", "orders")
        listed = kafka_acls(broker, "--list", "--topic", "orders", "--resource-pattern-type", "match")
        assert "(principal=User:bert, host=10.0.0.7, operation=READ, permissionType=ALLOW)" in listed
        assert "(principal=User:*, host=*, operation=DELETE, permissionType=DENY)" in listed
        kafka_acls(broker, "--remove", "--force", "--topic", "orders")
        assert not acls_of(kafka_acls(broker, "--list", "--topic", "orders", "--resource-pattern-type", "literal"))
        assert acls_of(kafka_acls(broker, "--list", "--principal", "User:bert"))
    finally:
        broker.discard()


def test_acls_stay_when_a_directory_goes_to_the_other_broker_and_back(tmp_path: Path) -> None:
    """Each has those that the other made, and goes by them."""
    kafka = ApacheKafkaProcess(tmp_path, SETTINGS)
    odradek = OdradekProcess(tmp_path, SETTINGS)
    try:
        kafka.start()
        kafka_acls(kafka, "--add", "--allow-principal", "User:k", "--operation", "Read", "--topic", "of-kafka")
        kafka.stop()
        odradek.start()
        kafka_acls(odradek, "--add", "--deny-principal", "User:o", "--operation", "All", "--group", "of-odradek")
        here = acls_of(kafka_acls(odradek, "--list"))
        odradek.stop()
        kafka.start()
        assert acls_of(kafka_acls(kafka, "--list")) == here
        assert len(here) == 2
        kafka_acls(kafka, "--remove", "--force", "--topic", "of-kafka")
        kafka.stop()
        odradek.start()
        assert len(acls_of(kafka_acls(odradek, "--list"))) == 1
    finally:
        kafka.discard()
        odradek.discard()
