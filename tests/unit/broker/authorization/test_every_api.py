"""Every API that is served, in every version: who has no rights, and who has all of them."""

from collections.abc import Iterator

import pytest

from odradek.broker.authorization.changes import CHANGES
from odradek.broker.authorization.partly import Partly
from odradek.broker.authorization.rules import CONTROLLER_RULES, RULES, everybody
from odradek.broker.routes import CONTROLLER_ROUTES, FORWARDED, SERVED
from odradek.protocol.codec import Message
from odradek.protocol.errors import ErrorCode
from odradek.protocol.registry import API, ApiKey, decode, encode
from tests.unit.broker.authorization.support import ROOT, Front, codes_in, sample

TOPIC, GROUP, CLUSTER, TRANSACTION = 29, 30, 31, 53

OF_CLUSTER = {
    *(ApiKey.ELECT_LEADERS, ApiKey.ALTER_PARTITION_REASSIGNMENTS, ApiKey.LIST_PARTITION_REASSIGNMENTS),
    *(ApiKey.UPDATE_FEATURES, ApiKey.UNREGISTER_BROKER, ApiKey.DESCRIBE_QUORUM, ApiKey.LIST_CONFIG_RESOURCES),
    *(ApiKey.ALTER_REPLICA_LOG_DIRS, ApiKey.DESCRIBE_LOG_DIRS, ApiKey.WRITE_TXN_MARKERS, ApiKey.ADD_RAFT_VOTER),
    *(ApiKey.REMOVE_RAFT_VOTER, ApiKey.DESCRIBE_ACLS, ApiKey.CREATE_ACLS, ApiKey.DELETE_ACLS, ApiKey.VOTE),
    *(ApiKey.BEGIN_QUORUM_EPOCH, ApiKey.END_QUORUM_EPOCH, ApiKey.UPDATE_RAFT_VOTER, ApiKey.FETCH_SNAPSHOT),
    *(ApiKey.ENVELOPE, ApiKey.BROKER_REGISTRATION, ApiKey.BROKER_HEARTBEAT, ApiKey.CONTROLLER_REGISTRATION),
    *(ApiKey.ALTER_PARTITION, ApiKey.ASSIGN_REPLICAS_TO_DIRS, ApiKey.ALLOCATE_PRODUCER_IDS),
    *(ApiKey.DESCRIBE_CLIENT_QUOTAS, ApiKey.ALTER_CLIENT_QUOTAS, ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS),
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS,
}
OF_TOPICS = {
    *(ApiKey.PRODUCE, ApiKey.LIST_OFFSETS, ApiKey.OFFSET_FOR_LEADER_EPOCH, ApiKey.CREATE_TOPICS, ApiKey.DELETE_TOPICS),
    *(ApiKey.CREATE_PARTITIONS, ApiKey.DELETE_RECORDS, ApiKey.DESCRIBE_PRODUCERS, ApiKey.DESCRIBE_TOPIC_PARTITIONS),
}
OF_GROUPS = {
    *(ApiKey.FIND_COORDINATOR, ApiKey.JOIN_GROUP, ApiKey.SYNC_GROUP, ApiKey.HEARTBEAT, ApiKey.LEAVE_GROUP),
    *(ApiKey.CONSUMER_GROUP_HEARTBEAT, ApiKey.OFFSET_COMMIT, ApiKey.OFFSET_FETCH, ApiKey.OFFSET_DELETE),
    *(ApiKey.DESCRIBE_GROUPS, ApiKey.CONSUMER_GROUP_DESCRIBE, ApiKey.DELETE_GROUPS),
}
OF_TRANSACTIONS = {
    *(ApiKey.INIT_PRODUCER_ID, ApiKey.ADD_OFFSETS_TO_TXN, ApiKey.END_TXN, ApiKey.DESCRIBE_TRANSACTIONS),
    ApiKey.TXN_OFFSET_COMMIT,
}
FILTERED = {ApiKey.METADATA, ApiKey.LIST_GROUPS, ApiKey.LIST_TRANSACTIONS}
"""Their handlers are asked in any case."""
OF_RESOURCES = {ApiKey.DESCRIBE_CONFIGS, ApiKey.ALTER_CONFIGS, ApiKey.INCREMENTAL_ALTER_CONFIGS}


