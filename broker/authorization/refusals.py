"""What the refused are told: an error code wherever the answer of an API has a place for one.

Owns: refusals of whole requests and of single entries, made from the declarations of the messages. Must not know: who
may what. An entry of a response takes what names it from the entry of the request, and codes for all parts of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from odradek.protocol.codec import Message, Struct
from odradek.protocol.errors import ErrorCode
from odradek.protocol.registry import Api, ApiKey

MESSAGES: Final[Mapping[ErrorCode, str]] = MappingProxyType(
    {
        ErrorCode.TOPIC_AUTHORIZATION_FAILED: "Topic authorization failed.",
        ErrorCode.GROUP_AUTHORIZATION_FAILED: "Group authorization failed.",
        ErrorCode.CLUSTER_AUTHORIZATION_FAILED: "Cluster authorization failed.",
        ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: "Transactional Id authorization failed.",
        ErrorCode.DELEGATION_TOKEN_AUTHORIZATION_FAILED: "Delegation Token authorization failed.",
    }
)
"""Kafka's sentences."""

_CODES = frozenset({"error_code", "partition_error_code"})
_NOTHING: Mapping[str, int] = MappingProxyType(
    {"base_offset": -1, "low_watermark": -1, "committed_offset": -1, "node_id": -1, "port": -1, "high_watermark": -1}
)
"""What stands in fields whose default would mean something."""
_SAME: Mapping[str, Sequence[str]] = MappingProxyType(
    {
        "name": ("name", "topic"),
        "topic": ("topic", "name"),
        "topic_name": ("topic_name", "name"),
        "user": ("user", "name"),
        "partition_index": ("partition_index", "partition", "index"),
        "partition": ("partition", "partition_index"),
    }
)
"""How else a field of the response is called in the request."""
_PARTS: Mapping[str, Sequence[str]] = MappingProxyType(
    {
        "partitions": ("partitions", "partition_indexes"),
        "partition_responses": ("partition_data",),
        "partition_result": ("partitions",),
        "results_by_partition": ("partitions",),
        "topics": ("topics",),
        "entity": ("entity",),
    }
)
"""Lists of a response whose entries stand for entries of a list of the request."""
_NAMES = frozenset({"name", "topic", "topic_name", "group_id", "key", "transactional_id"})
_INDEXES = frozenset({"partition_index", "partition", "partition_id", "index"})
_OTHERS = frozenset({"topic_id", "producer_id", "resource_type", "resource_name", "entity_type", "entity_name", "user"})
"""Fields that say what an entry is about, as all the others do not: a timestamp that was asked for is no answer."""

_WHOLE: Mapping[ApiKey, tuple[str, str]] = MappingProxyType(
    {
        ApiKey.PRODUCE: ("topic_data", "responses"),
        ApiKey.FETCH: ("topics", "responses"),
        ApiKey.OFFSET_COMMIT: ("topics", "topics"),
        ApiKey.TXN_OFFSET_COMMIT: ("topics", "topics"),
        ApiKey.WRITE_TXN_MARKERS: ("markers", "markers"),
        ApiKey.ELECT_LEADERS: ("topic_partitions", "replica_election_results"),
        ApiKey.ALTER_PARTITION_REASSIGNMENTS: ("topics", "responses"),
        ApiKey.CREATE_ACLS: ("creations", "results"),
        ApiKey.DELETE_ACLS: ("filters", "filter_results"),
        ApiKey.ALTER_CLIENT_QUOTAS: ("entries", "entries"),
        ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS: ("users", "results"),
    }
)
"""APIs whose entries have the code of a refusal of the whole request, too."""


def refuse_all(api: Api, request: Any, code: ErrorCode) -> Message:
    """Return the answer to a request that is refused as a whole."""
    response: Any = api.response()
    if hasattr(response, "error_code"):
        response.error_code = int(code)
    if hasattr(response, "error_message"):
        response.error_message = MESSAGES.get(code)
    paths = _WHOLE.get(api.key)
    if paths is not None:
        asked, answered = paths
        entries = [refused_entry(api.response, answered, one, code) for one in getattr(request, asked) or ()]
        setattr(response, answered, entries)
    elif api.key == ApiKey.ADD_PARTITIONS_TO_TXN and request.v3_and_below_topics:
        response.results_by_topic_v3_and_below = [
            refused_entry(api.response, "results_by_topic_v3_and_below", one, code)
            for one in request.v3_and_below_topics
        ]
    elif api.key == ApiKey.ALTER_REPLICA_LOG_DIRS:
        response.results = [
            refused_entry(api.response, "results", topic, code) for one in request.dirs for topic in one.topics
        ]
    elif api.key == ApiKey.ALTER_USER_SCRAM_CREDENTIALS:
        kind: Any = next(field.type for field in api.response.SCHEMA.fields if field.name == "results")
        users = dict.fromkeys(one.name for one in (*request.deletions, *request.upsertions))
        response.results = [kind(user=one, error_code=int(code), error_message=MESSAGES.get(code)) for one in users]
    message: Message = response
    return message


def refused_entry(response: type[Message], answered: str, asked: object, code: ErrorCode) -> Any:
    """Return an entry of a list of a response that says that what was asked is refused."""
    return _entry(_kind_of(response, answered), asked, code)


@cache
def _kind_of(response: type[Message], answered: str) -> type[Any]:
    kind = next(field.type for field in response.SCHEMA.fields if field.name == answered)
    assert isinstance(kind, type)
    return kind


class _Form(NamedTuple):
    """How refusals of one kind are made of what was asked for in one way; requests may name 100,000 things."""

    fixed: Mapping[str, object]
    """Fields that always say the same."""
    copied: tuple[tuple[str, str | None], ...]
    """Fields that are copied, with the name of the attribute; None where what was asked is the value itself."""
    parts: tuple[tuple[str, str, type[Any]], ...]
    """Lists, with the list of the request that their entries stand for."""


def _entry(kind: type[Any], asked: object, code: ErrorCode) -> Struct:
    form = _form(kind, type(asked), code)  # type: ignore[arg-type]  # classes can be keys
    values = dict(form.fixed)
    for name, source in form.copied:
        values[name] = asked if source is None else getattr(asked, source)
    for name, source, part in form.parts:
        values[name] = [_entry(part, one, code) for one in getattr(asked, source) or ()]
    entry: Struct = kind(**values)
    return entry


@cache
def _form(kind: type[Any], asked: type[Any], code: ErrorCode) -> _Form:
    fixed: dict[str, object] = {}
    copied: list[tuple[str, str | None]] = []
    parts: list[tuple[str, str, type[Any]]] = []
    fields = {field.name: field for field in kind.SCHEMA.fields}
    for name, field in fields.items():
        if name in _CODES:
            fixed[name] = int(code)
        elif name == "error_message":
            if "record_errors" not in fields:  # in Produce, it is for errors of records
                fixed[name] = MESSAGES.get(code)
        elif name in _NOTHING:
            fixed[name] = _NOTHING[name]
        elif field.is_array:
            source = next((one for one in _PARTS.get(name, ()) if hasattr(asked, one)), None)
            if source is not None and isinstance(field.type, type):
                parts.append((name, source, field.type))
        elif not issubclass(asked, Struct):
            if name in (_NAMES if issubclass(asked, str) else _INDEXES):
                copied.append((name, None))
        elif name in _NAMES | _INDEXES | _OTHERS:
            source = next((one for one in _SAME.get(name, (name,)) if hasattr(asked, one)), None)
            if source is not None:
                copied.append((name, source))
    return _Form(fixed, tuple(copied), tuple(parts))
