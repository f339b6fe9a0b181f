"""Requests that librdkafka cannot make, over connections of our own, which are kept while a command runs.

They go over listeners of every protocol, with the same settings. Each is made in the newest version that the broker and
we know.
"""

from __future__ import annotations

import ssl
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeAlias, TypeVar

from confluent_kafka import KafkaError

from odradek.client.connection import BrokerConnection
from odradek.client.errors import (
    ClientError,
    ConnectionLostError,
    LoginFailedError,
    NotServedError,
    UnusableAnswerError,
)
from odradek.client.login import login_of, uses_tls
from odradek.client.tls import tls_context
from odradek.cluster.errors import ANSWER_TIMEOUT_S, sentence
from odradek.protocol.codec import Message
from odradek.protocol.registry import ApiKey
from odradek.protocol.sasl import MakeExchange
from odradek.terminal.errors import CommandError, WrongUsageError

Address: TypeAlias = tuple[str, int]
Answer = TypeVar("Answer", bound=Message)

CLIENT_ID: Final = "odradek"
ASKED_AT_ONCE: Final = 16
"""Brokers that are waited for together."""


class BrokerRequests:
    """Asks brokers; `addresses` gives those of the cluster, the one that stands in for the controller first."""

    def __init__(
        self,
        settings: Mapping[str, str],
        addresses: Callable[[], Sequence[Address]],
        timeout_s: float = ANSWER_TIMEOUT_S,
    ) -> None:
        self._settings = settings
        self._addresses = addresses
        self._timeout_s = timeout_s
        self._connections: dict[Address, BrokerConnection] = {}
        self._standing: Address | None = None
        """The broker that answered last what any of them may be asked."""

    def ask(self, request: Message, answer: type[Answer], what: str) -> Answer:
        """Ask any broker, which passes on what is for the controller.

        Raises CommandError where none answers; `what` is what the request is about, as `topic orders`.
        """
        try:
            return self._ask_any(request, answer, what)
        except NotServedError as refused:
            raise CommandError(f"{what}: {refused}") from refused

    def ask_if_served(self, request: Message, answer: type[Answer], what: str) -> Answer | None:
        """Like `ask`, but None where the brokers do not know the request."""
        try:
            return self._ask_any(request, answer, what)
        except NotServedError:
            return None

    def ask_at(self, address: Address, request: Message, answer: type[Answer]) -> Answer:
        """Ask one broker; ClientError where it does not answer."""
        kept = self._connections.get(address)
        if kept is not None:
            try:
                return kept.ask(request, answer)
            except ConnectionLostError:  # brokers close what nobody has used for a while
                self._forget(address)
        connection = self._connect(address)
        try:
            return connection.ask(request, answer)
        except ConnectionLostError:
            self._forget(address)
            raise

    def newest_at(self, address: Address, request: type[Message]) -> int:
        """Return the newest version of a request that a broker serves and we know.

        ClientError where it serves none, or does not tell.
        """
        connection = self._connections.get(address) or self._connect(address)
        return connection.newest(ApiKey(request.SCHEMA.api_key), request.SCHEMA.versions)

    def ask_each(
        self, requests: Mapping[Address, Message], answer: type[Answer]
    ) -> dict[Address, Answer | ClientError]:
        """Ask several brokers at once; returns what each answered, or why it did not."""

        def one(asked: tuple[Address, Message]) -> Answer | ClientError:
            try:
                return self.ask_at(*asked, answer)
            except ClientError as failed:
                return failed

        with ThreadPoolExecutor(ASKED_AT_ONCE) as threads:
            return dict(zip(requests, threads.map(one, requests.items()), strict=True))

    def close(self) -> None:
        """Close all connections."""
        for address in list(self._connections):
            self._forget(address)

    def _ask_any(self, request: Message, answer: type[Answer], what: str) -> Answer:
        problems = []
        for address in self._in_turn():
            try:
                found = self.ask_at(address, request, answer)
            except ConnectionLostError as lost:
                problems.append(str(lost))
            except (UnusableAnswerError, LoginFailedError) as refused:
                raise CommandError(f"{what}: {refused}") from refused
            else:
                self._standing = address
                return found
        raise CommandError(f"{what}: {'; '.join(problems)}")

    def _in_turn(self) -> Iterator[Address]:
        """Yield the brokers to ask; where the others are is only found out once the first one does not answer."""
        standing = self._standing
        if standing is not None:
            yield standing
        for each in self._addresses():
            if each != standing:
                yield each

    def _connect(self, address: Address) -> BrokerConnection:
        connection = BrokerConnection(address, CLIENT_ID, self._timeout_s, self._tls(), self._login())
        self._connections[address] = connection
        return connection

    def _forget(self, address: Address) -> None:
        self._connections.pop(address).close()

    def _tls(self) -> ssl.SSLContext | None:
        if not uses_tls(self._settings):
            return None
        try:
            return tls_context(self._settings)
        except (OSError, ValueError) as wrong:
            raise WrongUsageError(f"the TLS files that --command-config names cannot be used: {wrong}") from wrong

    def _login(self) -> MakeExchange | None:
        try:
            return login_of(self._settings)
        except ValueError as wrong:
            raise WrongUsageError(f"--command-config: {wrong}") from wrong


def check(code: int, reason: str | None, what: str) -> None:
    """Raise CommandError for the error code of an answer; `reason` is the broker's own."""
    if code:
        raise CommandError(sentence(KafkaError(code, reason) if reason else KafkaError(code), what))
