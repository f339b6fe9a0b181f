"""Requests for a controller that nobody could work on have their code wherever their answer has a place for it."""

from typing import Any

from odradek.broker.forwarding.refusals import refused
from odradek.protocol.codec import Message, decode, encode
from odradek.protocol.errors import ErrorCode
from odradek.protocol.headers import RequestHeader, decode_response_header, encode_request_header
from odradek.protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from odradek.protocol.messages.create_delegation_token import CreateDelegationTokenRequest
from odradek.protocol.messages.expire_delegation_token import ExpireDelegationTokenRequest
from odradek.protocol.messages.renew_delegation_token import RenewDelegationTokenRequest
from odradek.protocol.registry import API, ApiKey

CODE = ErrorCode.REQUEST_TIMED_OUT


def answer(request: Message, version: int) -> Any:
    """Return the refusal of a request."""
    api = API[ApiKey(request.SCHEMA.api_key)]
    frame = encode_request_header(RequestHeader(api.key, version, 7, "me")) + encode(request, version)
    said = refused(frame, CODE)
    assert isinstance(said, bytes)
    _, begin = decode_response_header(said, api.key, version)
    return decode(api.response, said, version, begin)[0]


def test_every_user_is_told_once() -> None:
    """Whether he was to be changed or to go."""
    request = AlterUserScramCredentialsRequest(
        deletions=[ScramCredentialDeletion(name="a", mechanism=1)],
        upsertions=[ScramCredentialUpsertion(name=name, mechanism=1) for name in ("a", "b")],
    )
    assert [(one.user, one.error_code) for one in answer(request, 0).results] == [("a", CODE), ("b", CODE)]


def test_tokens_that_were_not_changed_have_no_time() -> None:
    """As Kafka answers for a client that may not have any."""
    created = answer(CreateDelegationTokenRequest(owner_principal_type=None, owner_principal_name=None), 3)
    assert (created.error_code, created.max_timestamp_ms, created.hmac) == (CODE, -1, b"")
    for request in (RenewDelegationTokenRequest(), ExpireDelegationTokenRequest()):
        told = answer(request, 2)
        assert (told.error_code, told.expiry_timestamp_ms) == (CODE, -1)
