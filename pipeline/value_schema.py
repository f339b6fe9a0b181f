"""Schemas of JSON values, as Spark and Delta Lake write them: what of that an archive can hold, and how they grow.

A schema is a dict `{"type": "struct", "fields": [{"name", "type", "nullable", "metadata"}, ...]}`; a type is a name, or
a dict with the type `struct`, `array` (`elementType`) or `map` (`keyType`, `valueType`). All fields may be null.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from odradek.pipeline.errors import WrongOptionError

if TYPE_CHECKING:
    import pyarrow as pa

JsonType: TypeAlias = "str | dict[str, Any]"
ValueSchema: TypeAlias = dict[str, Any]

_NUMBERS: Final = ("byte", "short", "integer", "long", "float", "double")
PLAIN: Final = (*_NUMBERS, "boolean", "string", "binary", "date", "timestamp")
MAX_BYTES: Final = 1 << 20
MAX_FIELDS: Final = 5_000
MAX_DEPTH: Final = 50
UNFIT: Final = "_odradek_unfit"
"""A field that Spark fills while it reads JSON, and that no schema may have."""
_DECIMAL: Final = re.compile(r"decimal\((\d{1,2}), ?(\d{1,2})\)")
MAX_PRECISION: Final = 38


def schema_from_json(text: bytes, name: str) -> ValueSchema:
    """Return a schema that somebody wrote; `name` is where it is from. Raises WrongOptionError."""
    if len(text) > MAX_BYTES:
        raise WrongOptionError(f"{name} has more than {MAX_BYTES:,} bytes, which no schema needs")
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as wrong:
        raise WrongOptionError(f"{name} is no JSON: {wrong}") from wrong
    return checked(found, name)


def checked(found: Any, name: str) -> ValueSchema:
    """Return a schema in one form, with all fields nullable. Raises WrongOptionError for what is none."""
    schema = _Check(name).type(found, (), 0)
    if not isinstance(schema, dict) or schema["type"] != "struct":
        raise WrongOptionError(
            f"{name} must be a schema of Spark in JSON, an object with type struct and fields, as"
            " frame.schema.json() prints it"
        )
    if not schema["fields"]:
        raise WrongOptionError(f"{name} has no fields")
    return schema


def merged(kept: ValueSchema, added: ValueSchema) -> ValueSchema:
    """Return a schema with the fields of both, those of `kept` first, at any depth. Raises WrongOptionError.

    A field of both must have one type: files that are there are not written again.
    """
    found: ValueSchema = _merged(kept, added, ())  # type: ignore[assignment]  # two structs make one
    return found


def field_names(schema: ValueSchema) -> list[str]:
    """Return the names of the outermost fields."""
    return [each["name"] for each in schema["fields"]]


def arrow_type(kind: JsonType) -> pa.DataType:
    """Return the Arrow type of a schema, or of a type in it."""
    import pyarrow as pa

    if isinstance(kind, str):
        decimal = _DECIMAL.fullmatch(kind)
        if decimal is not None:
            return pa.decimal128(int(decimal[1]), int(decimal[2]))
        numbers = {"byte": pa.int8(), "short": pa.int16(), "integer": pa.int32(), "long": pa.int64()}
        others = {"boolean": pa.bool_(), "float": pa.float32(), "double": pa.float64(), "date": pa.date32()}
        texts = {"string": pa.string(), "binary": pa.binary(), "timestamp": pa.timestamp("us", tz="UTC")}
        return (numbers | others | texts)[kind]
    if kind["type"] == "array":
        return pa.list_(pa.field("element", arrow_type(kind["elementType"])))
    if kind["type"] == "map":
        return pa.map_(arrow_type(kind["keyType"]), arrow_type(kind["valueType"]))
    return pa.struct([pa.field(each["name"], arrow_type(each["type"])) for each in kind["fields"]])


class _Check:
    """Counts fields while it goes through a schema."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._fields = 0

    def type(self, found: Any, path: Sequence[str], depth: int) -> JsonType:
        if depth > MAX_DEPTH:
            raise self._wrong(path, f"is more than {MAX_DEPTH} levels deep")
        kind = found.get("type") if isinstance(found, dict) else found
        if kind == "struct" and isinstance(found, dict) and isinstance(found.get("fields"), list):
            return {"type": "struct", "fields": self._all_fields(found["fields"], path, depth)}
        if kind == "array" and isinstance(found, dict):
            element = self.type(found.get("elementType"), (*path, "element"), depth + 1)
            return {"type": "array", "elementType": element, "containsNull": True}
        if kind == "map" and isinstance(found, dict):
            if found.get("keyType") != "string":
                raise self._wrong(path, "is a map whose keys are not strings, which JSON has none of")
            value = self.type(found.get("valueType"), (*path, "value"), depth + 1)
            return {"type": "map", "keyType": "string", "valueType": value, "valueContainsNull": True}
        decimal = _DECIMAL.fullmatch(kind) if isinstance(kind, str) else None
        if decimal is not None and 0 < int(decimal[1]) <= MAX_PRECISION and int(decimal[2]) <= int(decimal[1]):
            return f"decimal({int(decimal[1])},{int(decimal[2])})"
        if found in PLAIN:
            return str(found)
        shown = json.dumps(found)[:80]
        raise self._wrong(path, f"has the type {shown}; there are {', '.join(PLAIN)}, decimal, array, map and struct")

    def _all_fields(self, found: list[Any], path: Sequence[str], depth: int) -> list[dict[str, Any]]:
        self._fields += len(found)
        if self._fields > MAX_FIELDS:
            raise WrongOptionError(
                f"{self._name} has more than {MAX_FIELDS:,} fields: where names of fields are data, have a map of them,"
                " such as --value-schema 'counts MAP<STRING, BIGINT>'"
            )
        fields, seen = [], set()
        for each in found:
            name = each.get("name") if isinstance(each, dict) else None
            if not isinstance(name, str) or not name or name == UNFIT:
                raise self._wrong(path, f"has a field without a name that can be: {json.dumps(each)[:80]}")
            if name.lower() in seen:
                raise self._wrong((*path, name), "is there twice; case does not tell fields apart")
            seen.add(name.lower())
            kind = self.type(each.get("type"), (*path, name), depth + 1)
            fields.append({"name": name, "type": kind, "nullable": True, "metadata": {}})
        return fields

    def _wrong(self, path: Sequence[str], why: str) -> WrongOptionError:
        return WrongOptionError(f"{self._name}: {'.'.join(path) or 'it'} {why}")


