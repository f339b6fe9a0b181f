"""Kafka's errors as sentences, with what to do."""

from __future__ import annotations

from concurrent.futures import Future
from concurrent.futures import TimeoutError as NotInTime
from typing import TypeVar

from confluent_kafka import KafkaError, KafkaException

from odradek.cli.errors import CommandError

T = TypeVar("T")

ANSWER_TIMEOUT_S = 15.0

_NO_ANSWER = (
    "no answer in time; can the address that the broker tells its clients (advertised.listeners) be reached from here, "
    "and does --command-config fit its listener?"
)

_NO_COORDINATOR = "{what}: no coordinator yet; the cluster is still starting, or __consumer_offsets cannot be made"

_ADVICE = {
    KafkaError.UNKNOWN_TOPIC_OR_PART: "{what} does not exist; `odradek topics list` shows what does",
    KafkaError._UNKNOWN_TOPIC: "{what} does not exist; `odradek topics list` shows what does",
    KafkaError._UNKNOWN_PARTITION: "{what} has no such partition; `odradek topics describe` shows those it has",
    KafkaError.TOPIC_ALREADY_EXISTS: "{what} exists already; `odradek topics describe` shows it",
    KafkaError.NON_EMPTY_GROUP: "{what} has members; stop its consumers first",
    KafkaError.UNKNOWN_MEMBER_ID: "{what} has members; stop its consumers first",
    KafkaError.GROUP_ID_NOT_FOUND: "{what} does not exist; `odradek groups list` shows those that do",
    KafkaError.COORDINATOR_NOT_AVAILABLE: _NO_COORDINATOR,
    KafkaError.NOT_COORDINATOR: _NO_COORDINATOR,
    KafkaError.COORDINATOR_LOAD_IN_PROGRESS: _NO_COORDINATOR,
    KafkaError._MSG_TIMED_OUT: "{what}: no acknowledgement in time; is the broker still there?",
    KafkaError._TIMED_OUT: "{what}: " + _NO_ANSWER,
    KafkaError._TRANSPORT: "{what}: " + _NO_ANSWER,
    KafkaError._ALL_BROKERS_DOWN: "{what}: " + _NO_ANSWER,
    KafkaError._AUTHENTICATION: "the broker refuses these credentials; check sasl.* in --command-config",
    KafkaError.SASL_AUTHENTICATION_FAILED: "the broker refuses these credentials; check sasl.* in --command-config",
}


def sentence(error: KafkaError, what: str) -> str:
    """Return an error in words; `what` is what it happened to, as `topic orders`."""
    advice = _ADVICE.get(error.code())
    if advice is not None:
        return advice.format(what=what)
    text = error.str().removeprefix("Broker: ").removeprefix("Local: ").rstrip(".")
    return f"{what}: {text} ({error.name()})"


def failure(raised: KafkaException, what: str) -> CommandError:
    """Return what librdkafka raised as an error for people."""
    [error, *_] = raised.args
    return CommandError(sentence(error, what) if isinstance(error, KafkaError) else f"{what}: {error}")


def answer(future: Future[T], what: str, timeout: float = ANSWER_TIMEOUT_S) -> T:
    """Wait for what an admin client was asked; CommandError where it fails."""
    try:
        return future.result(timeout)
    except KafkaException as raised:
        raise failure(raised, what) from raised
    except NotInTime as raised:
        raise CommandError(f"{what}: {_NO_ANSWER}") from raised
