"""A directory with users and tokens goes from Apache Kafka to us and back, with the same server.properties."""

from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient, ScramMechanism, UserScramCredentialDeletion

from tests.interop.sasl.conversations import heard_at
from tests.interop.sasl.test_tokens import create, token_session, user, wait_until_known
from tests.support.broker import OdradekProcess
from tests.support.sasl_brokers import MECHANISMS, SaslBroker
from tests.support.scram_users import set_scram_password
from tests.support.wire import Message

pytestmark = [pytest.mark.interop, pytest.mark.xdist_group("apache-kafka")]


def lets_in(broker: SaslBroker, name: str, password: str, mechanism: str) -> bool:
    """Tell whether a user logs in, and the broker proves that it knows him."""
    return heard_at(broker.sasl_port, lambda talk: talk.scram(mechanism, name, password))[-1] is True


def token_code(broker: SaslBroker, token: Message) -> object:
    """Return what becomes of a log-in with a token."""
    session, answer = token_session(broker, token)
    session.close()
    return answer["error_code"]


def test_users_and_tokens_go_from_kafka_to_us_and_back(tmp_path: Path) -> None:
    """Made by one they log in at the other; who is changed or deleted here is so there, too."""
    settings = {"delegation.token.secret.key": "master", "delegation.token.expiry.check.interval.ms": "3600000"}
    broker = SaslBroker(tmp_path, is_kafka=True, overrides=settings)
    kafka = broker.process
    ours = OdradekProcess(tmp_path)
    ours.properties, ours.port = tmp_path / "server.properties", kafka.port
    try:
        kafka.start()
        for mechanism in MECHANISMS[1:]:
            set_scram_password(kafka.bootstrap, "carol", "one", mechanism)
            set_scram_password(kafka.bootstrap, "gone", "one", mechanism)
        with user(broker, "alice") as wire:
            of_kafka = create(wire)
            wait_until_known(wire, of_kafka)
        kafka.stop()

        ours.start()
        assert all(lets_in(broker, "carol", "one", mechanism) for mechanism in MECHANISMS[1:])
        assert token_code(broker, of_kafka) == 0
        set_scram_password(ours.bootstrap, "dora", "two", "SCRAM-SHA-256")
        set_scram_password(ours.bootstrap, "carol", "two", "SCRAM-SHA-512", 8192)
        admin = AdminClient({"bootstrap.servers": ours.bootstrap})
        admin.alter_user_scram_credentials([UserScramCredentialDeletion("gone", ScramMechanism.SCRAM_SHA_256)])[
            "gone"
        ].result(60)
        with user(broker, "alice") as wire:
            of_ours = create(wire)
        ours.stop()

        kafka.start()
        assert lets_in(broker, "dora", "two", "SCRAM-SHA-256")
        assert lets_in(broker, "carol", "two", "SCRAM-SHA-512")
        assert lets_in(broker, "carol", "one", "SCRAM-SHA-256")
        assert not lets_in(broker, "carol", "one", "SCRAM-SHA-512")
        assert not lets_in(broker, "gone", "one", "SCRAM-SHA-256")
        assert lets_in(broker, "gone", "one", "SCRAM-SHA-512")
        with user(broker, "alice") as wire:
            wait_until_known(wire, of_ours)
        assert [token_code(broker, token) for token in (of_kafka, of_ours)] == [0, 0]
        kafka.stop()

        ours.start()
        assert lets_in(broker, "dora", "two", "SCRAM-SHA-256")
        assert [token_code(broker, token) for token in (of_kafka, of_ours)] == [0, 0]
        assert ours.stop() == 0
    finally:
        kafka.discard()
        ours.discard()