def served_versions() -> Iterator[tuple[ApiKey, int]]:
    """Yield every API with each of its versions."""
    for key in sorted({*SERVED, *CONTROLLER_ROUTES, *RULES} & API.keys()):
        for version in range(API[key].served.first, API[key].served.last + 1):
            yield key, version


def request_of(key: ApiKey, version: int) -> Message:
    """Return a request that names one of everything, and makes sense."""
    request = sample(API[key].request, version, acks=1)
    if key == ApiKey.DELETE_TOPICS:
        for one in request.topics:
            one.name = None
    assert isinstance(request, Message)
    return request


FIRST_FOR_OTHERS = 3
"""CreateDelegationToken from which on it can be for somebody else."""


def expected(key: ApiKey, version: int) -> int | None:
    """Return the code that who has no rights gets, None where the rules say nothing of it."""
    if key == ApiKey.CREATE_DELEGATION_TOKEN:
        return ErrorCode.DELEGATION_TOKEN_AUTHORIZATION_FAILED if version >= FIRST_FOR_OTHERS else None
    if key == ApiKey.ADD_PARTITIONS_TO_TXN:
        return TRANSACTION if version < 4 else CLUSTER
    for keys, code in (
        (OF_CLUSTER, CLUSTER),
        (OF_TOPICS, TOPIC),
        (OF_GROUPS, GROUP),
        (OF_TRANSACTIONS, TRANSACTION),
    ):
        if key in keys:
            return code
    return None


def test_every_served_api_has_a_rule() -> None:
    """A row that is missing would be a request that nobody may make, or a door that is open."""
    assert {*SERVED, *FORWARDED} <= RULES.keys()
    assert CONTROLLER_ROUTES.keys() <= CONTROLLER_RULES.keys()
    assert CHANGES.keys() <= RULES.keys()


def test_what_everybody_may_is_known() -> None:
    """A new row of that kind has to be thought about here, too."""
    assert {key for key, rule in RULES.items() if rule is everybody} == {
        *(ApiKey.FETCH, ApiKey.API_VERSIONS, ApiKey.SASL_HANDSHAKE, ApiKey.SASL_AUTHENTICATE),
        *(ApiKey.RENEW_DELEGATION_TOKEN, ApiKey.EXPIRE_DELEGATION_TOKEN),
    }
    assert CONTROLLER_RULES[ApiKey.FETCH] is not everybody


@pytest.mark.parametrize(("key", "version"), list(served_versions()))
def test_who_has_no_rights_gets_kafkas_code_in_every_place(key: ApiKey, version: int) -> None:
    """Nothing of such a request gets to a handler, and its answer has a form in every version."""
    front = Front()
    request = request_of(key, version)
    outcome = front.admit(request, version)
    code = expected(key, version)
    if code is None:
        assert not isinstance(outcome, Message) or key in OF_RESOURCES
        return
    assert isinstance(outcome, Message)
    again, _ = decode(API[key].response, encode(outcome, version), version, 0)
    has_place = key != ApiKey.DESCRIBE_LOG_DIRS or version >= 3
    assert set(codes_in(again, version)) == ({code} if has_place else set())
    assert front.refusals.told


@pytest.mark.parametrize(("key", "version"), list(served_versions()))
def test_who_has_all_rights_gets_to_the_handler_with_the_whole_request(key: ApiKey, version: int) -> None:
    """The rules change nothing, and nothing is told to the audit log."""
    front = Front()
    request = request_of(key, version)
    outcome = front.admit(request, version, ROOT)
    assert not isinstance(outcome, Message)
    if isinstance(outcome, Partly):
        assert encode(outcome.request, version) == encode(request, version)
        whole = outcome.merge(API[key].response())
        assert encode(whole, version)
    assert front.refusals.told == []


@pytest.mark.parametrize("version", range(API[ApiKey.FETCH].served.first, API[ApiKey.FETCH].served.last + 1))
def test_controllers_fetch_takes_cluster_action(version: int) -> None:
    """At a controller, Fetch is for followers of the metadata."""
    front = Front(rules=CONTROLLER_RULES)
    outcome = front.admit(sample(API[ApiKey.FETCH].request, version), version)
    assert isinstance(outcome, Message)
    assert set(codes_in(outcome, version)) == {CLUSTER}
