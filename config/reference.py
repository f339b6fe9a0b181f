"""docs/configuration.md: the reference of all configuration.

Written from the tables: `python -m odradek.config.reference > docs/configuration.md`. A test holds the file in the
repository equal to this.
"""

import re
import sys
import textwrap
from collections.abc import Iterable

from odradek.config.definitions import (
    ConfigKey,
    Service,
    UpdateMode,
    broker_definitions,
    topic_definitions,
    topic_name_of,
)
from odradek.config.listeners import FIXED_AT_START
from odradek.config.own_keys import OWN_KEYS
from odradek.config.rules import describe

HEADER = """\
# Configuration

<!-- Made from the tables in config/tables by `python -m odradek.config.reference > docs/configuration.md`. -->

odradek is configured like Apache Kafka 4.3: the same `server.properties`, the same names, defaults and meanings.

    odradek serve [server.properties] [--override key=value ...]

Without a file the broker listens on 127.0.0.1:9092 and keeps its data in `./odradek-data`. With one, what the file does
not say has Kafka's default; only `node.id` (1) and `process.roles` (`broker,controller`), which Kafka insists on, may
be missing. `--override` wins over the file. `server.properties.example` is a file to start from.

A value that cannot be used keeps the broker from starting, with one sentence that says where it stands (file and line),
what it is and what was expected. A key that has no effect is a warning: misspelt (with the nearest name), removed from
Kafka, a topic's rather than the broker's, or one of those that odradek does not serve (listed at the end).

What can be changed while the broker runs is changed as in Kafka, with `kafka-configs` or any admin client: for one
broker, or for all (`--entity-default`); what was set for one broker wins over what was set for all, and both win over
the file. Such changes are kept over a restart. Topics are configured one by one; a topic that has no value of its own
takes the broker's.
"""
KEPT = """\
## Accepted without effect

These keys are read, checked and shown like any other, but nothing follows from them in this version: either they tune
something that odradek does not have (threads, other controllers), or what they govern (retention and compaction in the
background) comes in a later version. Values set now count from then on.
"""
OWN = """\
## Beyond Kafka's table

Keys that Kafka's authorizer reads for itself, and keys of odradek's own. They are read at start.
"""
TOPICS = """\
## Configuration of topics

Given when a topic is created, or changed later. A topic without a value of its own takes the first of its broker keys
that is set.
"""
NOT_SERVED = """\
## Not served

Kafka knows these keys, odradek does nothing with them; setting one is answered with a warning at start.
"""
_NAMES = (
    r"[a-z][a-z0-9_]*(?:\.(?:[a-z0-9_]+|<name>))+|__\w+-\d+|\b[A-Z]+(?:_[A-Z]+)+\b|[A-Z]+:(?://\S+|[A-Z]+)\b|\[::\]"
)
UNITS = "Keys that end in `.ms`, `.minutes`, `.hours`, `.seconds` are times, those in `.bytes` sizes in bytes."


def render() -> str:
    """Return the content of docs/configuration.md."""
    broker = [one for one in broker_definitions().values() if not one.internal]
    parts = [HEADER, f"{UNITS}\n"]
    for section, entries in _sections(one for one in broker if one.service is Service.SERVED):
        parts.append(f"## {section}\n")
        parts += [_broker_entry(definition) for definition in entries]
    parts += [OWN, *(_own_entry(name, text) for name, text in OWN_KEYS.items())]
    parts += [TOPICS, *(_topic_entry(one) for one in topic_definitions().values() if _listed(one))]
    parts += [KEPT, _table(one for one in broker if one.service is Service.KEPT)]
    parts.append(NOT_SERVED)
    for section, entries in _sections(one for one in broker if one.service is Service.NOT_SERVED):
        names = ", ".join(f"`{one.name}`" for one in entries)
        parts.append(_wrap(f"**{section}**: {names}") + "\n")
    return "\n".join(parts)


def _listed(definition: ConfigKey) -> bool:
    return not definition.internal and definition.service is not Service.NOT_SERVED


def _sections(definitions: Iterable[ConfigKey]) -> list[tuple[str, list[ConfigKey]]]:
    sections: dict[str, list[ConfigKey]] = {}
    for definition in definitions:
        sections.setdefault(definition.section, []).append(definition)
    return list(sections.items())


def _broker_entry(definition: ConfigKey) -> str:
    facts = _facts(definition)
    topic = topic_name_of(definition.name)
    if topic:
        facts.append(f"for one topic `{topic}`")
    if definition.scope is UpdateMode.CLUSTER_WIDE:
        facts.append("can be changed while the broker runs")
    elif definition.scope is UpdateMode.PER_BROKER and definition.name not in FIXED_AT_START:
        facts.append("can be changed for one broker while it runs")
    return _entry(definition, facts)


def _own_entry(name: str, text: str) -> str:
    return f"### `{name}`\n\n{_wrap(text)}\n"


def _topic_entry(definition: ConfigKey) -> str:
    facts = _facts(definition)
    if definition.synonyms:
        facts.append("broker: " + ", ".join(f"`{one.name}`" for one in definition.synonyms))
    if definition.service is Service.KEPT:
        facts.append("accepted without effect in this version")
    return _entry(definition, facts)


def _facts(definition: ConfigKey) -> list[str]:
    default = "none" if definition.default is None else f"`{definition.default}`" if definition.default else "empty"
    facts = [definition.type.name.lower(), f"default {default}"]
    expected = describe(definition.valid)
    return [*facts, expected] if expected else facts


def _entry(definition: ConfigKey, facts: list[str]) -> str:
    text, about = _wrap(_code(definition.documentation)), _wrap(f"*{'; '.join(facts)}*")
    return f"### `{definition.name}`\n\n{text}\n\n{about}\n"


def _table(definitions: Iterable[ConfigKey]) -> str:
    rows = ["| key | type | default | |", "|---|---|---|---|"]
    for one in definitions:
        default = "" if one.default is None else f"`{one.default}`"
        rows.append(f"| `{one.name}` | {one.type.name.lower()} | {default} | {_code(one.documentation)} |")
    return "\n".join(rows) + "\n"


def _code(text: str) -> str:
    """Return the text with names of keys, files and errors set as code."""
    return re.sub(_NAMES, r"`\g<0>`", text)


def _wrap(text: str) -> str:
    return "\n".join(textwrap.wrap(text, 120, break_long_words=False, break_on_hyphens=False))


if __name__ == "__main__":
    sys.stdout.write(render())
