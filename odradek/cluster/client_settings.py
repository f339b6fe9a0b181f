"""The file behind --command-config: client settings by Kafka's names, as librdkafka takes them.

Most names are the same in Kafka's Java clients and librdkafka. What Java keeps in `sasl.jaas.config` is translated; a
name that librdkafka does not know is refused by it, and put into words here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from odradek.config.errors import ConfigError
from odradek.config.jaas import parse_jaas
from odradek.config.properties import Property, read_properties
from odradek.terminal.errors import WrongUsageError

_JAAS = "sasl.jaas.config"
_JAAS_MODULES = ("PlainLoginModule", "ScramLoginModule")

_UNKNOWN = re.compile(r'No such configuration property: "(?P<name>[^"]*)"')


def read_client_settings(path: Path) -> dict[str, str]:
    """Return the settings in a file, as librdkafka names them; WrongUsageError where that cannot be."""
    try:
        properties = read_properties(str(path))
        settings: dict[str, str] = {}
        for each in properties:
            settings.update(_translated(each, str(path)))
    except ConfigError as wrong:
        raise WrongUsageError(str(wrong)) from None
    return settings


def refusal(reason: str, settings: Mapping[str, str]) -> str:
    """Put into words why librdkafka did not take settings."""
    unknown = _UNKNOWN.search(reason)
    if unknown is None:
        return f"the client settings cannot be used: {reason}"
    name = unknown["name"]
    given = " in --command-config" if name in settings else ""
    return f"{name}{given} is no setting of this Kafka client (librdkafka); remove it, or use librdkafka's name for it"


def _translated(entry: Property, path: str) -> dict[str, str]:
    if entry.key != _JAAS:
        return {entry.key: entry.value}
    origin = f"{path}:{entry.line}"
    login = parse_jaas(entry.value, _JAAS, origin)
    values = login.options
    if login.module_name not in _JAAS_MODULES or not values.keys() >= {"username", "password"}:
        raise ConfigError(
            "only PlainLoginModule and ScramLoginModule with username and password are understood; "
            "set sasl.username and sasl.password instead",
            key=_JAAS,
            origin=origin,
        )
    return {"sasl.username": values["username"], "sasl.password": values["password"]}
