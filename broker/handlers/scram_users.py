"""DescribeUserScramCredentials and AlterUserScramCredentials, both version 0 (KIP-554).

Any broker tells of credentials, from its image; the controller changes them (`controller.scram`). Passwords, salts and
keys are never told.
"""

from collections import Counter
from typing import Final

from odradek.broker.controller.controller import Controller
from odradek.broker.controller.scram import plan_scram_changes, refused_scram_changes
from odradek.broker.metadata.scram import ScramCredentials, ScramKey
from odradek.broker.metadata.source import MetadataImages
from odradek.broker.runtime.context import RequestContext
from odradek.broker.runtime.deferred import Deferred
from odradek.protocol.errors import ErrorCode
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
from odradek.protocol.scram import ScramMechanism

_TWICE: Final = "Cannot describe SCRAM credentials for the same user twice in a single request: "
_UNKNOWN: Final = "Attempt to describe a user credential that does not exist: "


class ScramUserHandlers:
    """Answers the requests about users of SCRAM."""

    def __init__(self, metadata: MetadataImages, controller: Controller | None) -> None:
        """`controller` is None where changes are handed on."""
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
        self, _context: RequestContext, request: AlterUserScramCredentialsRequest
    ) -> AlterUserScramCredentialsResponse | Deferred[AlterUserScramCredentialsResponse]:
        """Answer AlterUserScramCredentials."""
        assert self._controller is not None, "changes are handed on to the controller"
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
