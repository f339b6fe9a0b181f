"""Settings of a container: from environment variables, and what stands where nobody said anything. Pure.

Variables are those of Apache Kafka's own image: `KAFKA_` and the key in capitals, `_` for a dot, `__` for an
underscore, `___` for a hyphen. Source: Kafka 4.3's KafkaDockerWrapper.
"""

from __future__ import annotations

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

_ID: Final = re.compile(r"[A-Za-z0-9_-]{22}\Z")
_DATA: Final = "/var/lib/odradek"
_LISTENERS, _ADVERTISED = "PLAINTEXT://0.0.0.0:9092", "PLAINTEXT://localhost:9092"


class VariableSetting(NamedTuple):
    """A setting from a variable."""

    key: str
    value: str
    variable: str


def settings_of(environment: Mapping[str, str]) -> Iterator[VariableSetting]:
    """Yield the settings that variables stand for, in the order of their names."""
    for variable in sorted(environment):
        name = variable.removeprefix(PREFIX)
        if variable.startswith(PREFIX) and name and variable not in NOT_KEYS:
            yield VariableSetting(_key(name), environment[variable].strip(), variable)


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


def _key(name: str) -> str:
    """Return the key of a variable without its prefix; longer runs of underscores go before shorter ones."""
    return name.lower().replace("_", ".").replace("...", "-").replace("..", "_")
