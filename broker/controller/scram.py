"""SCRAM credentials, as the active controller changes them: AlterUserScramCredentials (KIP-554).

Pure. Codes and sentences follow Kafka's `ScramControlManager`: what can be done is done, all in one change, and a user
who is named twice is left as he is.
"""

from collections.abc import Iterator
from typing import Final

from odradek.broker.controller.controller_view import ControllerView
from odradek.broker.metadata.records import MetadataRecord, make_record
from odradek.broker.metadata.scram import ScramKey, scram_record
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    AlterUserScramCredentialsResult,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from odradek.protocol.messages.metadata_records import RemoveUserScramCredentialRecord
from odradek.protocol.scram import MAX_ITERATIONS, MIN_ITERATIONS, ScramMechanism, credential_of

MAX_CHANGES: Final = 2_000
"""In one request, which cannot be divided: who is named twice is left as he is. They hold up others for 10 ms."""
_TWICE: Final = "A user credential cannot be altered twice in the same request"

TOO_MANY: Final = f"{MAX_CHANGES} credentials are changed in a request at most"

Change = ScramCredentialDeletion | ScramCredentialUpsertion


def plan_scram_changes(
    view: ControllerView, request: AlterUserScramCredentialsRequest
) -> tuple[list[MetadataRecord], AlterUserScramCredentialsResponse]:
    """Return the records of what can be done, and what became of each user; they are not too many (`TOO_MANY`)."""
    verdicts: dict[str, KafkaError | None] = {}
    records: dict[str, MetadataRecord] = {}
    for change in _changes(request):
        user = change.name
        if user in verdicts:
            if verdicts[user] is None:  # else the first error stays, as in Kafka
                records.pop(user)
                verdicts[user] = KafkaError(ErrorCode.DUPLICATE_RESOURCE, _TWICE)
            continue
        verdicts[user] = None
        try:
            records[user] = _record(view, change)
        except KafkaError as refused:
            verdicts[user] = refused.detached()
    return list(records.values()), AlterUserScramCredentialsResponse(
        results=[_result(user, verdict) for user, verdict in verdicts.items()]
    )


def are_too_many(request: AlterUserScramCredentialsRequest) -> bool:
    """Whether a request names more than `MAX_CHANGES` credentials."""
    return len(request.deletions) + len(request.upsertions) > MAX_CHANGES


def refused_scram_changes(
    request: AlterUserScramCredentialsRequest, error: KafkaError
) -> AlterUserScramCredentialsResponse:
    """Return the answer where nothing could be stored."""
    users = dict.fromkeys(change.name for change in _changes(request))
    return AlterUserScramCredentialsResponse(results=[_result(user, error) for user in users])


def _changes(request: AlterUserScramCredentialsRequest) -> Iterator[Change]:
    yield from request.deletions
    yield from request.upsertions


def _record(view: ControllerView, change: Change) -> MetadataRecord:
    """Return the record of one change; raise KafkaError where it cannot be made."""
    mechanism = _checked_mechanism(change)
    key = ScramKey(change.name, mechanism)
    if isinstance(change, ScramCredentialDeletion):
        if key not in view.image.scram_credentials:
            raise KafkaError(ErrorCode.RESOURCE_NOT_FOUND, "Attempt to delete a user credential that does not exist")
        return make_record(RemoveUserScramCredentialRecord(name=change.name, mechanism=mechanism))
    if change.iterations < MIN_ITERATIONS:
        raise KafkaError(ErrorCode.UNACCEPTABLE_CREDENTIAL, "Too few iterations")
    if change.iterations > MAX_ITERATIONS:
        raise KafkaError(ErrorCode.UNACCEPTABLE_CREDENTIAL, "Too many iterations")
    salted, salt = bytes(change.salted_password), bytes(change.salt)
    return make_record(scram_record(key, credential_of(mechanism, salted, salt, change.iterations)))


def _checked_mechanism(change: Change) -> ScramMechanism:
    if not change.name:
        raise KafkaError(ErrorCode.UNACCEPTABLE_CREDENTIAL, "Username must not be empty")
    try:
        return ScramMechanism(change.mechanism)
    except ValueError:
        raise KafkaError(ErrorCode.UNSUPPORTED_SASL_MECHANISM, "Unknown SCRAM mechanism") from None


def _result(user: str, verdict: KafkaError | None) -> AlterUserScramCredentialsResult:
    if verdict is None:
        return AlterUserScramCredentialsResult(user=user, error_message=None)
    return AlterUserScramCredentialsResult(user=user, error_code=verdict.code, error_message=verdict.message or None)
