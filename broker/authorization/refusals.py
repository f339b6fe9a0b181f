"""What the refused are told: an error code wherever the answer of an API has a place for one.

Owns: refusals of whole requests and of single entries, made from the declarations of the messages. Must not know: who
may what. An entry of a response takes what names it from the entry of the request, and codes for all parts of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

from odradek.protocol.codec import Message, Struct
from odradek.protocol.codec.fields import Field
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

_DEFAULT: Final = object()
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
    }
)
"""Lists of a response whose entries stand for entries of a list of the request."""
_NAMES = frozenset({"name", "topic", "topic_name", "group_id", "key", "transactional_id"})
_INDEXES = frozenset({"partition_index", "partition", "partition_id", "index"})
_NUMBERS = frozenset({"topic_id", "producer_id", "resource_type", "resource_name", "feature"})
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
        ApiKey.UPDATE_FEATURES: ("feature_updates", "results"),
        ApiKey.ALTER_CLIENT_QUOTAS: ("entries", "entries"),
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
    kind = next(field.type for field in response.SCHEMA.fields if field.name == answered)
    assert isinstance(kind, type)
    return _entry(kind, asked, code)


def _entry(kind: type[Any], asked: object, code: ErrorCode) -> Struct:
    values: dict[str, object] = {}
    is_of_produce = any(field.name == "record_errors" for field in kind.SCHEMA.fields)
    for field in kind.SCHEMA.fields:
        if field.name == "error_message" and is_of_produce:
            continue  # there it is for errors of records
        value = _value(field, asked, code)
        if value is not _DEFAULT:
            values[field.name] = value
    entry: Struct = kind(**values)
    return entry


def _value(field: Field, asked: object, code: ErrorCode) -> object:
    """Return what a field of a refusal says, _DEFAULT where it has its default."""
    if field.name in _CODES:
        return int(code)
    if field.name == "error_message":
        return MESSAGES.get(code)
    if field.name in _NOTHING:
        return _NOTHING[field.name]
    if field.is_array:
        parts = next((getattr(asked, name) for name in _PARTS.get(field.name, ()) if hasattr(asked, name)), None)
        if not parts or not isinstance(field.type, type):
            return _DEFAULT
        return [_entry(field.type, part, code) for part in parts]
    if isinstance(asked, str):
        return asked if field.name in _NAMES else _DEFAULT
    if isinstance(asked, int):
        return asked if field.name in _INDEXES else _DEFAULT
    if field.name not in _NAMES | _INDEXES | _NUMBERS:
        return _DEFAULT
    names = _SAME.get(field.name, (field.name,))
    return next((getattr(asked, name) for name in names if hasattr(asked, name)), _DEFAULT)
