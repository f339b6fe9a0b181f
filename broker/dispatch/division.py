"""Requests that name thousands of things, divided into portions: a portion is answered in a turn of the event loop.

Each thing costs ten microseconds or more, so a hundred kilobytes of names would hold up everybody for a second. The
requests divided here ask for things that have nothing to do with each other; their answers are put together again, in
the order of the request. What belongs together (a group's members, one resource's configs) is not in the table. Pure
functions on messages. Must not know: handlers, connections.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from typing import Any

from odradek.protocol.codec import Message
from odradek.protocol.registry import ApiKey

MOST_OF_A_PORTION = 500
"""Things in a portion: five milliseconds of work for most APIs."""
MOST_CHANGES = 100
"""Changes of configs and topics in a portion; each costs several times as much as a question."""

_PARTITIONS = (("topics", "topics"), ("partitions", "partitions"))

_PATHS: Mapping[ApiKey, Sequence[Sequence[tuple[str, str]]]] = {
    ApiKey.METADATA: [[("topics", "topics")]],
    ApiKey.LIST_OFFSETS: [_PARTITIONS],
    ApiKey.OFFSET_FOR_LEADER_EPOCH: [_PARTITIONS],
    ApiKey.OFFSET_COMMIT: [_PARTITIONS],
    ApiKey.OFFSET_DELETE: [_PARTITIONS],
    ApiKey.OFFSET_FETCH: [
        [("groups", "groups"), ("topics", "topics"), ("partition_indexes", "partitions")],
        [("topics", "topics"), ("partition_indexes", "partitions")],
    ],
    ApiKey.DELETE_RECORDS: [_PARTITIONS],
    ApiKey.ELECT_LEADERS: [[("topic_partitions", "replica_election_results"), ("partitions", "partition_result")]],
    ApiKey.ALTER_PARTITION_REASSIGNMENTS: [[("topics", "responses"), ("partitions", "partitions")]],
    ApiKey.ALTER_PARTITION: [_PARTITIONS],
    ApiKey.ASSIGN_REPLICAS_TO_DIRS: [[("directories", "directories"), *_PARTITIONS]],
    ApiKey.LIST_PARTITION_REASSIGNMENTS: [[("topics", "topics"), ("partition_indexes", "partitions")]],
    ApiKey.CREATE_TOPICS: [[("topics", "topics")]],
    ApiKey.DELETE_TOPICS: [[("topics", "responses")], [("topic_names", "responses")]],
    ApiKey.CREATE_PARTITIONS: [[("topics", "results")]],
    ApiKey.DESCRIBE_CONFIGS: [[("resources", "results")]],
    ApiKey.ALTER_CONFIGS: [[("resources", "responses")]],
    ApiKey.INCREMENTAL_ALTER_CONFIGS: [[("resources", "responses")]],
    ApiKey.FIND_COORDINATOR: [[("coordinator_keys", "coordinators")]],
    ApiKey.LEAVE_GROUP: [[("members", "members")]],
    ApiKey.DESCRIBE_GROUPS: [[("groups", "groups")]],
    ApiKey.DELETE_GROUPS: [[("groups_names", "results")]],
    ApiKey.ADD_PARTITIONS_TO_TXN: [[("transactions", "results_by_transaction")]],
    # one partition is asked about, or all that a request names are refused: of many at once, then
    ApiKey.DESCRIBE_QUORUM: [_PARTITIONS],
    ApiKey.DESCRIBE_TRANSACTIONS: [[("transactional_ids", "transaction_states")]],
    ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS: [[("users", "results")]],
    ApiKey.CONSUMER_GROUP_DESCRIBE: [[("group_ids", "groups")]],
}
"""Where the lists of an API are, from the outermost to the innermost: in the request, and in the response. The first
one that is not empty counts: some APIs have had two."""

_CHANGES = frozenset(
    {
        ApiKey.ELECT_LEADERS,
        ApiKey.ALTER_PARTITION_REASSIGNMENTS,
        ApiKey.ALTER_PARTITION,
        ApiKey.ASSIGN_REPLICAS_TO_DIRS,
        ApiKey.CREATE_TOPICS,
        ApiKey.DELETE_TOPICS,
        ApiKey.CREATE_PARTITIONS,
        ApiKey.ALTER_CONFIGS,
        ApiKey.INCREMENTAL_ALTER_CONFIGS,
    }
)

_BESIDE: Mapping[ApiKey, Sequence[str]] = {
    ApiKey.CREATE_TOPICS: ("configs", "assignments"),
    ApiKey.CREATE_PARTITIONS: ("assignments",),
    ApiKey.ALTER_PARTITION_REASSIGNMENTS: ("replicas",),
    ApiKey.ALTER_PARTITION: ("new_isr", "new_isr_with_epochs"),
    ApiKey.ADD_PARTITIONS_TO_TXN: ("topics",),
    ApiKey.ALTER_CONFIGS: ("configs",),
    ApiKey.INCREMENTAL_ALTER_CONFIGS: ("configs",),
}
"""Lists of a thing that is not divided, which make it larger."""
_BESIDE_PER_THING = 10
"""So many entries of such lists weigh as much as a thing."""

_NAMES = ("name", "topic", "topic_name", "topic_id", "group_id", "id")


class Division:
    """One request in portions."""

    def __init__(self, key: ApiKey, request: Message) -> None:
        self.request = request
        paths = _PATHS.get(key, ())
        path = next((path for path in paths if getattr(request, path[0][0])), None)
        self._answered = [] if path is None else [answered for _, answered in path]
        self.portions: list[Message] = [request]
        """The request itself, where it is small or cannot be divided."""
        if path is not None:
            most = MOST_CHANGES if key in _CHANGES else MOST_OF_A_PORTION
            self.portions = _divide(request, [asked for asked, _ in path], most, _BESIDE.get(key, ()))

    def join(self, responses: Sequence[Message]) -> Message:
        """Return the response to the whole request; those to its portions are not changed."""
        joined: Message = _join(responses, self._answered)
        failed = next((one for one in responses if getattr(one, "error_code", None)), None)
        if failed is not None:
            joined.error_code = failed.error_code  # type: ignore[attr-defined]  # of messages that have one
        throttle_ms = max(getattr(one, "throttle_time_ms", 0) for one in responses)
        if throttle_ms:
            joined.throttle_time_ms = throttle_ms  # type: ignore[attr-defined]  # of messages that have it
        return joined


def _divide(node: Any, path: Sequence[str], most: int, beside: Sequence[str]) -> list[Any]:
    """Return copies of a message or of a part of it, of `most` things each, in which the lists `beside` count too."""
    field, rest = path[0], path[1:]
    items = getattr(node, field) or []
    chunks: list[list[Any]] = [[]]
    weight = 0
    for item in items:
        for piece in _divide(item, rest, most, beside) if rest else (item,):
            more = _weight(piece, rest, beside)
            if weight and weight + more > most:
                chunks.append([])
                weight = 0
            chunks[-1].append(piece)
            weight += more
    if len(chunks) == 1 and len(chunks[0]) == len(items):
        return [node]
    divided = []
    for chunk in chunks:
        part = copy(node)
        setattr(part, field, chunk)
        divided.append(part)
    return divided


def _weight(node: Any, path: Sequence[str], beside: Sequence[str]) -> int:
    """Return how many things a part of a request names, itself among them."""
    if not path:
        return 1 + sum([len(getattr(node, field) or ()) for field in beside]) // _BESIDE_PER_THING
    items = getattr(node, path[0]) or ()
    return 1 + (sum(_weight(item, path[1:], beside) for item in items) if len(path) > 1 else len(items))


def _join(parts: Sequence[Any], path: Sequence[str]) -> Any:
    """Return a copy of the first part with what is in the lists of all of them; takes as long as the whole is large."""
    if len(parts) == 1:
        return parts[0]
    field, rest = path[0], path[1:]
    items: list[Any] = []
    last: list[Any] = []
    """What is divided over the end of several parts: they begin with more of the same thing."""
    for part in parts:
        more = getattr(part, field) or []
        if rest and last and more and _names(last[0]) == _names(more[0]):
            last.append(more[0])
            more = more[1:]
        if more:
            if last:
                items.append(_join(last, rest))
            last = []
            if rest:
                last, more = [more[-1]], more[:-1]
            items += more
    if last:
        items.append(_join(last, rest))
    joined = copy(parts[0])
    setattr(joined, field, items)
    return joined


def _names(item: Any) -> list[object]:
    return [getattr(item, name, None) for name in _NAMES]
