"""Kafka's message schemas, API table and error codes as data, read from the tables in tests/data."""

import csv
import json
from pathlib import Path
from typing import Any, NamedTuple

DATA = Path(__file__).resolve().parents[2] / "data"

# A type as written in messages.jsonl: a primitive's name, a list of fields (a struct), or a mapping (array, nullable,
# tagged fields).
Type = str | list[Any] | dict[str, Any]


class ApiInfo(NamedTuple):
    """What framing needs to know of an API."""

    key: int
    first_flexible: int


def _read_table(name: str) -> list[dict[str, str]]:
    with (DATA / name).open(newline="") as file:
        return list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


def _read_messages() -> tuple[dict[tuple[str, int], Type], dict[str, list[int]]]:
    schemas: dict[tuple[str, int], Type] = {}
    served: dict[str, list[int]] = {}
    with (DATA / "messages.jsonl").open() as lines:
        for line in lines:
            entry = json.loads(line)
            name, version = entry["message"], entry["version"]
            schemas[name, version] = entry["fields"]
            if name.endswith("Request") and not entry.get("legacy"):
                served.setdefault(name.removesuffix("Request"), []).append(version)
    return schemas, served


SCHEMAS, _SERVED = _read_messages()

APIS = {
    row["name"]: ApiInfo(int(row["key"]), 1 << 15 if row["flexible_from"] == "-" else int(row["flexible_from"]))
    for row in _read_table("apis.tsv")
}

ERROR_NAMES = {int(row["code"]): row["name"] for row in _read_table("errors.tsv")}
_ERROR_CODES = {name: code for code, name in ERROR_NAMES.items()}


def served_versions(api: str, first: int = 0) -> list[int]:
    """Return the versions of an API that Apache Kafka 4 serves, from `first` on."""
    return [version for version in sorted(set(_SERVED[api])) if version >= first]


def known_versions(api: str) -> list[int]:
    """Return all versions of an API, with those that Apache Kafka 4 dropped."""
    return sorted(version for name, version in SCHEMAS if name == f"{api}Request")


def error_code(name: str) -> int:
    """Return the number of an error code by its name in Kafka."""
    return _ERROR_CODES[name]
