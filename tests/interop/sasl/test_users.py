"""Users of SCRAM are changed and told as Apache Kafka does it, and its own tool makes them."""

from collections.abc import Mapping

import pytest

from tests.interop.sasl.conftest import Pair
from tests.interop.sasl.conversations import ONCE, heard_at
from tests.support.broker import run_java
from tests.support.sasl_brokers import SaslBroker
from tests.support.waiting import eventually
from tests.support.wire import Message, WireClient

pytestmark = [pytest.mark.interop, pytest.mark.xdist_group("apache-kafka")]

SALT = {"salt": b"salt", "salted_password": b"password" * 4}


def upsertion(name: str, mechanism: int = 1, iterations: int = 4096) -> Message:
    """Return a change that sets a credential."""
    return {"name": name, "mechanism": mechanism, "iterations": iterations, **SALT}


def deletion(name: str, mechanism: int = 1) -> Message:
    """Return a change that removes a credential."""
    return {"name": name, "mechanism": mechanism}


CHANGES: list[tuple[list[Message], list[Message]]] = [
    ([], []),
    ([], [upsertion("a"), upsertion("b", 2, 16384)]),
    ([], [upsertion("c", iterations=4095), upsertion("d", iterations=16385), upsertion("", 1), upsertion("e")]),
    ([], [upsertion("f", 0), upsertion("g", 3), upsertion("", 0), upsertion("h", 0, 1)]),
    ([], [upsertion("i"), upsertion("i", 2)]),
    ([], [upsertion("i"), upsertion("i", 0)]),
    ([], [upsertion("i", 0), upsertion("i")]),
    ([deletion("a")], [upsertion("a", 2), upsertion("j")]),
    ([deletion("nobody")], [upsertion("nobody")]),
    ([deletion("a"), deletion("a")], []),
    ([deletion("a", 2), deletion("b"), deletion("nobody"), deletion("", 1), deletion("b", 7)], []),
    ([deletion("x", 0), deletion("x", 0)], []),
    ([deletion("a")], []),
    ([deletion("a")], []),
]
DESCRIPTIONS: list[list[str] | None] = [None, [], ["a"], ["b", "b"], ["nobody"], ["b", "nobody", "e", "nobody"], [""]]


def by_user(answer: Message, names: Mapping[str, None]) -> dict[object, Message]:
    """Return the results by user, those of other tests left out."""
    results = answer["results"]
    assert isinstance(results, list)
    found = {result["user"]: dict(result) for result in results if result["user"] in names}
    if "error_message" in answer:
        found["the whole"] = {"code": answer["error_code"], "message": answer["error_message"]}
    for result in found.values():
        if "credential_infos" in result:
            result["credential_infos"] = sorted(map(str, result["credential_infos"]))
    return found


def test_credentials_are_changed_and_told_as_kafka_does_it(brokers: Pair) -> None:
    """Codes and sentences of every user, in one sequence of changes and questions."""
    names = dict.fromkeys([*"abcdefghijx", "nobody", ""])
    for deletions, upsertions in CHANGES:
        answers = []
        for broker in brokers:
            with WireClient(broker.process.port) as wire:
                changed = wire.ask("AlterUserScramCredentials", 0, deletions=deletions, upsertions=upsertions)
                answers.append(by_user(changed, names))
        kafka, odradek = answers
        assert odradek == kafka, (deletions, upsertions)

        def told_alike() -> bool:
            kafka, odradek = ([told(broker, asked, names) for asked in DESCRIPTIONS] for broker in brokers)
            return odradek == kafka

        eventually(told_alike, f"both tell the same after {deletions} {upsertions}", 60)  # Kafka tells after a while


def told(broker: SaslBroker, asked: list[str] | None, names: Mapping[str, None]) -> dict[object, Message]:
    """Return what a broker tells of users."""
    users = None if asked is None else [{"name": name} for name in asked]
    with WireClient(broker.process.port) as wire:
        return by_user(wire.ask("DescribeUserScramCredentials", 0, users=users), names)


def test_kafka_configs_makes_tells_and_removes_users(brokers: Pair) -> None:
    """Apache Kafka's tool, unmodified; who was made by it logs in."""
    _, odradek = brokers
    tool, entity = "kafka.admin.ConfigCommand", ("--entity-type", "users", "--entity-name", "dora")
    at = ("--bootstrap-server", odradek.process.bootstrap)
    run_java(tool, *at, "--alter", *entity, "--add-config", "SCRAM-SHA-256=[iterations=8192,password=pencil]")
    told = run_java(tool, *at, "--describe", *entity).stdout.decode()
    assert "SCRAM-SHA-256=iterations=8192" in told
    assert heard_at(odradek.sasl_port, lambda talk: talk.scram(user="dora"))[-1] is True
    run_java(tool, *at, "--alter", *entity, "--delete-config", "SCRAM-SHA-256")
    assert heard_at(odradek.sasl_port, lambda talk: talk.scram(user="dora"))[-1] is False
    assert heard_at(odradek.sasl_port, ONCE["scram 256"])[-1] != "closed"
