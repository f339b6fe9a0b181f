"""Settings of clients by Java's names, as users have them in a client.properties, translated to librdkafka's.

Most names are the same. What Java keeps in `sasl.jaas.config` and in stores of type PEM has other names; stores of
other types are Java's alone. The one translation, for the command, the jobs and the sources for Spark.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from odradek.config.errors import ConfigError
from odradek.config.jaas import parse_jaas

_JAAS: Final = "sasl.jaas.config"
_WITH_ACCOUNT: Final = ("PlainLoginModule", "ScramLoginModule")
_WITH_TOKEN: Final = "OAuthBearerLoginModule"
_CALLBACK: Final = "sasl.login.callback.handler.class"
_STORES: Final = (("truststore", "ssl.ca.location"), ("keystore", "ssl.certificate.location"))
_INLINE: Final = {
    "ssl.truststore.certificates": "ssl.ca.pem",
    "ssl.keystore.certificate.chain": "ssl.certificate.pem",
    "ssl.keystore.key": "ssl.key.pem",
}


class SettingError(ValueError):
    """A setting that cannot be used: `key` names it, `reason` says why, and neither has its value."""

    def __init__(self, key: str, reason: str) -> None:
        self.key = key
        self.reason = reason
        super().__init__(f"{key}: {reason}")


def librdkafka_names(settings: Mapping[str, str]) -> dict[str, str]:
    """Return the same settings by librdkafka's names.

    Raises:
        SettingError: one of them can only be used by Java's clients.
    """
    found = dict(settings)
    if found.get("ssl.endpoint.identification.algorithm") == "":
        found["ssl.endpoint.identification.algorithm"] = "none"
    for store, target in _STORES:
        _translate_store(found, store, target)
    for name, ours in _INLINE.items():
        if (text := found.pop(name, None)) is not None:
            found.setdefault(ours, text)
    if (login := found.pop(_JAAS, None)) is not None:
        found |= _account(login)
        if "sasl.oauthbearer.method" in found:
            found.pop(_CALLBACK, None)  # what fetches the token in Java
    return found


def _translate_store(settings: dict[str, str], store: str, target: str) -> None:
    location = settings.pop(f"ssl.{store}.location", None)
    kind = settings.pop(f"ssl.{store}.type", "JKS" if location else "PEM").upper()
    if kind != "PEM":
        reason = f"only stores of type PEM can be read here, not {kind}; convert it and set ssl.{store}.type=PEM"
        raise SettingError(f"ssl.{store}.location", reason)
    if location is not None:
        settings.setdefault(target, location)
        if store == "keystore":
            settings.setdefault("ssl.key.location", location)


def _account(login: str) -> dict[str, str]:
    try:
        entry = parse_jaas(login, _JAAS)
    except ConfigError as wrong:
        raise SettingError(_JAAS, wrong.reason) from None
    names = {"sasl.username": "username", "sasl.password": "password"}
    if entry.module_name == _WITH_TOKEN:
        names = {"sasl.oauthbearer.client.id": "clientId", "sasl.oauthbearer.client.secret": "clientSecret"}
    elif entry.module_name not in _WITH_ACCOUNT:
        names = {}
    if not names or not all(name in entry.options for name in names.values()):
        raise SettingError(
            _JAAS,
            "understood are PlainLoginModule and ScramLoginModule with username and password, and"
            " OAuthBearerLoginModule with clientId and clientSecret; for others set sasl.username and sasl.password, or"
            " librdkafka's sasl.oauthbearer settings",
        )
    found = {name: entry.options[theirs] for name, theirs in names.items()}
    if entry.module_name == _WITH_TOKEN:
        found["sasl.oauthbearer.method"] = "oidc"
        if "scope" in entry.options:
            found["sasl.oauthbearer.scope"] = entry.options["scope"]
    return found
