"""What a configuration leaves open: who could read, listen to or do what he should not.

Pure but for a look at the permissions of the files that it names. `odradek serve` says it at start, as far as strangers
on the network are concerned, `odradek secure check` says all of it.
"""

import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from enum import IntEnum
from typing import Final, NamedTuple

from odradek.config.errors import ConfigError
from odradek.config.http_listener import HttpListener
from odradek.config.layers import is_secret
from odradek.config.listeners import Listener
from odradek.config.own_keys import ALLOW_WITHOUT, AUDIT_LOG, HTTP_LISTENER, SUPER_USERS, USERS_FILE
from odradek.config.properties import read_properties
from odradek.config.settings import BrokerSettings

AUTHORIZER: Final = "authorizer.class.name"
_FILES: Final = ("ssl.keystore.location", USERS_FILE)
_JAAS: Final = "sasl.jaas.config"


class Danger(IntEnum):
    """How bad it is."""

    OPEN = 1
    """Whoever reaches the port, or this machine, can do it."""
    WEAK = 2
    """It takes more than that, or something else has to go wrong first."""


class Exposure(NamedTuple):
    """One thing that is open, and what closes it."""

    danger: Danger
    subject: str
    """A listener, a key or a file."""
    problem: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.subject}: {self.problem}; {self.remedy}"


def find_exposures(settings: BrokerSettings, path: str | None = None) -> list[Exposure]:
    """Return what is open, the worst first. `path` is the file of the settings, if there is one."""
    found = [
        *_open_listeners(settings),
        *_weak_listeners(settings),
        *_metrics(settings),
        *_rights(settings),
        *find_readable(settings, path),
    ]
    return sorted(found, key=lambda one: one.danger)


def find_open_listeners(settings: BrokerSettings) -> list[Exposure]:
    """Return what strangers on the network can do without more ado: the part of it that a start speaks of."""
    return list(_open_listeners(settings))


def find_readable(settings: BrokerSettings, path: str | None = None) -> list[Exposure]:
    """Return the files with secrets that others on this machine can read."""
    files = _files_of_secrets(settings, path)
    for key, text in settings.effective.items():
        if key.endswith(_FILES) and text:
            files[text] = f"{key} names it"
        elif key.endswith(_JAAS) and (keytab := _keytab(key, text)):
            files[keytab] = f"{key} names it"
    return [
        Exposure(
            Danger.WEAK,
            name,
            f"{why}, and every user of this machine can {what} it",
            f"chmod 600 {name}",
        )
        for name, why in files.items()
        if (what := _others_can(name)) is not None
    ]


def is_beyond_this_machine(listener: Listener | HttpListener) -> bool:
    """Whether a listener can be reached from other machines."""
    host = listener.host
    return not (host.startswith("127.") or host in ("localhost", "::1", "0:0:0:0:0:0:0:1"))


def _open_listeners(settings: BrokerSettings) -> Iterator[Exposure]:
    for listener in settings.all_listeners:
        if not is_beyond_this_machine(listener):
            continue
        asks = listener.uses_sasl or _wants_certificates(settings, listener)
        missing = [
            text for text, is_there in (("encryption", listener.uses_tls), ("authentication", asks)) if not is_there
        ]
        if missing:
            what = (
                "everybody who reaches it can do everything that is not forbidden to strangers"
                if not asks
                else ("everybody on the way can read and change what is said")
            )
            yield Exposure(
                Danger.OPEN,
                f"listener {listener}",
                f"it has no {' and no '.join(missing)}: {what}",
                "listen on 127.0.0.1, or run `odradek secure init` for keys, users and the lines of a configuration",
            )


