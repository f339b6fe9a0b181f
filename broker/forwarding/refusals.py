"""The answer to a request that nobody could work on: its code wherever the API has a place for one.

Some APIs have a place at the top, others one for each topic or resource of the request.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from struct import Struct
from types import MappingProxyType
from typing import Any, Final

from odradek.broker.runtime.responses import CloseConnectionError, Response
from odradek.protocol import codec
from odradek.protocol.codec import DecodeError, Message, decode, encode
from odradek.protocol.errors import ErrorCode
from odradek.protocol.headers import decode_request_header
from odradek.protocol.messages import alter_configs, incremental_alter_configs
from odradek.protocol.messages.alter_client_quotas import AlterClientQuotasResponse, EntryResult
from odradek.protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsResponse,
    AlterUserScramCredentialsResult,
)
from odradek.protocol.messages.create_acls import AclCreationResult, CreateAclsResponse
from odradek.protocol.messages.create_delegation_token import CreateDelegationTokenResponse
from odradek.protocol.messages.create_partitions import CreatePartitionsResponse, CreatePartitionsTopicResult
from odradek.protocol.messages.create_topics import CreatableTopicResult, CreateTopicsResponse
from odradek.protocol.messages.delete_acls import DeleteAclsFilterResult, DeleteAclsResponse
from odradek.protocol.messages.delete_topics import DeletableTopicResult, DeleteTopicsResponse
from odradek.protocol.messages.expire_delegation_token import ExpireDelegationTokenResponse
from odradek.protocol.messages.renew_delegation_token import RenewDelegationTokenResponse
from odradek.protocol.registry import API, ApiKey

_CORRELATION: Final = Struct(">i")
_NO_TIME: Final = -1


def refused(frame: bytes, code: ErrorCode) -> Response:
    """Return the answer to a request, header included; the end of the connection where there is no place for a code."""
    try:
        header, position = decode_request_header(frame)
        api = API[ApiKey(header.api_key)]
        version = header.api_version
        request = decode(api.request, frame, version, position)[0]
    except DecodeError as bad:
        return CloseConnectionError(f"the request does not parse: {bad}")
    each = _EACH.get(api.key)
    response = each(request, code) if each is not None else api.response()
    if each is None:
        if not hasattr(response, "error_code"):
            return CloseConnectionError(f"{api.name} cannot be answered: {code.name}")
        response.error_code = int(code)
    head = _CORRELATION.pack(header.correlation_id) + (b"\0" if api.is_flexible(version) else b"")
    return head + encode(response, version)


def _create_topics(request: Any, code: ErrorCode) -> Message:
    return CreateTopicsResponse(
        topics=[CreatableTopicResult(name=one.name, error_code=code, configs=[]) for one in request.topics]
    )


def _create_partitions(request: Any, code: ErrorCode) -> Message:
    return CreatePartitionsResponse(
        results=[CreatePartitionsTopicResult(name=one.name, error_code=code) for one in request.topics]
    )


def _delete_topics(request: Any, code: ErrorCode) -> Message:
    named = [DeletableTopicResult(name=one.name, topic_id=one.topic_id, error_code=code) for one in request.topics]
    return DeleteTopicsResponse(
        responses=[*named, *(DeletableTopicResult(name=name, error_code=code) for name in request.topic_names)]
    )


def _alter_client_quotas(request: Any, code: ErrorCode) -> Message:
    return AlterClientQuotasResponse(
        entries=[EntryResult(error_code=code, error_message=None, entity=one.entity) for one in request.entries]
    )


def _alter_users(request: Any, code: ErrorCode) -> Message:
    users = dict.fromkeys(one.name for one in [*request.deletions, *request.upsertions])
    return AlterUserScramCredentialsResponse(
        results=[AlterUserScramCredentialsResult(user=user, error_code=code, error_message=None) for user in users]
    )


def _create_token(_request: Any, code: ErrorCode) -> Message:
    return CreateDelegationTokenResponse(
        error_code=code, issue_timestamp_ms=_NO_TIME, expiry_timestamp_ms=_NO_TIME, max_timestamp_ms=_NO_TIME
    )


def _renew_token(_request: Any, code: ErrorCode) -> Message:
    return RenewDelegationTokenResponse(error_code=code, expiry_timestamp_ms=_NO_TIME)


def _expire_token(_request: Any, code: ErrorCode) -> Message:
    return ExpireDelegationTokenResponse(error_code=code, expiry_timestamp_ms=_NO_TIME)


def _create_acls(request: Any, code: ErrorCode) -> Message:
    return CreateAclsResponse(results=[AclCreationResult(error_code=code) for _ in request.creations])


def _delete_acls(request: Any, code: ErrorCode) -> Message:
    return DeleteAclsResponse(filter_results=[DeleteAclsFilterResult(error_code=code) for _ in request.filters])


def _refused_changes(response: type[Message], result: type[codec.Struct]) -> Callable[[Any, ErrorCode], Message]:
    """Both APIs that change configs answer for each resource, with classes of their own."""

    def refuse(request: Any, code: ErrorCode) -> Message:
        results = [
            result(error_code=code, resource_type=one.resource_type, resource_name=one.resource_name)
            for one in request.resources
        ]
        return response(responses=results)

    return refuse


_EACH: Mapping[ApiKey, Callable[[Any, ErrorCode], Message]] = MappingProxyType(
    {
        ApiKey.CREATE_TOPICS: _create_topics,
        ApiKey.CREATE_PARTITIONS: _create_partitions,
        ApiKey.DELETE_TOPICS: _delete_topics,
        ApiKey.ALTER_CLIENT_QUOTAS: _alter_client_quotas,
        ApiKey.ALTER_USER_SCRAM_CREDENTIALS: _alter_users,
        ApiKey.CREATE_DELEGATION_TOKEN: _create_token,
        ApiKey.RENEW_DELEGATION_TOKEN: _renew_token,
        ApiKey.EXPIRE_DELEGATION_TOKEN: _expire_token,
        ApiKey.CREATE_ACLS: _create_acls,
        ApiKey.DELETE_ACLS: _delete_acls,
        ApiKey.ALTER_CONFIGS: _refused_changes(
            alter_configs.AlterConfigsResponse, alter_configs.AlterConfigsResourceResponse
        ),
        ApiKey.INCREMENTAL_ALTER_CONFIGS: _refused_changes(
            incremental_alter_configs.IncrementalAlterConfigsResponse,
            incremental_alter_configs.AlterConfigsResourceResponse,
        ),
    }
)
