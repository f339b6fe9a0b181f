"""What every mechanism of SASL is to the connection: tokens in, tokens out, and in the end a user or a refusal.

Owns: the values that pass between `authenticator` and the mechanisms. Must not know: frames, requests, any mechanism.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

from odradek.broker.runtime.context import KafkaPrincipal
from odradek.broker.runtime.deferred import Deferred


class Authenticated(NamedTuple):
    """The client has proved who it is."""

    principal: KafkaPrincipal
    expires_ms: int | None = None
    """When its credential ends, in wall time; None where it does not."""
    by_token: bool = False
    """Whether it was a delegation token."""


class Step(NamedTuple):
    """What is said to a token of the client."""

    answer: bytes
    authenticated: Authenticated | None = None
    """Set once it is over."""


class AuthenticationError(Exception):
    """The client is not let in.

    `told` is what it hears, None for the sentence that says nothing but that; the message is for the log.
    """

    def __init__(self, reason: str, told: str | None = None) -> None:
        super().__init__(reason)
        self.told = told


class Exchange(Protocol):
    """One attempt of one client to authenticate by one mechanism."""

    def evaluate(self, token: bytes) -> Step | Deferred[Step | AuthenticationError]:
        """Take a token of the client; raises AuthenticationError, or resolves to one where it takes longer."""

    @property
    def user(self) -> str:
        """Who the client says it is, for the log; empty while that is not known."""
