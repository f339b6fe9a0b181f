"""Whether a JWT is good: signed with a key of the identity provider, in time, for this audience, from this issuer.

Owns: the rules, which are Kafka's `BrokerJwtValidator`'s, and the provider's keys (a JWKS in a file or behind a URL),
fetched when they are needed, kept for `sasl.oauthbearer.jwks.endpoint.refresh.ms`, and again for a key id that is not
known. For threads only. Only signatures with public keys are taken, whatever the token says of itself: neither `none`
nor a MAC, for which the provider's public key would be the secret.
"""

from __future__ import annotations

import json
import threading
from typing import Any, Final, NamedTuple
from urllib.error import URLError
from urllib.request import HTTPRedirectHandler, OpenerDirector, build_opener

from odradek.broker.runtime.clock import Clock
from odradek.broker.runtime.logging import get_logger
from odradek.config.errors import ConfigError
from odradek.config.sasl import OAuthBearerSettings

try:
    from joserfc import jwt
    from joserfc.errors import InvalidKeyIdError, JoseError
    from joserfc.jwk import KeySet
except ImportError:
    raise ConfigError(
        "OAUTHBEARER needs packages that are not installed: pip install 'odradek[security]'",
        key="sasl.enabled.mechanisms",
    ) from None

log = get_logger("authentication")

ALGORITHMS: Final = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "Ed25519")
_PUBLIC_KINDS: Final = frozenset({"RSA", "EC", "OKP"})
MAX_KEYS_BYTES: Final = 1 << 20
"""Of a JWKS."""
MAX_KEYS: Final = 1000
UNKNOWN_KEY_INTERVAL_S: Final = 10.0
"""How soon keys are fetched again because of a key id that is not among them: anybody can name one."""


class BadTokenError(Exception):
    """The token is not good; the message says why, for the log alone."""

    status = "invalid_token"


class JudgedToken(NamedTuple):
    """What a good token says."""

    subject: str
    expires_ms: int


class TokenJudge:
    """Judges tokens for one listener."""

    def __init__(self, settings: OAuthBearerSettings, clock: Clock) -> None:
        self._settings = settings
        self._clock = clock
        self._keys = ProviderKeys(settings, clock)

    def judge(self, token: str) -> JudgedToken:
        """Return what a token says; BadTokenError where it is not good, OSError where there are no keys."""
        claims = self._verified(token)
        settings = self._settings
        now, skew = self._clock.now_ms() / 1000, settings.clock_skew_seconds
        expires, issued = _time(claims, "exp"), _time(claims, "iat")
        if expires is None or issued is None:
            raise BadTokenError("exp and iat are required")
        if expires + skew <= now:
            raise BadTokenError("it has expired")
        begins = _time(claims, "nbf")
        if begins is not None and begins - skew > now:
            raise BadTokenError("it is not valid yet")
        if expires < max(issued, begins or 0.0):
            raise BadTokenError("it ends before it begins")
        if settings.expected_issuer and claims.get("iss") != settings.expected_issuer:
            raise BadTokenError("it comes from another issuer")
        if settings.expected_audience and not _audience(claims) & set(settings.expected_audience):
            raise BadTokenError("it is for another audience")
        _check_scope(claims, settings.scope_claim_name)
        subject = claims.get(settings.sub_claim_name)
        if not isinstance(subject, str) or not subject.strip():
            raise BadTokenError(f"{settings.sub_claim_name} is required")
        return JudgedToken(subject.strip(), int(expires * 1000))

    def _verified(self, token: str) -> dict[str, Any]:
        try:
            return self._decoded(token, self._keys.current())
        except InvalidKeyIdError:
            try:
                return self._decoded(token, self._keys.newer())
            except (JoseError, ValueError) as bad:
                raise BadTokenError(f"signed with a key that nobody knows: {type(bad).__name__}") from None

    def _decoded(self, token: str, keys: KeySet) -> dict[str, Any]:
        try:
            return dict(jwt.decode(token, keys, algorithms=list(ALGORITHMS)).claims)
        except InvalidKeyIdError:
            raise
        except (JoseError, ValueError, TypeError, KeyError, AttributeError, RecursionError) as bad:
            # joserfc meets wrong types in a header with whatever Python says of them
            raise BadTokenError(f"not signed as it must be: {type(bad).__name__}") from None


