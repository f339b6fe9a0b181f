"""Who may do what, as far as the settings say: Kafka's authorizer, its super users, its default, and the audit log.

Owns: reading these keys; some of them are not in Kafka's table, since its authorizer reads them for itself. Kafka's
StandardAuthorizer is what there is (KIP-801): a file that names another one must not be served by a broker that lets
people do what that one would refuse, so it is refused at start.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from odradek.config.errors import ConfigError
from odradek.config.own_keys import ALLOW_WITHOUT, AUDIT_LOG, SUPER_USERS

AUTHORIZER: Final = "authorizer.class.name"

STANDARD: Final = frozenset({"org.apache.kafka.metadata.authorizer.StandardAuthorizer"})
_OF_ZOOKEEPER: Final = frozenset({"kafka.security.authorizer.AclAuthorizer", "kafka.security.auth.SimpleAclAuthorizer"})


class AuthorizationSettings(NamedTuple):
    """What the settings say."""

    is_on: bool = False
    """Whether there is an authorizer at all; without one everybody may do everything."""
    super_users: frozenset[str] = frozenset()
    allow_without: bool = False
    audit_log: str | None = None


def read_authorization(values: Mapping[str, str], origins: Mapping[str, str]) -> AuthorizationSettings:
    """Return what the given texts say.

    Raises:
        ConfigError: the authorizer is none that there is, or a super user is no principal.
    """
    name = values.get(AUTHORIZER, "").strip()

    def wrong(key: str, reason: str) -> ConfigError:
        return ConfigError(reason, key=key, value=values.get(key), origin=origins.get(key))

    if name in _OF_ZOOKEEPER:
        raise wrong(AUTHORIZER, f"kept its ACLs in ZooKeeper; use {next(iter(STANDARD))}")
    if name and name not in STANDARD:
        raise wrong(AUTHORIZER, f"is no authorizer that there is here; expected {next(iter(STANDARD))}, or none")
    return AuthorizationSettings(
        is_on=bool(name),
        super_users=_super_users(values.get(SUPER_USERS, ""), origins.get(SUPER_USERS)) if name else frozenset(),
        allow_without=values.get(ALLOW_WITHOUT, "").strip().lower() == "true",
        audit_log=values.get(AUDIT_LOG, "").strip() or None,
    )


def _super_users(text: str, origin: str | None) -> frozenset[str]:
    found = frozenset(part.strip() for part in text.split(";")) - {""}
    for one in found:
        kind, colon, _ = one.partition(":")
        if not colon or not kind:
            raise ConfigError(
                f"expected principals such as User:admin, divided by ;, and {one!r} is none",
                key=SUPER_USERS,
                value=text,
                origin=origin,
            )
    return found
