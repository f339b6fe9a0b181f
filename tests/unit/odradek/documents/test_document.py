"""Descriptions of JSON documents, and what holds documents to them."""

from typing import Any

import pytest
from typer.main import get_command

from odradek.cli.app import application
from odradek.documents.document import Document, field_rows
from tests.support.documents import described, differences

DOCUMENT: Document = {
    "": "of a test",
    "name": "its name",
    "size": "bytes; null if unknown",
    "tags[]": "words",
    "configs{}": "any",
    "parts[]?": {"": "the parts", "number": "of it"},
    "end": {"": "where it ends, or null", "at": "byte"},
}
WHOLE = {"name": "n", "size": 1, "tags": ["a"], "configs": {"x": 1}, "parts": [{"number": 1}], "end": {"at": 1}}
WRITE_LINES_OF_PROGRESS = {("pipeline", "archive"), ("pipeline", "wordcount"), ("pipeline", "relay")}
"""docs/pipeline.md has them."""


def test_rows_have_the_path_of_each_field() -> None:
    """Nested fields stand below what they are in; what an object is comes before its fields."""
    assert dict(field_rows(DOCUMENT)) == {
        "name": "its name",
        "size": "bytes; null if unknown",
        "tags[]": "words",
        "configs": "any",
        "parts[]": "the parts",
        "parts[].number": "of it",
        "end": "where it ends, or null",
        "end.at": "byte",
    }


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({}, []),
        ({"size": None, "end": None, "configs": None}, []),
        ({"parts": []}, []),
        ({"other": 1}, ["other is not described"]),
        ({"name": None}, ["name is null"]),
        ({"name": {"x": 1}}, ["name has fields that are not described"]),
        ({"tags": "a"}, ["tags is described as something else than it is"]),
        ({"size": [1]}, ["size is described as something else than it is"]),
        ({"parts": [{"number": 1}, {}]}, ["parts.number is missing"]),
        ({"parts": [1]}, ["parts. is no object"]),
        ({"end": {"at": 1, "to": 2}}, ["end.to is not described"]),
    ],
)
def test_a_document_that_is_not_as_described_is_told(change: dict[str, Any], expected: list[str]) -> None:
    """Missing fields, others, nulls that nobody announced, and objects in place of values, on every level."""
    assert list(differences(DOCUMENT, {**WHOLE, **change})) == expected


def test_only_what_may_be_missing_may_be_missing() -> None:
    """A field without `?` is always there."""
    assert list(differences(DOCUMENT, {name: WHOLE[name] for name in WHOLE if name not in ("parts", "name")})) == [
        "name is missing"
    ]


def _commands(command: Any, path: tuple[str, ...] = ()) -> list[tuple[tuple[str, ...], Any]]:
    children = getattr(command, "commands", {})
    return (
        [(path, command)]
        if not children
        else [found for name, child in children.items() for found in _commands(child, (*path, name))]
    )


def test_every_command_with_json_describes_its_document() -> None:
    """Nobody has to guess what --json prints."""
    for path, command in _commands(get_command(application())):
        if path not in WRITE_LINES_OF_PROGRESS and any(each.name == "json" for each in command.params):
            assert described(path), path
