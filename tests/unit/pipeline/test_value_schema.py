"""Schemas of JSON values: which can be, how they grow, and that Arrow, Delta Lake and Spark mean the same by them."""

import json
from typing import Any

import pyarrow as pa
import pytest
from deltalake import Schema
from hypothesis import given
from hypothesis import strategies as st

from odradek.pipeline.errors import WrongOptionError
from odradek.pipeline.value_schema import (
    MAX_BYTES,
    MAX_DEPTH,
    MAX_FIELDS,
    PLAIN,
    UNFIT,
    arrow_type,
    checked,
    field_names,
    merged,
    schema_from_json,
)

_NAMES = st.sampled_from("abcde")
_TYPES = st.recursive(
    st.sampled_from([*PLAIN, "decimal(10,2)"]),
    lambda inner: st.one_of(
        inner.map(lambda each: {"type": "array", "elementType": each}),
        inner.map(lambda each: {"type": "map", "keyType": "string", "valueType": each}),
        st.dictionaries(_NAMES, inner, min_size=1, max_size=4).map(lambda each: _struct(**each)),
    ),
    max_leaves=8,
)
_SCHEMAS = st.dictionaries(_NAMES, _TYPES, min_size=1, max_size=5).map(lambda each: checked(_struct(**each), "it"))


def _struct(**fields: Any) -> dict[str, Any]:
    return {"type": "struct", "fields": [{"name": name, "type": kind} for name, kind in fields.items()]}


@given(_SCHEMAS)
def test_a_schema_means_the_same_to_arrow_and_delta_lake(schema: dict[str, Any]) -> None:
    """The Arrow type of a schema is, in Delta Lake's own words, that schema; and it is kept as it was checked."""
    of_arrow = Schema.from_arrow(pa.schema(list(arrow_type(schema)))).to_json()
    assert json.loads(of_arrow) == schema
    assert schema_from_json(json.dumps(schema).encode(), "it") == schema


@given(_SCHEMAS, _SCHEMAS)
def test_a_schema_only_ever_grows(kept: dict[str, Any], added: dict[str, Any]) -> None:
    """Two schemas make one with the fields of both, those that were there first; or they are refused."""
    try:
        both = merged(kept, added)
    except WrongOptionError:
        with pytest.raises(WrongOptionError):
            merged(added, kept)
        return
    assert field_names(both)[: len(field_names(kept))] == field_names(kept)
    assert set(field_names(both)) == {*field_names(kept), *field_names(added)}
    assert merged(both, kept) == merged(both, added) == merged(both, both) == both


def test_another_type_is_refused() -> None:
    """The sentence names the field, at any depth."""
    kept = checked(_struct(at={"type": "array", "elementType": _struct(x="long")}), "it")
    given = checked(_struct(at={"type": "array", "elementType": _struct(x="string", y="long")}), "it")
    with pytest.raises(WrongOptionError, match=r"at\.element\.x is long in the archive and cannot become string"):
        merged(kept, given)
    with pytest.raises(WrongOptionError, match=r"AT is at in the archive; case does not tell fields apart"):
        merged(kept, checked(_struct(AT="long"), "it"))
    with pytest.raises(WrongOptionError, match=r"at is array in the archive and cannot become struct"):
        merged(kept, checked(_struct(at=_struct(x="long")), "it"))


def _deep(levels: int) -> Any:
    return "long" if levels == 0 else {"type": "array", "elementType": _deep(levels - 1)}


@pytest.mark.parametrize(
    ("found", "why"),
    [
        ([], "has the type"),
        ("long", "must be a schema of Spark in JSON"),
        (_struct(), "has no fields"),
        ({"type": "struct"}, "has the type"),
        ({"type": "struct", "fields": [1]}, "has a field without a name"),
        ({"type": "struct", "fields": [{"name": "", "type": "long"}]}, "has a field without a name"),
        (_struct(**{UNFIT: "string"}), "has a field without a name that can be"),
        (_struct(a="void"), 'a has the type "void"; there are byte, short'),
        (_struct(a="decimal(39,1)"), "has the type"),
        (_struct(a="decimal(3,4)"), "has the type"),
        (_struct(a={"type": ["x"]}), "has the type"),
        (_struct(a={"type": "array"}), "a.element has the type null"),
        (_struct(a={"type": "map", "keyType": "long", "valueType": "long"}), "a is a map whose keys are not strings"),
        (_struct(a="long", A="long"), "A is there twice"),
        (_struct(a=_deep(MAX_DEPTH + 1)), f"is more than {MAX_DEPTH} levels deep"),
        (_struct(**{f"f{each}": "long" for each in range(MAX_FIELDS + 1)}), "where names of fields are data"),
    ],
)
def test_what_cannot_be_a_schema_is_told(found: Any, why: str) -> None:
    """What a file has that is no schema, or one that no archive can have, is told with the field."""
    with pytest.raises(WrongOptionError, match=f"^file.json.*{why}"):
        schema_from_json(json.dumps(found).encode(), "file.json")


@pytest.mark.parametrize("text", [b"", b"{", b"\xff", b"[" * 100_000, b" " * (MAX_BYTES + 1)])
def test_what_is_no_json_is_told(text: bytes) -> None:
    """Whatever a file holds, the answer is a sentence."""
    with pytest.raises(WrongOptionError, match=r"^file\.json "):
        schema_from_json(text, "file.json")
