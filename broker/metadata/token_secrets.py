"""The passwords of delegation tokens: HMAC-SHA512 of a token's id with `delegation.token.secret.key`.

Owns: making them, and finding the token that one belongs to. They are in no record and in no log line.
"""

from __future__ import annotations

import hmac
from base64 import b64encode
from typing import Final

from odradek.broker.metadata.delegation_tokens import DelegationToken, DelegationTokens
from odradek.config.settings import BrokerSettings

KEPT_BESIDE: Final = 1000
"""Passwords of tokens that are gone, kept at most; then all are made anew."""


def secrets_of(settings: BrokerSettings) -> TokenSecrets | None:
    """Return the passwords of a cluster's tokens, None where it has none."""
    secret = settings.delegation_token_secret_key
    return TokenSecrets(secret) if secret else None


class TokenSecrets:
    """The passwords of a cluster's tokens."""

    def __init__(self, secret: str) -> None:
        self._secret = secret.encode()
        self._of: dict[str, bytes] = {}
        self._by_hmac: dict[bytes, str] = {}

    def __repr__(self) -> str:
        return "<secrets of tokens>"

    def hmac_of(self, token_id: str) -> bytes:
        """Return the password of a token, as bytes."""
        found = self._of.get(token_id)
        if found is None:
            found = self._of[token_id] = hmac.digest(self._secret, token_id.encode(), "sha512")
            self._by_hmac[found] = token_id
        return found

    def password_of(self, token_id: str) -> str:
        """Return the password as clients give it: base64."""
        return b64encode(self.hmac_of(token_id)).decode()

    def find(self, tokens: DelegationTokens, given: bytes) -> DelegationToken | None:
        """Return the token of a password, None where there is none."""
        if len(self._of) > 2 * len(tokens) + KEPT_BESIDE:
            self._of.clear()
            self._by_hmac.clear()
        for token_id in tokens:
            if token_id not in self._of:
                self.hmac_of(token_id)
        return tokens.get(self._by_hmac.get(bytes(given), ""))
