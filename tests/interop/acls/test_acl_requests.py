"""CreateAcls, DeleteAcls and DescribeAcls themselves: with every error, and with every kind of filter."""

import time
from collections.abc import Iterator

import pytest

from tests.interop.acls.conftest import Pair
from tests.interop.acls.world import (
    ALL,
    ALLOW,
    ANY,
    CLUSTER,
    DENY,
    DESCRIBE,
    GROUP,
    KAFKA_CLUSTER,
    LITERAL,
    PREFIXED,
    READ,
    TOPIC,
    TRANSACTION,
    WRITE,
    creation,
)
from tests.support.wire import Message, served_versions

pytestmark = [pytest.mark.interop, pytest.mark.xdist_group("apache-kafka")]

MATCH, TOKEN, USER = 2, 6, 7
GOOD = creation("acl", TOPIC, "good", READ)
RESOURCES = (
    *((kind, "a") for kind in (TOPIC, GROUP, TRANSACTION, TOKEN)),
    (CLUSTER, KAFKA_CLUSTER),
    (USER, "User:a"),
)

CREATIONS: dict[str, list[Message]] = {
    "nothing": [],
    "one": [GOOD],
    "the same again": [GOOD, GOOD],
    "of every kind": [
        creation("acl", kind, name, operation, permission, pattern)
        for kind, name in (
            (TOPIC, "a"),
            (GROUP, "a"),
            (CLUSTER, KAFKA_CLUSTER),
            (TRANSACTION, "a"),
            (TOKEN, "a"),
            (USER, "User:a"),
        )
        for operation in (ALL, READ, WRITE, DESCRIBE)
        for permission in (ALLOW, DENY)
        for pattern in (LITERAL, PREFIXED)
    ],
    "no name": [creation("acl", TOPIC, "", READ), GOOD],
    "another cluster": [creation("acl", CLUSTER, "mine", READ), GOOD],
    "no principal": [{**GOOD, "principal": "anna"}, GOOD],
    "a principal of another type": [{**GOOD, "principal": "Group:acl"}],
    "a principal without a name": [{**GOOD, "principal": "User:"}],
    "a host with a name": [{**GOOD, "host": "example.com"}],
    "no host": [{**GOOD, "host": ""}],
    "a name that no topic can have": [creation("acl", TOPIC, "a b/\u00e9", READ)],
    "any kind": [creation("acl", ANY, "x", READ), GOOD],
    "any pattern": [{**GOOD, "resource_pattern_type": ANY}, GOOD],
    "matching patterns": [{**GOOD, "resource_pattern_type": MATCH}, GOOD],
    "any operation": [creation("acl", TOPIC, "x", ANY), GOOD],
    "any permission": [{**GOOD, "permission_type": ANY}, GOOD],
    "no kind": [creation("acl", 0, "x", READ)],
    "an unknown kind": [creation("acl", 99, "x", READ)],
    "an unknown pattern": [{**GOOD, "resource_pattern_type": 5}],
    "an unknown operation": [creation("acl", TOPIC, "x", 99)],
    "an unknown permission": [{**GOOD, "permission_type": 4}],
}


def filter_of(**given: object) -> Message:
    """Return a filter that lets everything of one user through, but for what is given."""
    return {
        "resource_type_filter": 1,
        "resource_name_filter": None,
        "pattern_type_filter": ANY,
        "principal_filter": "User:acl",
        "host_filter": None,
        "operation": 1,
        "permission_type": 1,
        **given,
    }


