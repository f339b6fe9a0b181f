"""Replaces what two right brokers may say differently: addresses, ids, times, sizes, the order of sets, error texts.

Everything else is left as it is. A value is replaced by the name of its field, and only where it means something: a
port of -1 or a time of -1 stays, so that "none" is still told from "some".
"""

import hashlib
import uuid
from typing import TypeAlias

from tests.support.wire import ERROR_NAMES

Comparable: TypeAlias = "bool | int | float | str | list[Comparable] | dict[str, Comparable] | None"

# Lists whose order means nothing.
SETS = {
    "active_producers",
    "api_keys",
    "brokers",
    "config_resources",
    "configs",
    "endpoints",
    "entries",
    "finalized_features",
    "groups",
    "log_dirs",
    "markers",
    "members",
    "partition_responses",
    "partitions",
    "replica_election_results",
    "responses",
    "results",
    "results_by_partition",
    "results_by_topic_v3_and_below",
    "results_by_transaction",
    "supported_features",
    "synonyms",
    "topic_results",
    "topics",
    "transaction_states",
    "values",
}
# Replaced by the field's name unless empty, null or -1.
PLACES = {"client_host", "cluster_id", "host", "log_dir", "member_id", "port"}
# Replaced where positive: zero and below mean something else.
AMOUNTS = {
    "broker_epoch",
    "current_size",
    "finalized_features_epoch",
    "log_append_time_ms",
    "next_producer_id",
    "partition_size",
    "producer_id",
    "session_id",
    "size",
    "timestamp",
    "total_bytes",
    "transaction_start_time_ms",
    "usable_bytes",
}
# Only whether there is one is compared: the wording is each broker's own.
TEXTS = {"batch_index_error_message", "documentation", "error_message", "message"}


def normalise(value: object, name: str = "") -> Comparable:
    """Return a value of an answer with everything replaced that may differ between two brokers."""
    if isinstance(value, dict):
        return {key: normalise(each, key) for key, each in value.items()}
    if isinstance(value, list):
        items = [normalise(each, name) for each in value]
        return sorted(items, key=repr) if name in SETS else items
    if isinstance(value, uuid.UUID):
        return "some id" if value.int else "no id"
    if isinstance(value, bytes):
        return f"{len(value)} bytes, {hashlib.sha256(value).hexdigest()[:12]}"
    if name in TEXTS:
        return None
    return _scalar(value, name)


def _scalar(value: object, name: str) -> Comparable:
    assert value is None or isinstance(value, bool | int | float | str)
    if name == "error_code" and isinstance(value, int):
        return ERROR_NAMES.get(value, value)
    if name == "leader" and isinstance(value, str) and value:
        return "a member id"
    if name in PLACES and value not in ("", None, -1):
        return name
    if name in AMOUNTS and isinstance(value, int) and value > 0:
        return name
    return value