def _weak_listeners(settings: BrokerSettings) -> Iterator[Exposure]:
    for listener in settings.all_listeners:
        read, subject = settings.of_listener(listener.name), f"listener {listener}"
        if listener.protocol == "SASL_PLAINTEXT" and "PLAIN" in read.elements("sasl.enabled.mechanisms"):
            danger = Danger.OPEN if is_beyond_this_machine(listener) else Danger.WEAK
            yield Exposure(danger, subject, "passwords of PLAIN go over it unencrypted", "use SASL_SSL, or SCRAM")
        if listener.uses_tls and not read.text("ssl.endpoint.identification.algorithm"):
            yield Exposure(
                Danger.WEAK,
                subject,
                "nodes that connect to each other do not check whose certificate they are shown",
                "remove ssl.endpoint.identification.algorithm, and give certificates the names of their hosts",
            )
        if listener.uses_tls and any(
            one not in ("TLSv1.2", "TLSv1.3") for one in read.elements("ssl.enabled.protocols")
        ):
            yield Exposure(
                Danger.OPEN, subject, "it speaks versions of TLS that are broken", "remove ssl.enabled.protocols"
            )


def _metrics(settings: BrokerSettings) -> Iterator[Exposure]:
    listener = settings.http_listener
    if listener is not None and is_beyond_this_machine(listener):
        yield Exposure(
            Danger.WEAK,
            HTTP_LISTENER,
            "whoever reaches it reads the metrics, names of topics and groups among them, without a password",
            "listen on 127.0.0.1, or let a proxy ask who it is",
        )


def _rights(settings: BrokerSettings) -> Iterator[Exposure]:
    values = settings.effective
    if not values.get(AUTHORIZER):
        yield Exposure(
            Danger.WEAK,
            AUTHORIZER,
            "is not set: everybody who is let in may do everything",
            f"set it to org.apache.kafka.metadata.authorizer.StandardAuthorizer, and {SUPER_USERS}",
        )
        return
    if values.get(ALLOW_WITHOUT, "").strip().lower() == "true":
        yield Exposure(
            Danger.WEAK, ALLOW_WITHOUT, "everybody may do everything to what no ACL is about", "set it to false"
        )
    if "User:ANONYMOUS" in [one.strip() for one in values.get(SUPER_USERS, "").split(";")]:
        open_ones = [
            one for one in settings.all_listeners if not one.uses_sasl and not _wants_certificates(settings, one)
        ]
        if open_ones:
            names = ", ".join(one.name for one in open_ones)
            yield Exposure(
                Danger.OPEN if any(map(is_beyond_this_machine, open_ones)) else Danger.WEAK,
                SUPER_USERS,
                f"who connects to {names} is User:ANONYMOUS, who may do everything",
                "let nodes log in, or show certificates, and name these",
            )
    if not values.get(AUDIT_LOG):
        yield Exposure(Danger.WEAK, AUDIT_LOG, "is not set: what administrators change is not told", "set it to a file")


def _wants_certificates(settings: BrokerSettings, listener: Listener) -> bool:
    return listener.uses_tls and settings.of_listener(listener.name).text("ssl.client.auth") == "required"


def _files_of_secrets(settings: BrokerSettings, path: str | None) -> dict[str, str]:
    """Return the files that secrets of the configuration stand in, its own or those of providers, and why."""
    if path is None or not any(map(is_secret, settings.values)):
        return {}  # as with hardly any file, which is not read again for it
    from odradek.config.providers import files_of_references, is_reference

    files: dict[str, str] = {}
    for key, text, _ in read_properties(path):
        if text and is_secret(key):
            if not is_reference(text, settings.values):
                files[path] = "the configuration has secrets"
            files.update((name, f"{key} stands in it") for name in files_of_references(text, settings.values))
    return files


def _keytab(key: str, text: str) -> str | None:
    from odradek.config.jaas import parse_jaas  # hardly a start has an entry

    with suppress(ConfigError):  # what is wrong in it is said where it is used
        return parse_jaas(text, key, None).options.get("keyTab", "").removeprefix("file://")
    return None


def _others_can(path: str) -> str | None:
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return None
    if mode & stat.S_IWOTH:
        return "change"
    return "read" if mode & stat.S_IROTH else None
