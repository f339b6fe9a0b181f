"""What the audit log tells of changes: who made them is known to the gate, what they were stands here."""

import json
from pathlib import Path

import pytest

from odradek.broker.authorization.changes import MOST, changes_of
from odradek.broker.authorization.partly import Partly
from odradek.broker.dispatch.gate import ChangesGate, everybody
from odradek.broker.runtime import audit
from odradek.protocol.messages import incremental_alter_configs as configs
from odradek.protocol.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasResponse,
    EntityData,
    EntryData,
    EntryResult,
    OpData,
)
from odradek.protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    AlterUserScramCredentialsResult,
    ScramCredentialUpsertion,
)
from odradek.protocol.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
    CreatePartitionsTopicResult,
)
from odradek.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest, CreateTopicsResponse
from odradek.protocol.messages.delete_topics import DeletableTopicResult, DeleteTopicsRequest, DeleteTopicsResponse
from odradek.protocol.messages.metadata import MetadataRequest
from odradek.protocol.messages.metadata_records import ConfigRecord
from odradek.protocol.registry import API, ApiKey
from tests.unit.broker.authorization.support import IMAGE, TOPIC_ID, context
from tests.unit.broker.metadata.support import image_of


def altered(kind: int, name: str, config: str, value: str | None) -> configs.IncrementalAlterConfigsRequest:
    """Return a request that sets a config."""
    one = configs.AlterableConfig(name=config, config_operation=0, value=value)
    return configs.IncrementalAlterConfigsRequest(
        resources=[configs.AlterConfigsResource(resource_type=kind, resource_name=name, configs=[one])]
    )


def answered(kind: int, name: str, code: int) -> configs.IncrementalAlterConfigsResponse:
    """Return the answer to it."""
    one = configs.AlterConfigsResourceResponse(resource_type=kind, resource_name=name, error_code=code)
    return configs.IncrementalAlterConfigsResponse(responses=[one])


def test_refused_changes_of_users_and_quotas_are_told_as_such() -> None:
    """With the error of their user or entity; others beside them were made."""
    users = AlterUserScramCredentialsRequest(
        upsertions=[ScramCredentialUpsertion(name=name, mechanism=1) for name in ("anna", "bert")]
    )
    results = [
        AlterUserScramCredentialsResult(user="anna"),
        AlterUserScramCredentialsResult(user="bert", error_code=93),
    ]
    told = changes_of(
        ApiKey.ALTER_USER_SCRAM_CREDENTIALS, IMAGE, users, AlterUserScramCredentialsResponse(results=results)
    )
    assert [(one["user"], one.get("error")) for one in told] == [("anna", None), ("bert", "UNACCEPTABLE_CREDENTIAL")]
    entities = [[EntityData(entity_type="user", entity_name=name)] for name in ("anna", None)]
    quotas = AlterClientQuotasRequest(
        entries=[EntryData(entity=one, ops=[OpData(key="producer_byte_rate", value=1.0)]) for one in entities]
    )
    entries = [EntryResult(entity=entities[1], error_code=42), EntryResult(entity=entities[0])]
    told = changes_of(ApiKey.ALTER_CLIENT_QUOTAS, IMAGE, quotas, AlterClientQuotasResponse(entries=entries))
    assert [(one["entity"], one.get("error")) for one in told] == [
        ({"user": "anna"}, None),
        ({"user": None}, "INVALID_REQUEST"),
    ]


def test_configs_are_told_before_and_after() -> None:
    """With the error, if it was not done."""
    image = image_of([ConfigRecord(resource_type=2, resource_name="t", name="retention.ms", value="1")], IMAGE)
    key = ApiKey.INCREMENTAL_ALTER_CONFIGS
    told = changes_of(key, image, altered(2, "t", "retention.ms", "2"), answered(2, "t", 44))
    assert told == [
        {
            "resource": "TOPIC:t",
            "config": "retention.ms",
            "operation": "SET",
            "before": "1",
            "after": "2",
            "error": "POLICY_VIOLATION",
        }
    ]


@pytest.mark.parametrize("name", ["ssl.keystore.password", "listener.name.x.plain.sasl.jaas.config", "my.own.secret"])
def test_values_that_may_be_secret_are_never_told(name: str) -> None:
    """Passwords, and whatever nobody knows the type of."""
    told = changes_of(ApiKey.INCREMENTAL_ALTER_CONFIGS, IMAGE, altered(4, "1", name, "geheim"), answered(4, "1", 0))
    assert told[0]["after"] == "[hidden]"
    assert "geheim" not in json.dumps(told)


def test_credentials_are_not_looked_at() -> None:
    """Of users, their names and mechanisms."""
    request = AlterUserScramCredentialsRequest(
        upsertions=[ScramCredentialUpsertion(name="anna", mechanism=2, salt=b"s", salted_password=b"geheim")]
    )
    told = changes_of(
        ApiKey.ALTER_USER_SCRAM_CREDENTIALS, IMAGE, request, AlterUserScramCredentialsResponse(results=[])
    )
    assert told == [{"user": "anna", "mechanism": 2, "operation": "SET"}]


def test_topics_are_told_by_name() -> None:
    """Also those that are deleted by id, and how many partitions there were before."""
    removed = DeleteTopicsResponse(responses=[DeletableTopicResult(name=None, topic_id=TOPIC_ID)])
    assert changes_of(ApiKey.DELETE_TOPICS, IMAGE, DeleteTopicsRequest(), removed) == [{"topic": "t"}]
    more = CreatePartitionsRequest(topics=[CreatePartitionsTopic(name="t", count=5)])
    done = CreatePartitionsResponse(results=[CreatePartitionsTopicResult(name="t")])
    assert changes_of(ApiKey.CREATE_PARTITIONS, IMAGE, more, done) == [{"topic": "t", "before": 2, "after": 5}]
    many = CreateTopicsRequest(topics=[CreatableTopic(name=f"t{index}") for index in range(MOST + 5)])
    told = changes_of(ApiKey.CREATE_TOPICS, IMAGE, many, CreateTopicsResponse())
    assert (len(told), told[-1]) == (MOST + 1, {"more": True})


def test_the_gate_tells_who_changed_what_once_it_is_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is only tried is no change, and neither is what only asks."""
    log = audit.AuditLog(str(tmp_path / "audit.log"))
    monkeypatch.setattr(audit, "_current", log)
    gate = ChangesGate(everybody, lambda: IMAGE)
    assert gate.admit(context(9), API[ApiKey.METADATA], MetadataRequest()) is None
    request = CreateTopicsRequest(topics=[CreatableTopic(name="n")], validate_only=True)
    assert gate.admit(context(7), API[ApiKey.CREATE_TOPICS], request) is None
    request.validate_only = False
    found = gate.admit(context(7), API[ApiKey.CREATE_TOPICS], request)
    assert isinstance(found, Partly)
    assert (tmp_path / "audit.log").read_text() == ""
    found.merge(CreateTopicsResponse())
    (line,) = (tmp_path / "audit.log").read_text().splitlines()
    told = json.loads(line)
    assert (told["event"], told["principal"], told["host"], told["api"]) == (
        "changed",
        "User:anna",
        "10.0.0.7",
        "CreateTopics",
    )
    assert told["changes"][0]["topic"] == "n"
    log.close()
