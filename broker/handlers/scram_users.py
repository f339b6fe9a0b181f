"""DescribeUserScramCredentials and AlterUserScramCredentials, both version 0 (KIP-554).

Any broker tells of credentials, from its image; the controller changes them (`controller.scram`). Passwords, salts and
keys are never told.
"""

from asyncio import AbstractEventLoop
from collections import Counter
from collections.abc import Callable
from typing import Any, Final

from odradek.broker.controller.controller import Controller
from odradek.broker.controller.scram import TOO_MANY, are_too_many, plan_scram_changes, refused_scram_changes
from odradek.broker.handlers.converting import Converter, in_task
from odradek.broker.metadata.scram import ScramCredentials, ScramKey
from odradek.broker.metadata.source import MetadataImages
from odradek.broker.runtime.context import RequestContext
from odradek.broker.runtime.deferred import Deferred
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
)
from odradek.protocol.messages.describe_user_scram_credentials import (
    CredentialInfo,
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
    DescribeUserScramCredentialsResult,
)
from odradek.protocol.registry import encode
from odradek.protocol.scram import ScramMechanism

_TWICE: Final = "Cannot describe SCRAM credentials for the same user twice in a single request: "
_UNKNOWN: Final = "Attempt to describe a user credential that does not exist: "


class ScramUserHandlers:
    """Answers the requests about users of SCRAM."""

    def __init__(
        self,
        loop: AbstractEventLoop,
        metadata: MetadataImages,
        controller: Controller | None,
        converter: Callable[[], Converter],
    ) -> None:
        """`controller` is None where changes are handed on; `converter` has the thread for much."""
        self._loop = loop
        self._converter = converter
        self._metadata = metadata
        self._controller = controller

    def describe(
        self, _context: RequestContext, request: DescribeUserScramCredentialsRequest
    ) -> DescribeUserScramCredentialsResponse:
        """Answer DescribeUserScramCredentials."""
        credentials = self._metadata.image.scram_credentials
        asked = Counter(user.name for user in request.users or ())
        if not asked:
            results = [_result(name, infos) for name, infos in _by_user(credentials).items()]
        else:
            results = [_told(name, times, _of_user(credentials, name)) for name, times in asked.items()]
        return DescribeUserScramCredentialsResponse(error_message="", results=results)

    def alter(
        self, context: RequestContext, request: AlterUserScramCredentialsRequest
    ) -> AlterUserScramCredentialsResponse | Deferred[Any]:
        """Answer AlterUserScramCredentials; where it is refused as too large, with the bytes of the answer."""
        assert self._controller is not None, "changes are handed on to the controller"
        if are_too_many(request):
            version, error = context.api_version, KafkaError(ErrorCode.POLICY_VIOLATION, TOO_MANY)
            work = self._converter().run(lambda: encode(refused_scram_changes(request, error), version), 0)
            return in_task(self._loop, work)
        return self._controller.change(
            lambda view: plan_scram_changes(view, request), lambda error: refused_scram_changes(request, error)
        )


def _by_user(credentials: ScramCredentials) -> dict[str, list[CredentialInfo]]:
    found: dict[str, list[CredentialInfo]] = {}
    for key, credential in sorted(credentials.items()):
        info = CredentialInfo(mechanism=key.mechanism, iterations=credential.iterations)
        found.setdefault(key.user, []).append(info)
    return found


def _of_user(credentials: ScramCredentials, name: str) -> list[CredentialInfo]:
    found = [(one, credentials.get(ScramKey(name, one))) for one in ScramMechanism]
    return [CredentialInfo(mechanism=one, iterations=has.iterations) for one, has in found if has is not None]


def _told(name: str, times: int, infos: list[CredentialInfo]) -> DescribeUserScramCredentialsResult:
    if times > 1:
        return _refused(name, ErrorCode.DUPLICATE_RESOURCE, _TWICE)
    if not infos:
        return _refused(name, ErrorCode.RESOURCE_NOT_FOUND, _UNKNOWN)
    return _result(name, infos)


def _result(name: str, infos: list[CredentialInfo]) -> DescribeUserScramCredentialsResult:
    return DescribeUserScramCredentialsResult(user=name, error_message="", credential_infos=infos)


def _refused(name: str, code: ErrorCode, message: str) -> DescribeUserScramCredentialsResult:
    return DescribeUserScramCredentialsResult(user=name, error_code=code, error_message=message + name)
