"""The file behind --command-config: client settings by Kafka's names, as librdkafka takes them.

Java's names are translated (`client.settings`); a name that librdkafka does not know is refused by it, and put into
words here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from odradek.client.settings import SettingError, librdkafka_names
from odradek.config.errors import ConfigError
from odradek.config.properties import read_properties
from odradek.terminal.errors import WrongUsageError

_UNKNOWN = re.compile(r'No such configuration property: "(?P<name>[^"]*)"')


def read_client_settings(path: Path) -> dict[str, str]:
    """Return the settings in a file, as librdkafka names them; WrongUsageError where that cannot be."""
    try:
        properties = read_properties(str(path))
    except ConfigError as wrong:
        raise WrongUsageError(str(wrong)) from None
    try:
        return librdkafka_names({each.key: each.value for each in properties})
    except SettingError as wrong:
        line = next((f":{each.line}" for each in properties if each.key == wrong.key), "")
        raise WrongUsageError(f"{path}{line}: {wrong}") from None


def translated(settings: Mapping[str, str], origin: str) -> dict[str, str]:
    """Return settings by librdkafka's names; WrongUsageError, with their origin, for one that is Java's alone."""
    try:
        return librdkafka_names(settings)
    except SettingError as wrong:
        raise WrongUsageError(f"{origin}: {wrong}") from None


def refusal(reason: str) -> str:
    """Put into words why librdkafka did not take settings."""
    unknown = _UNKNOWN.search(reason)
    if unknown is None:
        return f"the client settings cannot be used: {reason}"
    return (
        f"{unknown['name']} is no setting of this Kafka client (librdkafka); take it out of --command-config, -X or "
        "the profile, or use librdkafka's name for it"
    )