def _merged(kept: JsonType, added: JsonType, path: Sequence[str]) -> JsonType:
    if isinstance(kept, dict) and isinstance(added, dict) and kept["type"] == added["type"]:
        if kept["type"] == "struct":
            return {"type": "struct", "fields": _merged_fields(kept["fields"], added["fields"], path)}
        below = "elementType" if kept["type"] == "array" else "valueType"
        return kept | {below: _merged(kept[below], added[below], (*path, below.removesuffix("Type")))}
    if kept == added:
        return kept
    raise WrongOptionError(
        f"{'.'.join(path)} is {_shown(kept)} in the archive and cannot become {_shown(added)}: files that are there"
        " would not be read any more; fields may only be added, so give this one another --output, or leave it as it is"
    )


def _merged_fields(
    kept: Sequence[dict[str, Any]], added: Sequence[dict[str, Any]], path: Sequence[str]
) -> list[dict[str, Any]]:
    fields = {each["name"]: each for each in kept}
    cased = {name.lower(): name for name in fields}
    for each in added:
        name = each["name"]
        if name in fields:
            fields[name] = fields[name] | {"type": _merged(fields[name]["type"], each["type"], (*path, name))}
        elif name.lower() in cased:
            raise WrongOptionError(
                f"{'.'.join((*path, name))} is {cased[name.lower()]} in the archive; case does not tell fields apart"
            )
        else:
            fields[name] = each
    return list(fields.values())


def _shown(kind: JsonType) -> str:
    return kind if isinstance(kind, str) else str(kind["type"])
