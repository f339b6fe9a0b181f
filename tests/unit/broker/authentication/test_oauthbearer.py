"""OAUTHBEARER: which tokens are good, and what is said to those that are not."""

import base64
import hmac
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from joserfc import jwt
from joserfc.jwk import ECKey, Key, KeySet, OctKey, RSAKey

from odradek.broker.authentication.exchange import AuthenticationError, Step
from odradek.broker.authentication.oauthbearer import OAuthBearerExchange
from odradek.broker.authentication.token_judge import MAX_KEYS_BYTES, UNKNOWN_KEY_INTERVAL_S, TokenJudge, parse_keys
from odradek.broker.runtime.deferred import Deferred
from odradek.broker.runtime.disk_threads import InPlace
from odradek.config.sasl import OAuthBearerSettings
from tests.support.clock import ManualClock

RSA = RSAKey.generate_key(2048, {"kid": "rsa"})
EC = ECKey.generate_key("P-256", {"kid": "ec"})
OTHER = RSAKey.generate_key(2048, {"kid": "other"})
INVALID = {"status": "invalid_token"}


class Provider:
    """An identity provider whose keys are in a file."""

    def __init__(self, directory: Path, **changed: object) -> None:
        self.clock = ManualClock()
        self.path = directory / "jwks.json"
        self.publish(RSA, EC)
        settings = OAuthBearerSettings(
            jwks_endpoint_url=self.path.as_uri(),
            expected_audience=("kafka", "other"),
            expected_issuer="us",
            clock_skew_seconds=30,
            scope_claim_name="scope",
            sub_claim_name="sub",
            refresh_ms=3_600_000,
            retry_backoff_ms=100,
            retry_backoff_max_ms=10_000,
            connect_timeout_ms=1000,
            read_timeout_ms=1000,
        )
        self.judge = TokenJudge(settings._replace(**changed), self.clock)  # type: ignore[arg-type]  # its own fields
        self.exchange = self.begin()

    def publish(self, *keys: Key) -> None:
        """Have these public keys."""
        self.path.write_text(json.dumps(KeySet(list(keys)).as_dict(private=False)))

    def begin(self) -> OAuthBearerExchange:
        """Return a new exchange."""
        self.exchange = OAuthBearerExchange(self.judge, InPlace())
        return self.exchange

    def claims(self, **changed: object) -> dict[str, object]:
        """Return what a good token says; None leaves a claim out."""
        now = self.clock.now_ms() // 1000
        claims = {"sub": "erin", "iat": now, "exp": now + 60, "iss": "us", "aud": "kafka", **changed}
        return {name: value for name, value in claims.items() if value is not None}

    def token(self, key: Key = RSA, header: Mapping[str, Any] | None = None, **changed: object) -> str:
        """Return a signed token."""
        head = {"alg": "ES256" if key is EC else "RS256", "kid": key.kid, **(header or {})}
        return jwt.encode(head, self.claims(**changed), key)

    def say(self, token: str, authorization_id: str = "") -> Step | AuthenticationError:
        """Return what is said to a token."""
        gs2 = f"n,a={authorization_id}," if authorization_id else "n,,"
        return self.evaluate(f"{gs2}\x01auth=Bearer {token}\x01\x01".encode())

    def evaluate(self, message: bytes) -> Step | AuthenticationError:
        """Return what is said to a message."""
        said = self.exchange.evaluate(message)
        assert not isinstance(said, Deferred)
        return said

    def is_good(self, token: str) -> bool:
        """Tell whether a token is taken."""
        self.begin()
        said = self.say(token)
        assert isinstance(said, Step)
        assert said.authenticated is not None or json.loads(said.answer) == INVALID
        return said.authenticated is not None


@pytest.fixture
def provider(tmp_path: Path) -> Provider:
    """Return a provider."""
    return Provider(tmp_path)


