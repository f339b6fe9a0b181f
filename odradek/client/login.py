"""How a connection authenticates, from client settings by librdkafka's names.

PLAIN and SCRAM by sasl.username and sasl.password; OAUTHBEARER by a token of the endpoint that
sasl.oauthbearer.method=oidc names (client credentials, RFC 6749), fetched for each new connection.
"""

from __future__ import annotations

import json
import ssl
from base64 import b64encode
from collections.abc import Mapping
from typing import Final
from urllib.parse import quote, urlencode, urlsplit

from odradek.protocol.sasl import ClientExchange, LoginRefusedError, MakeExchange, OAuthBearerClient, exchange_of

PLAIN_PROTOCOLS: Final = ("plaintext", "ssl")
PROTOCOLS: Final = (*PLAIN_PROTOCOLS, "sasl_plaintext", "sasl_ssl")
_TOKEN_TIMEOUT_S: Final = 10.0
_LARGEST_ANSWER: Final = 1 << 20
_ENDPOINT: Final = "sasl.oauthbearer.token.endpoint.url"


def uses_tls(settings: Mapping[str, str]) -> bool:
    """Return whether connections with these settings are encrypted."""
    return settings.get("security.protocol", "plaintext").lower() in ("ssl", "sasl_ssl")


def login_of(settings: Mapping[str, str]) -> MakeExchange | None:
    """Return how to authenticate, None where the listener does not ask.

    Raises:
        ValueError: the settings do not say it, or name a mechanism that is not known here; the message is a sentence.
    """
    protocol = settings.get("security.protocol", "plaintext").lower()
    if protocol in PLAIN_PROTOCOLS:
        return None
    if protocol not in PROTOCOLS:
        raise ValueError(f"security.protocol is one of {', '.join(PROTOCOLS)}, not {protocol}")
    mechanism = settings.get("sasl.mechanism", settings.get("sasl.mechanisms", "GSSAPI")).upper()
    if mechanism == OAuthBearerClient.mechanism:
        return _with_token(settings)
    user, password = settings.get("sasl.username"), settings.get("sasl.password")
    if exchange_of(mechanism, "", "") is None:
        known = "PLAIN, SCRAM-SHA-256, SCRAM-SHA-512 or OAUTHBEARER"
        raise ValueError(f"sasl.mechanism {mechanism} is not known here; use {known}")
    if user is None or password is None:
        raise ValueError(f"sasl.mechanism {mechanism} needs sasl.username and sasl.password")

    def begin() -> ClientExchange:
        exchange = exchange_of(mechanism, user, password)
        assert exchange is not None, "it is one that goes by a name and a password"
        return exchange

    return begin


def _with_token(settings: Mapping[str, str]) -> MakeExchange:
    names = (_ENDPOINT, "sasl.oauthbearer.client.id", "sasl.oauthbearer.client.secret")
    if settings.get("sasl.oauthbearer.method") != "oidc" or any(name not in settings for name in names):
        raise ValueError(f"OAUTHBEARER needs sasl.oauthbearer.method=oidc and {', '.join(names)}")
    if urlsplit(settings[_ENDPOINT]).scheme not in ("http", "https"):
        raise ValueError(f"{_ENDPOINT} is no http or https address")
    return lambda: OAuthBearerClient(_fetch_token(settings), _extensions(settings))


def _fetch_token(settings: Mapping[str, str]) -> str:
    from urllib.error import HTTPError  # only now: HTTP takes longer to import than all else that a connection needs
    from urllib.request import Request, urlopen

    identity = f"{quote(settings['sasl.oauthbearer.client.id'])}:{quote(settings['sasl.oauthbearer.client.secret'])}"
    fields = {"grant_type": "client_credentials"}
    if scope := settings.get("sasl.oauthbearer.scope"):
        fields["scope"] = scope
    headers = {"Authorization": f"Basic {b64encode(identity.encode()).decode()}", "Accept": "application/json"}
    request = Request(settings[_ENDPOINT], urlencode(fields).encode(), headers)  # noqa: S310 - looked at above
    trusted = settings.get("https.ca.location")
    try:
        context = ssl.create_default_context(cafile=trusted) if trusted else None
        with urlopen(request, timeout=_TOKEN_TIMEOUT_S, context=context) as answer:  # noqa: S310
            token = json.loads(answer.read(_LARGEST_ANSWER))["access_token"]
    except HTTPError as failed:
        failed.close()
        raise LoginRefusedError(f"{settings[_ENDPOINT]} gives no token: {failed}") from None
    except OSError as failed:
        raise LoginRefusedError(f"{settings[_ENDPOINT]} gives no token: {failed}") from None
    except (ValueError, KeyError, TypeError, RecursionError):
        raise LoginRefusedError(f"what {settings[_ENDPOINT]} answers has no access_token") from None
    if not isinstance(token, str):
        raise LoginRefusedError(f"what {settings[_ENDPOINT]} answers has no access_token")
    return token


def _extensions(settings: Mapping[str, str]) -> dict[str, str]:
    """Return what goes with the token: sasl.oauthbearer.extensions, as in `a=1,b=2`."""
    given = settings.get("sasl.oauthbearer.extensions", "")
    return dict(each.split("=", 1) for each in given.split(",") if "=" in each)
