"""What configurations there are: every broker, topic and group key of Apache Kafka 4.3, as data.

The tables stand in config/tables/*.txt, one entry per key:

    name | TYPE | default | valid values | scope or synonyms | flags
        One or more lines of text: what the key does, for the reader who has to decide on a value.

Flags: `served` (odradek acts on it), `kept` (accepted without a word, but without effect: for Apache Kafka's sake, or
because what it governs comes in a later version), `internal` (listed only when set), `non-empty` (a list that needs an
element). A key with neither of the first two is known, and setting it is answered with a warning.

A line that starts with `# ` opens a section. A default is written as in a properties file; `null` is no value at all,
and `required` means that Kafka itself does not start without it. Everything else (typed settings, validation, answers
to DescribeConfigs, the example file, the reference page) comes from here. Parsing all three takes a few milliseconds;
each is parsed on first use.

Source: the tables were read off Apache Kafka 4.3 itself, and a test holds them against Kafka's own list. The texts are
ours.
"""

import os
from collections.abc import Mapping
from enum import Enum
from functools import cache
from typing import NamedTuple

from odradek.config import rules
from odradek.config.errors import HIDDEN, ConfigError
from odradek.config.values import ConfigType, Value, parse


class UpdateMode(Enum):
    """Where a broker configuration can be changed while the broker runs (KIP-226)."""

    READ_ONLY = "read-only"
    PER_BROKER = "per-broker"
    CLUSTER_WIDE = "cluster-wide"


class Service(Enum):
    """What odradek makes of a key: it acts on it, keeps it for the sake of Apache Kafka, or does nothing with it."""

    SERVED = "served"
    KEPT = "kept"
    NOT_SERVED = ""


class Synonym(NamedTuple):
    """A broker key that a topic key falls back to; its value times `scale` has the topic key's unit."""

    name: str
    scale: int = 1

    def convert(self, text: str) -> str:
        """Return the broker key's text in the topic key's unit, as text; what is no number stays as it is."""
        try:
            return text if self.scale == 1 else str(int(text) * self.scale)
        except ValueError:
            return text


class ConfigKey(NamedTuple):
    """One configuration key; `default` is None for null, `required` keys have no default in Kafka."""

    name: str
    type: ConfigType
    default: str | None
    required: bool
    valid: str
    scope: UpdateMode
    synonyms: tuple[Synonym, ...]
    service: Service
    internal: bool
    may_be_empty: bool
    section: str
    documentation: str

    @property
    def default_text(self) -> str | None:
        """The default as it is shown: None when there is none or when it is secret."""
        return None if self.sensitive else self.default

    @property
    def sensitive(self) -> bool:
        """Whether the value must never be shown."""
        return self.type is ConfigType.PASSWORD

    def check_type(self, text: str, origin: str | None = None) -> Value:
        """Return the value as its type has it, whatever its bounds; ConfigError says what was expected of the type."""
        try:
            return parse(self.type, text)
        except ValueError as error:
            shown = HIDDEN if self.sensitive else text
            raise ConfigError(str(error), key=self.name, value=shown, origin=origin) from None

    def parse(self, text: str, origin: str | None = None) -> Value:
        """Return the typed value; ConfigError says what was expected of this key."""
        value = self.check_type(text, origin)
        shown = HIDDEN if self.sensitive else text
        if isinstance(value, tuple) and self.valid not in rules.PLAIN_LISTS:
            value = tuple(dict.fromkeys(value))  # what stands twice counts once (KIP-1161)
        problem = rules.check(self.valid, self.type, value)
        if problem is None and value == () and not self.may_be_empty:
            problem = "expected at least one element"
        if problem:
            raise ConfigError(problem, key=self.name, value=shown, origin=origin)
        return value


@cache
def broker_definitions() -> Mapping[str, ConfigKey]:
    """Return every broker key by name, in the order of the reference."""
    return _load("broker")


@cache
def topic_definitions() -> Mapping[str, ConfigKey]:
    """Return every topic key by name, in the order of the reference."""
    return _load("topic")


@cache
def group_definitions() -> Mapping[str, ConfigKey]:
    """Return every group key by name, in the order of the reference."""
    return _load("group")


@cache
def quota_definitions() -> Mapping[str, ConfigKey]:
    """Return the broker keys that exist as dynamic configuration only, by name."""
    return _load("quota")


@cache
def client_metrics_definitions() -> Mapping[str, ConfigKey]:
    """Return every key of a subscription to clients' metrics by name."""
    return _load("client_metrics")


@cache
def topic_name_of(broker_key: str) -> str | None:
    """Return the topic key that falls back to this broker key, if there is one."""
    for definition in topic_definitions().values():
        if any(synonym.name == broker_key for synonym in definition.synonyms):
            return definition.name
    return None


_SCALES = {".minutes": 60_000, ".hours": 3_600_000}


def _load(table: str) -> dict[str, ConfigKey]:
    with open(os.path.join(os.path.dirname(__file__), "tables", f"{table}.txt"), encoding="utf-8") as file:
        return _read_table(file.read())


def _read_table(text: str) -> dict[str, ConfigKey]:
    definitions: dict[str, ConfigKey] = {}
    section, row, words = "", "", [""]
    for line in [*text.splitlines(), "# "]:
        if line.startswith("    "):
            words.append(line.strip())
            continue
        if row:
            definition = _read_row(row, section, " ".join(words))
            definitions[definition.name] = definition
            row = ""
        if line.startswith("# "):
            section = line[2:]
        elif line:
            row, words = line, []
    return definitions


def _read_row(row: str, section: str, documentation: str) -> ConfigKey:
    name, kind, default, valid, reach, flags = (field.strip() for field in row.split("|"))
    given = flags.split()
    synonyms: tuple[Synonym, ...] = ()
    scope = UpdateMode.READ_ONLY
    if reach in ("per-broker", "cluster-wide"):
        scope = UpdateMode(reach)
    elif reach:
        synonyms = tuple(Synonym(one, _SCALES.get(one[one.rindex(".") :], 1)) for one in reach.split(" > "))
    service = Service.SERVED if "served" in given else Service.KEPT if "kept" in given else Service.NOT_SERVED
    return ConfigKey(
        name,
        ConfigType[kind],
        None if default in ("null", "required") else default,
        default == "required",
        valid,
        scope,
        synonyms,
        service,
        "internal" in given,
        "non-empty" not in given,
        section,
        documentation,
    )
