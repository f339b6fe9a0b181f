"""Settings of a container: from environment variables, and what stands where nobody said anything.

Pure but for passwords that variables name the files of.

Variables are those of Apache Kafka's own image: `KAFKA_` and the key in capitals, `_` for a dot, `__` for an
underscore, `___` for a hyphen. Source: Kafka 4.3's KafkaDockerWrapper.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from odradek.config.errors import ConfigError

PREFIX: Final = "KAFKA_"
CLUSTER_ID: Final = "CLUSTER_ID"
"""The variable with the id of the cluster, for directories that do not say of which they are."""
MOUNTED: Final = "/mnt/shared/config/server.properties"
"""Where Apache Kafka's image looks for a file of settings."""
LISTENERS_FILE: Final = "/tmp/odradek-listeners"  # noqa: S108  a container's own
"""Where the broker says what it listens on, for the health check."""
LISTENERS_FILE_VARIABLE: Final = "ODRADEK_LISTENERS_FILE"
"""The variable that names another place for it."""
DEFAULT: Final = "container default"

NOT_KEYS: Final = frozenset(
    {
        "KAFKA_VERSION",
        "KAFKA_HEAP_OPTS",
        "KAFKA_LOG4J_OPTS",
        "KAFKA_OPTS",
        "KAFKA_JMX_OPTS",
        "KAFKA_JVM_PERFORMANCE_OPTS",
        "KAFKA_GC_LOG_OPTS",
        "KAFKA_LOG4J_ROOT_LOGLEVEL",
        "KAFKA_LOG4J_LOGGERS",
        "KAFKA_TOOLS_LOG4J_LOGLEVEL",
        "KAFKA_JMX_HOSTNAME",
    }
)
"""Variables of Apache Kafka's image that are for Java."""

SECRETS: Final = "/etc/kafka/secrets"
"""Where Apache Kafka's image has key stores and their passwords."""
_FILES: Final = {
    "SSL_KEYSTORE_FILENAME": "ssl.keystore.location",
    "SSL_TRUSTSTORE_FILENAME": "ssl.truststore.location",
}
_IN_FILES: Final = {
    "SSL_KEYSTORE_CREDENTIALS": "ssl.keystore.password",
    "SSL_KEY_CREDENTIALS": "ssl.key.password",
    "SSL_TRUSTSTORE_CREDENTIALS": "ssl.truststore.password",
}
_LONGEST_SECRET: Final = 64 * 1024
_ID: Final = re.compile(r"[A-Za-z0-9_-]{22}\Z")
_DATA: Final = "/var/lib/odradek"
_LISTENERS, _ADVERTISED = "PLAINTEXT://0.0.0.0:9092", "PLAINTEXT://localhost:9092"


class VariableSetting(NamedTuple):
    """A setting from a variable."""

    key: str
    value: str
    variable: str


def settings_of(environment: Mapping[str, str], secrets: str = SECRETS) -> Iterator[VariableSetting]:
    """Yield the settings that variables stand for, in the order of their names.

    Raises ConfigError where the file of a password cannot be read, which is in the directory `secrets`.
    """
    for variable in sorted(environment):
        name, value = variable.removeprefix(PREFIX), environment[variable].strip()
        if not variable.startswith(PREFIX) or not name or variable in NOT_KEYS:
            continue
        if name in _IN_FILES:
            value = _read_secret(variable, os.path.join(secrets, value))
        elif name in _FILES:
            value = os.path.join(secrets, value)
        yield VariableSetting(_FILES.get(name) or _IN_FILES.get(name) or _key(name), value, variable)


def container_defaults(given: Mapping[str, str]) -> dict[str, str]:
    """Return what a container has where it is not given: the volume, and listeners for clients on the host.

    Who says anything of listeners says all of it.
    """
    found = {}
    if "log.dirs" not in given and "log.dir" not in given:
        found["log.dirs"] = _DATA
    roles = [role.strip() for role in given.get("process.roles", "broker").split(",")]
    if "broker" in roles and "listeners" not in given:
        found["listeners"] = _LISTENERS
        if "advertised.listeners" not in given:
            found["advertised.listeners"] = _ADVERTISED
    return found


def given_cluster_id(environment: Mapping[str, str]) -> str | None:
    """Return the id of the cluster that a variable names. Raises ConfigError where it is none."""
    text = environment.get(CLUSTER_ID, "").strip()
    if text and not _ID.match(text):
        raise ConfigError(
            "expected 22 letters and digits, - and _ among them, as of kafka-storage random-uuid",
            key=CLUSTER_ID,
            value=text,
            origin="environment",
        )
    return text or None


def _read_secret(variable: str, path: str) -> str:
    try:
        with open(path, encoding="utf-8") as file:
            return file.read(_LONGEST_SECRET).strip()
    except (OSError, ValueError) as failed:
        reason = failed.strerror if isinstance(failed, OSError) else "it is no text"
        raise ConfigError(f"{path} cannot be read: {reason}", key=variable, origin="environment") from None


def _key(name: str) -> str:
    """Return the key of a variable without its prefix; longer runs of underscores go before shorter ones."""
    return name.lower().replace("_", ".").replace("...", "-").replace("..", "_")
