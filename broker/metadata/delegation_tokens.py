"""Delegation tokens in the metadata (KIP-48): the values, what a record does to them, and as records again.

The HMAC, which is the password, is in no record: it is made of the id and the cluster's secret. Pure.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from odradek.protocol.messages.metadata_records import DelegationTokenRecord, RemoveDelegationTokenRecord


class DelegationToken(NamedTuple):
    """One token; principals as text, `User:anna`, times in milliseconds since 1970."""

    token_id: str
    owner: str
    requester: str
    renewers: tuple[str, ...]
    issued_ms: int
    max_ms: int
    """It cannot be renewed beyond this."""
    expires_ms: int

    @property
    def people(self) -> tuple[str, ...]:
        """Who may renew and end it: its owner, who asked for it, and its renewers."""
        return (self.owner, self.requester, *self.renewers)

    def is_of(self, principal: str) -> bool:
        """Tell whether somebody is one of those."""
        return principal in self.people

    def is_over(self, now_ms: int) -> bool:
        """Tell whether it is not valid any more."""
        return self.max_ms < now_ms or self.expires_ms < now_ms


DelegationTokens = Mapping[str, DelegationToken]
"""By id."""


def apply_token(
    tokens: dict[str, DelegationToken], message: DelegationTokenRecord | RemoveDelegationTokenRecord
) -> None:
    """Take in the effect of a record."""
    if isinstance(message, RemoveDelegationTokenRecord):
        tokens.pop(message.token_id, None)
        return
    tokens[message.token_id] = DelegationToken(
        message.token_id,
        message.owner,
        message.requester,
        tuple(message.renewers),
        message.issue_timestamp,
        message.max_timestamp,
        message.expiration_timestamp,
    )


def token_record(token: DelegationToken) -> DelegationTokenRecord:
    """Return the record that sets a token."""
    return DelegationTokenRecord(
        owner=token.owner,
        requester=token.requester,
        renewers=list(token.renewers),
        issue_timestamp=token.issued_ms,
        max_timestamp=token.max_ms,
        expiration_timestamp=token.expires_ms,
        token_id=token.token_id,
    )


def token_records(tokens: DelegationTokens) -> Iterator[DelegationTokenRecord]:
    """Yield the records that a snapshot has of all of them."""
    for token in tokens.values():
        yield token_record(token)