@pytest.mark.parametrize("key", [RSA, EC])
def test_the_subject_of_a_good_token_is_the_user_until_it_expires(provider: Provider, key: Key) -> None:
    """Of a key of either kind."""
    said = provider.say(provider.token(key))
    assert isinstance(said, Step)
    assert said.authenticated is not None
    assert str(said.authenticated.principal) == "User:erin"
    assert said.authenticated.expires_ms == (provider.clock.now_ms() // 1000 + 60) * 1000
    assert said.answer == b""


def test_who_has_a_bad_token_is_told_acknowledges_it_and_is_refused(provider: Provider) -> None:
    """With JSON, twice (RFC 7628)."""
    said = provider.say(provider.token(exp=1))
    assert isinstance(said, Step)
    assert (json.loads(said.answer), said.authenticated) == (INVALID, None)
    with pytest.raises(AuthenticationError) as caught:
        provider.evaluate(b"\x01")
    assert caught.value.told == '{"status":"invalid_token"}'


@pytest.mark.parametrize(
    "changed",
    [
        {"exp": None},
        {"iat": None},
        {"sub": None},
        {"sub": ""},
        {"sub": 5},
        {"exp": 1},
        {"exp": "soon"},
        {"exp": True},
        {"exp": 1e300},
        {"iss": "them"},
        {"iss": None},
        {"aud": "else"},
        {"aud": None},
        {"aud": [1, "else"]},
        {"nbf": 1 << 40},
        {"iat": 1 << 40},
        {"scope": 7},
        {"scope": ["a", 7]},
    ],
)
def test_a_token_that_is_signed_and_says_something_else_is_bad(provider: Provider, changed: dict[str, Any]) -> None:
    """Out of time, for others, from others, without a subject, of other types."""
    assert not provider.is_good(provider.token(**changed))


@pytest.mark.parametrize(
    "changed", [{"aud": ["x", "kafka"]}, {"iat": 1 << 40, "exp": 1 << 41}, {"scope": "a b"}, {"scope": ["a"]}]
)
def test_a_token_may_say_more(provider: Provider, changed: dict[str, Any]) -> None:
    """Several audiences, scopes; when it was issued is not looked at, as in Kafka."""
    assert provider.is_good(provider.token(**changed))


def test_clocks_may_differ_a_little(provider: Provider) -> None:
    """sasl.oauthbearer.clock.skew.seconds, before and after."""
    token = provider.token()
    provider.clock.advance(89)
    assert provider.is_good(token)
    provider.clock.advance(2)
    assert not provider.is_good(token)
    now = provider.clock.now_ms() // 1000
    assert provider.is_good(provider.token(nbf=now + 29))
    assert not provider.is_good(provider.token(nbf=now + 32))


def encoded(value: object) -> str:
    """Return a part of a token."""
    return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()


def test_nobody_signs_for_the_provider(provider: Provider) -> None:
    """`none`, a MAC with the public key as its secret, a key of its own in the header, another key, a changed token."""
    body = encoded(provider.claims())
    for none in ("none", "None", "NONE"):
        assert not provider.is_good(f"{encoded({'alg': none, 'kid': 'rsa'})}.{body}.")
    signed = f"{encoded({'alg': 'HS256', 'kid': 'rsa'})}.{body}"
    mac = hmac.digest(RSA.as_pem(private=False), signed.encode(), "sha256")
    assert not provider.is_good(f"{signed}.{base64.urlsafe_b64encode(mac).rstrip(b'=').decode()}")
    own = {"kid": "rsa", "jwk": OTHER.as_dict(private=False), "jku": "https://evil.example/keys"}
    forged = jwt.encode({"alg": "RS256", "kid": "rsa"}, provider.claims(), OTHER)
    assert not provider.is_good(forged)
    header = encoded({"alg": "RS256", **own})
    assert not provider.is_good(f"{header}.{body}.{forged.rsplit('.', 1)[1]}")
    good = provider.token().split(".")
    assert not provider.is_good(f"{good[0]}.{encoded(provider.claims(sub='admin'))}.{good[2]}")
    wrong_kind = jwt.encode({"alg": "RS256", "kid": "ec"}, provider.claims(), OTHER)
    assert not provider.is_good(wrong_kind)


@pytest.mark.parametrize("token", ["x", "a.b", "a.b.c", "a.b.c.d.e", "." * 3, "-" * 20_000, f"{encoded([])}.e30.e30"])
def test_what_is_no_token_is_bad(provider: Provider, token: str) -> None:
    """Whatever it looks like."""
    assert not provider.is_good(token)


def test_a_new_key_is_fetched_but_not_because_somebody_names_one_all_the_time(provider: Provider) -> None:
    """Key ids that nobody knows cost one fetch in ten seconds."""
    assert provider.is_good(provider.token())
    provider.publish(OTHER)
    assert not provider.is_good(provider.token(OTHER))
    provider.clock.advance(UNKNOWN_KEY_INTERVAL_S + 1)
    assert provider.is_good(provider.token(OTHER))
    assert not provider.is_good(provider.token())


def test_keys_that_cannot_be_had_leave_those_that_are_known(provider: Provider) -> None:
    """And without any nobody is let in: it is not the client's fault, so no answer says that it was."""
    assert provider.is_good(provider.token())
    provider.path.write_text("no keys")
    provider.clock.advance(3601)
    assert provider.is_good(provider.token())
    fresh = Provider(provider.path.parent / "..", jwks_endpoint_url="file:///nowhere/jwks.json")
    said = fresh.say(fresh.token())
    assert isinstance(said, AuthenticationError)
    assert said.told is None


@pytest.mark.parametrize("data", [b"", b"[]", b"{}", b'{"keys": 5}', b'{"keys": []}', b" " * (MAX_KEYS_BYTES + 1)])
def test_what_is_no_set_of_keys_is_refused(data: bytes) -> None:
    """Also one that is too large."""
    with pytest.raises(Exception):  # noqa: B017 - any of those that ProviderKeys takes for a failure
        parse_keys(data)


def test_secrets_of_a_provider_are_no_keys_here() -> None:
    """An oct key in a JWKS would let everybody sign who can read it."""
    secret = OctKey.generate_key(256, {"kid": "oct"}).as_dict(private=True)
    keys = parse_keys(json.dumps({"keys": [secret, RSA.as_dict(private=False)]}).encode())
    assert [key.kid for key in keys] == ["rsa"]


def test_another_authorization_id_is_refused(provider: Provider) -> None:
    """With Kafka's sentence; the subject itself is fine."""
    said = provider.say(provider.token(), "frank")
    assert isinstance(said, AuthenticationError)
    assert said.told == (
        "Authentication failed: Client requested an authorization id (frank) that is different from the token's"
        " principal name (erin)"
    )
    provider.begin()
    said = provider.say(provider.token(), "erin")
    assert isinstance(said, Step)
    assert said.authenticated is not None


@pytest.mark.parametrize(
    "message",
    [
        b"",
        b"\x01",
        b"n,,\x01\x01",
        b"n,,\x01auth=Basic abc\x01\x01",
        b"n,,\x01auth=Bearer \x01\x01",
        b"n,,\x01auth=Bearer abc\x01",
        b"n,,\x01auth=Bearer abc\x01auth=Bearer abc\x01\x01",
        b"n,,\x01auth=Bearer abc\x01a b=c\x01\x01",
        b"y,,\x01auth=Bearer abc\x01\x01",
        b"\xff" * 10,
        b"n,,\x01auth=Bearer " + b"x" * 70_000 + b"\x01\x01",
    ],
)
def test_what_is_no_message_is_refused_at_once(provider: Provider, message: bytes) -> None:
    """With the sentence that says nothing."""
    with pytest.raises(AuthenticationError) as caught:
        provider.evaluate(message)
    assert caught.value.told is None


def test_extensions_are_read(provider: Provider) -> None:
    """And change nothing."""
    message = f"n,,\x01auth=bearer {provider.token()}\x01logicalCluster=lkc-1\x01\x01".encode()
    said = provider.evaluate(message)
    assert isinstance(said, Step)
    assert said.authenticated is not None