FILTERS: dict[str, Message] = {
    "everything": filter_of(),
    "topics": filter_of(resource_type_filter=TOPIC),
    "a name": filter_of(resource_name_filter="a"),
    "a prefix": filter_of(resource_name_filter="a", pattern_type_filter=PREFIXED),
    "a literal name": filter_of(resource_name_filter="a", pattern_type_filter=LITERAL),
    "what applies": filter_of(resource_name_filter="abc", pattern_type_filter=MATCH),
    "what applies to a topic": filter_of(
        resource_type_filter=TOPIC, resource_name_filter="abc", pattern_type_filter=MATCH
    ),
    "all that applies": filter_of(pattern_type_filter=MATCH),
    "an empty name": filter_of(resource_name_filter=""),
    "the operation of all": filter_of(operation=ALL),
    "reading": filter_of(operation=READ),
    "denials": filter_of(permission_type=DENY),
    "a host": filter_of(host_filter="*"),
    "no host": filter_of(host_filter=""),
    "nobody": filter_of(principal_filter=""),
    "no kind": filter_of(resource_type_filter=0),
    "an unknown kind": filter_of(resource_type_filter=99),
    "no pattern": filter_of(pattern_type_filter=0),
    "no operation": filter_of(operation=0),
    "an unknown permission": filter_of(permission_type=9),
}


def requests() -> Iterator[tuple[str, str, int, Message]]:
    """Yield what is asked, in this order: each depends on those before."""
    for label, creations in CREATIONS.items():
        yield f"make {label}", "CreateAcls", 3, {"creations": creations}
    for version in served_versions("DescribeAcls"):
        for label, wanted in FILTERS.items():
            yield f"find {label}", "DescribeAcls", version, wanted
    yield "remove nothing", "DeleteAcls", 3, {"filters": []}
    yield "remove the same twice", "DeleteAcls", 2, {"filters": [FILTERS["a prefix"], FILTERS["what applies"]]}
    yield "remove with what cannot be", "DeleteAcls", 3, {"filters": [FILTERS["a host"], FILTERS["no kind"]]}
    unknown = [FILTERS["an unknown kind"], FILTERS["no host"], FILTERS["an unknown permission"]]
    yield "remove with what is unknown", "DeleteAcls", 3, {"filters": unknown}
    yield "remove by a literal name", "DeleteAcls", 1, {"filters": [FILTERS["a literal name"], FILTERS["nobody"]]}
    yield "remove everything", "DeleteAcls", 3, {"filters": [FILTERS["everything"]]}
    yield "find everything again", "DescribeAcls", 3, FILTERS["everything"]


SEEN_TIMEOUT_S = 60
SEEN_PAUSE_S = 0.05


def test_acls_are_made_found_and_removed_as_kafka_does_it(sides: Pair) -> None:
    """Each request is answered alike, and leaves the same behind."""
    kafka, odradek = sides
    differences = []
    for label, api, version, fields in requests():
        ours, theirs = (side.ask("admin", api, version, fields) for side in (odradek, kafka))
        deadline = time.monotonic() + SEEN_TIMEOUT_S
        while api == "DescribeAcls" and ours != theirs and time.monotonic() < deadline:
            time.sleep(SEEN_PAUSE_S)  # a broker hears a moment later of what its controller has answered already
            ours, theirs = (side.ask("admin", api, version, fields) for side in (odradek, kafka))
        if ours != theirs:
            differences.append((f"{label}, {api} version {version}", ours, theirs))
    assert differences == []


def test_what_is_denied_counts_from_the_next_request_on(sides: Pair) -> None:
    """A connection that has been allowed before is refused once an ACL denies, and allowed again without it: at once,
    while Apache Kafka's brokers take a moment to hear of it."""
    _, odradek = sides
    rule = creation("writer", TOPIC, "t", WRITE, DENY)
    fields: Message = {"topics": [{"name": "t"}], "include_topic_authorized_operations": True}
    only = filter_of(principal_filter="User:writer", permission_type=DENY)
    before = odradek.ask("writer", "Metadata", 9, fields)
    odradek.ask("admin", "CreateAcls", 3, {"creations": [rule]})
    denied = odradek.ask("writer", "Metadata", 9, fields)
    assert denied != before
    odradek.ask("admin", "DeleteAcls", 3, {"filters": [only]})
    assert odradek.ask("writer", "Metadata", 9, fields) == before
