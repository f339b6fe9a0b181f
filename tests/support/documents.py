"""Holding JSON documents of the command to their description (`odradek.documents`)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from typer.main import get_command

from odradek.cli.app import application
from odradek.cli.command import document_of
from odradek.documents.document import FREE, ITSELF, LIST, OPTIONAL, Document
from odradek.documents.log_dump import ENTRIES


def check_documents(arguments: Sequence[str], output: str | bytes) -> None:
    """Fail where what a command printed with --json is not as it describes it."""
    document = described(arguments)
    assert document is not None, f"{arguments} describes no document"
    values = map(json.loads, output.splitlines()) if arguments[0] == "consume" else [json.loads(output)]
    for value in values:
        assert list(differences(document, value)) == [], arguments
        if tuple(arguments[:2]) == ("log", "dump"):
            _check_entries(value)


def _check_entries(dumped: Mapping[str, Any]) -> None:
    for file in dumped["files"]:
        known = ENTRIES.get(file.get("kind"))
        if known is None:
            continue
        for entry in file.get("entries", ()):
            assert list(differences(known, entry)) == [], file["path"]


def described(arguments: Sequence[str]) -> Document | None:
    """Return how the command of these arguments describes its document, None if it does not."""
    command: Any = get_command(application())
    for name in arguments:
        children = getattr(command, "commands", {})
        if name not in children:
            break
        command = children[name]
    return document_of(command)


def differences(document: Document, value: object, path: str = "") -> Iterator[str]:
    """Yield where a JSON value has other fields than are described, nulls or objects where none may be."""
    if not isinstance(value, Mapping):
        yield f"{path or 'the document'} is no object"
        return
    told = {name.removesuffix(OPTIONAL): (name, each) for name, each in document.items() if name != ITSELF}
    fields = {name.removesuffix(FREE).removesuffix(LIST): (name, *each) for name, each in told.items()}
    yield from (f"{path}{name} is not described" for name in value.keys() - fields.keys())
    for field, (name, declared, meaning) in fields.items():
        if field in value:
            yield from _in_field(name, meaning, value[field], path + field)
        elif not declared.endswith(OPTIONAL):
            yield f"{path}{field} is missing"


def _in_field(name: str, told: str | Document, value: object, path: str) -> Iterator[str]:
    meaning = told if isinstance(told, str) else told.get(ITSELF, "")
    if name.endswith(FREE):
        return
    if value is None:
        if "null" not in str(meaning):
            yield f"{path} is null"
        return
    if name.endswith(LIST) != isinstance(value, list):
        yield f"{path} is described as something else than it is"
        return
    for each in value if isinstance(value, list) else [value]:
        if not isinstance(told, str):
            yield from differences(told, each, f"{path}.")
        elif isinstance(each, Mapping):
            yield f"{path} has fields that are not described"
