"""Every frame of a log-in, right and wrong, is answered as Apache Kafka answers it."""

import pytest

from tests.interop.sasl.conftest import Pair
from tests.interop.sasl.conversations import AGAIN, ONCE, heard_at

pytestmark = [pytest.mark.interop, pytest.mark.xdist_group("apache-kafka")]


@pytest.mark.parametrize("name", ONCE)
def test_a_log_in_is_answered_as_kafka_answers_it(brokers: Pair, name: str) -> None:
    """At a listener whose sessions do not end."""
    kafka, odradek = brokers
    assert heard_at(odradek.sasl_port, ONCE[name]) == heard_at(kafka.sasl_port, ONCE[name])


@pytest.mark.parametrize("name", AGAIN)
def test_logging_in_again_is_answered_as_kafka_answers_it(brokers: Pair, name: str) -> None:
    """Where sessions end (KIP-368)."""
    kafka, odradek = brokers
    assert heard_at(odradek.reauth_port, AGAIN[name]) == heard_at(kafka.reauth_port, AGAIN[name])
