"""The form in which documents are described: names of fields with their meaning, nested as the document is. Pure data.

    {"topics[]": {"name": "its name", "configs{}": "what is set on it", "problem?": "where there is one"}}

`name[]` is a list, `name{}` any object or value, `name?` is not always there; every other name always is. What can be
null says so in its meaning. The meaning of an object itself has the name "".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeAlias

Document: TypeAlias = "Mapping[str, str | Document]"

LIST, FREE, OPTIONAL, ITSELF = "[]", "{}", "?", ""


def field_rows(document: Document, prefix: str = "") -> Iterator[tuple[str, str]]:
    """Yield the path of each field, as `topics[].name`, and its meaning; an object without a meaning has no row."""
    for name, told in document.items():
        if name == ITSELF:
            continue
        path = prefix + name.removesuffix(OPTIONAL)
        meaning = told if isinstance(told, str) else meaning_of(told)
        if meaning:
            yield path.removesuffix(FREE), meaning
        if not isinstance(told, str):
            yield from field_rows(told, f"{path}.")


def meaning_of(document: Document) -> str:
    """Return what is said of an object itself, nothing if it explains itself."""
    meaning = document.get(ITSELF, "")
    assert isinstance(meaning, str)
    return meaning
