"""Kafka's errors as sentences, with what to do."""

from __future__ import annotations

import re
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NotInTime
from typing import TypeVar

from confluent_kafka import KafkaError, KafkaException

from odradek.terminal.errors import CommandError

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
    KafkaError.GROUP_SUBSCRIBED_TO_TOPIC: "{what}: a member reads the topic; stop its consumers first",
    KafkaError.GROUP_ID_NOT_FOUND: "{what} does not exist; `odradek groups list` shows those that do",
    KafkaError.COORDINATOR_NOT_AVAILABLE: _NO_COORDINATOR,
    KafkaError.NOT_COORDINATOR: _NO_COORDINATOR,
    KafkaError.COORDINATOR_LOAD_IN_PROGRESS: _NO_COORDINATOR,
    KafkaError._MSG_TIMED_OUT: "{what}: no acknowledgement in time; is the broker still there?",
    KafkaError.KAFKA_STORAGE_ERROR: "{what}: its broker cannot use the files (KAFKA_STORAGE_ERROR), as where a disk is "
    "full or has failed; `odradek cluster status` shows the disks, and the broker's log says more",
    KafkaError.NOT_ENOUGH_REPLICAS: "{what}: fewer replicas are in sync than min.insync.replicas asks for "
    "(NOT_ENOUGH_REPLICAS); `odradek topics describe --under-min-isr` shows where",
    KafkaError.MSG_SIZE_TOO_LARGE: "{what}: larger than max.message.bytes of the topic lets in (MSG_SIZE_TOO_LARGE)",
    KafkaError._TIMED_OUT: "{what}: " + _NO_ANSWER,
    KafkaError._TRANSPORT: "{what}: " + _NO_ANSWER,
    KafkaError._ALL_BROKERS_DOWN: "{what}: " + _NO_ANSWER,
    KafkaError._AUTHENTICATION: "the broker refuses these credentials; check sasl.* in --command-config",
    KafkaError.SASL_AUTHENTICATION_FAILED: "the broker refuses these credentials; check sasl.* in --command-config",
}


REFUSALS = frozenset({KafkaError._SSL, KafkaError._AUTHENTICATION})
"""What keeps a client from a broker for good, unlike a lost connection."""

_CERTIFICATE = re.compile(r"certificate verify failed")
_WHEN = re.compile(r"\s*\(after \d+ms in state \w+.*\)$")


def not_let_in(error: KafkaError, bootstrap: str) -> str:
    """Return in words why a broker's listener and this client do not come together."""
    reason = _WHEN.sub("", error.str()).rpartition("bootstrap: ")[2].rstrip(".")
    if _CERTIFICATE.search(reason):
        return (
            f"the certificate of {bootstrap} cannot be verified; set ssl.ca.location in --command-config to its "
            "authority's, and use the host name that it was made for"
        )
    if error.code() == KafkaError._SSL:
        return f"{bootstrap} speaks no TLS with us ({reason}); does --command-config fit its listener?"
    return f"{bootstrap} does not let us in ({reason}); check sasl.* in --command-config"


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
