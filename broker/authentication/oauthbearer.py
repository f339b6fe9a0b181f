"""OAUTHBEARER (RFC 7628, KIP-255, KIP-768): a token (JWT) that an identity provider has signed.

Owns: the tokens of the exchange, and what is said to them, as Kafka's `OAuthBearerSaslServer` does: who has a bad token
is told why in JSON, acknowledges that with one byte, and is refused with the next answer. Whether a token is good is
`token_judge`'s business, on a thread. Extensions of the client are read and have no effect.
"""

from __future__ import annotations

import json
import re
from typing import Final

from odradek.broker.authentication.exchange import Authenticated, AuthenticationError, Step
from odradek.broker.authentication.token_judge import BadTokenError, JudgedToken, TokenJudge
from odradek.broker.runtime.context import KafkaPrincipal
from odradek.broker.runtime.deferred import Deferred
from odradek.broker.runtime.disk_threads import Threads

MAX_TOKEN_BYTES: Final = 64 * 1024
"""Of a whole message; tokens have a few thousand."""
_ACKNOWLEDGED: Final = b"\x01"
_NAME = r"(?:[^=,\x00\x01]|=2C|=3D)+"
_PAIR = r"[A-Za-z]+=[\x21-\x7E \t\r\n]*\x01"
_FIRST = re.compile(rf"n,(?:a=(?P<authzid>{_NAME}))?,\x01(?P<pairs>(?:{_PAIR})*)\x01")
_AUTH = re.compile(r"bearer +(?P<token>[-_.A-Za-z0-9]+)", re.IGNORECASE)


class OAuthBearerExchange:
    """One attempt."""

    def __init__(self, judge: TokenJudge, threads: Threads) -> None:
        self._judge = judge
        self._threads = threads
        self._problem: BadTokenError | None = None
        """Why the token is not good, once the client has been told."""
        self.user = ""

    def evaluate(self, token: bytes) -> Step | Deferred[Step | AuthenticationError]:
        """Take the client's message, or its acknowledgement of a refusal."""
        if self._problem is not None:
            told = _json_of(self._problem) if token == _ACKNOWLEDGED else None
            raise AuthenticationError(str(self._problem), told)
        authorization_id, bearer = _parsed(token)
        outcome: Deferred[Step | AuthenticationError] = Deferred()
        judged: list[JudgedToken] = []

        def done(failed: BaseException | None) -> None:
            if isinstance(failed, BadTokenError):
                self._problem = failed
                outcome.resolve(Step(_json_of(failed).encode()))
            elif failed is not None:
                outcome.resolve(AuthenticationError(f"the token cannot be judged: {failed}"))
            else:
                outcome.resolve(self._verdict(judged[0], authorization_id))

        self._threads.submit(lambda: judged.append(self._judge.judge(bearer)), done)
        return outcome.now_or_later()  # type: ignore[return-value]  # threads that are none are the tests'

    def _verdict(self, judged: JudgedToken, authorization_id: str) -> Step | AuthenticationError:
        self.user = judged.subject
        if authorization_id and authorization_id != judged.subject:
            sentence = (
                f"Authentication failed: Client requested an authorization id ({authorization_id}) that is different"
                f" from the token's principal name ({judged.subject})"
            )
            return AuthenticationError("another authorization id", sentence)
        return Step(b"", Authenticated(KafkaPrincipal("User", judged.subject), judged.expires_ms))


def _parsed(token: bytes) -> tuple[str, str]:
    """Return authorization id and bearer token of a client's message."""
    if len(token) > MAX_TOKEN_BYTES:
        raise AuthenticationError(f"a message of more than {MAX_TOKEN_BYTES} bytes")
    first = _FIRST.fullmatch(token.decode("utf-8", "replace"))
    if first is None:
        raise AuthenticationError("the message is none of OAUTHBEARER")
    names_and_values = [pair.split("=", 1) for pair in first["pairs"].split("\x01")[:-1]]
    pairs = {name.lower(): value for name, value in names_and_values}
    if len(pairs) < len(names_and_values):
        raise AuthenticationError("the message says something twice")
    bearer = _AUTH.fullmatch(pairs.get("auth", ""))
    if bearer is None:
        raise AuthenticationError("the message has no bearer token")
    return (first["authzid"] or "").replace("=2C", ",").replace("=3D", "="), bearer["token"]


def _json_of(problem: BadTokenError) -> str:
    return json.dumps({"status": problem.status}, separators=(",", ":"))
