"""What the tests of the declarations share: every declared message, and Kafka's own tables."""

import csv
import json
import pkgutil
from collections import defaultdict
from functools import cache
from importlib import import_module
from pathlib import Path

from odradek.protocol import messages
from odradek.protocol.codec import Message

DATA = Path(__file__).parents[2] / "data"


@cache
def declared_messages() -> dict[str, type[Message]]:
    """All messages of all modules, by Kafka's name."""
    found = {}
    for module in pkgutil.iter_modules(messages.__path__):
        for value in vars(import_module(f"odradek.protocol.messages.{module.name}")).values():
            if isinstance(value, type) and issubclass(value, Message) and value is not Message:
                found[value.__name__] = value
    return found


def versions_of(cls: type[Message]) -> range:
    """The versions a message exists in."""
    return range(cls.SCHEMA.versions.first, cls.SCHEMA.versions.last + 1)


MESSAGE_VERSIONS = [(cls, version) for cls in declared_messages().values() for version in versions_of(cls)]


def version_id(value: object) -> str:
    """How a test parameter is written in a test's name."""
    return value.__name__ if isinstance(value, type) else f"v{value}"


@cache
def kafka_messages() -> dict[str, dict[int, list[object]]]:
    """The fields of every message at every version, as Kafka 4.3 prints them (and 3.9 the versions that 4 removed)."""
    fields: dict[str, dict[int, list[object]]] = defaultdict(dict)
    for line in (DATA / "messages.jsonl").read_text().splitlines():
        row = json.loads(line)
        fields[row["message"]][row["version"]] = row["fields"]
    return fields


def rows(name: str) -> list[dict[str, str]]:
    """The rows of one of Kafka's tables."""
    with (DATA / name).open(newline="") as file:
        return list(csv.DictReader(file, delimiter="\t"))