class ProviderKeys:
    """The keys of an identity provider."""

    def __init__(self, settings: OAuthBearerSettings, clock: Clock) -> None:
        self._settings = settings
        self._clock = clock
        self._lock = threading.Lock()
        self._keys: KeySet | None = None
        self._fetched_at = 0.0
        self._tried_at = 0.0
        self._failures = 0
        self._opener: OpenerDirector = build_opener(_NoRedirect)

    def current(self) -> KeySet:
        """Return the keys; OSError where there are none."""
        with self._lock:
            age_ms = (self._clock.monotonic() - self._fetched_at) * 1000
            if self._keys is None or age_ms >= self._settings.refresh_ms:
                self._fetch(self._backoff_s())
            return self._found()

    def newer(self) -> KeySet:
        """Return the keys, fetched again unless that was done just now."""
        with self._lock:
            self._fetch(max(self._backoff_s(), UNKNOWN_KEY_INTERVAL_S))
            return self._found()

    def _found(self) -> KeySet:
        if self._keys is None:
            raise OSError(f"the keys at {self._settings.jwks_endpoint_url} are not there")
        return self._keys

    def _backoff_s(self) -> float:
        if not self._failures:
            return 0.0
        wait_ms = self._settings.retry_backoff_ms << min(self._failures - 1, 30)
        return min(wait_ms, self._settings.retry_backoff_max_ms) / 1000

    def _fetch(self, interval_s: float) -> None:
        """Fetch the keys if they were last asked for so long ago; what cannot be had leaves those that there are."""
        now = self._clock.monotonic()
        if self._tried_at and now - self._tried_at < interval_s:
            return
        self._tried_at = now
        try:
            self._keys = parse_keys(self._read())
        except (OSError, URLError, ValueError, TypeError, KeyError, JoseError) as failed:
            self._failures += 1
            if self._failures == 1:
                log.warning("the identity provider's keys cannot be had", reason=str(failed)[:300])
        else:
            self._fetched_at, self._failures = now, 0

    def _read(self) -> bytes:
        settings = self._settings
        timeout_s = max(settings.connect_timeout_ms, settings.read_timeout_ms) / 1000
        with self._opener.open(settings.jwks_endpoint_url, timeout=timeout_s) as answer:
            data: bytes = answer.read(MAX_KEYS_BYTES + 1)
        return data


class _NoRedirect(HTTPRedirectHandler):
    """A provider that sends elsewhere is not asked there: the URL is what was trusted."""

    def redirect_request(self, *_args: object) -> None:
        return None


def parse_keys(data: bytes) -> KeySet:
    """Return the public keys in a JWKS; ValueError, TypeError, KeyError or JoseError where it is none."""
    if len(data) > MAX_KEYS_BYTES:
        raise ValueError(f"more than {MAX_KEYS_BYTES} bytes")
    found = json.loads(data)
    keys = [key for key in found["keys"] if isinstance(key, dict) and key.get("kty") in _PUBLIC_KINDS]
    if len(keys) > MAX_KEYS:
        raise ValueError(f"more than {MAX_KEYS} keys")
    return KeySet.import_key_set({"keys": keys})


def _time(claims: dict[str, Any], name: str) -> float | None:
    value: object = claims.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1 << 53:
        raise BadTokenError(f"{name} is no time")
    return float(value)


def _audience(claims: dict[str, Any]) -> set[str]:
    value = claims.get("aud")
    values = value if isinstance(value, list) else [value]
    return {one for one in values if isinstance(one, str)}


def _check_scope(claims: dict[str, Any], name: str) -> None:
    scope = claims.get(name)
    is_list = isinstance(scope, list) and all(isinstance(one, str) for one in scope)
    if scope is not None and not isinstance(scope, str) and not is_list:
        raise BadTokenError(f"{name} is neither text nor a list of texts")
