"""DescribeAcls, CreateAcls and DeleteAcls (0-3): who may do what, told and changed.

Any broker tells of ACLs, from its image; the controller changes them (`controller.acls`). Without an authorizer all
three say so. Version notes: v0 knows literal names alone. A number that means nothing ends the connection, as in Kafka;
one that stands for anything, in an ACL that is to be made, fails the whole request.
"""

from __future__ import annotations

from asyncio import AbstractEventLoop
from collections.abc import Callable, Sequence
from typing import Any, Final

from odradek.broker.controller.acls import MAX_CHANGES, TOO_MANY, Removed, plan_new_acls, plan_removed_acls
from odradek.broker.controller.controller import Controller
from odradek.broker.handlers.converting import Converter, in_task
from odradek.broker.metadata.acl_filters import AclFilter, matching
from odradek.broker.metadata.acls import AclImage
from odradek.broker.metadata.source import MetadataImages
from odradek.broker.runtime.context import RequestContext
from odradek.broker.runtime.deferred import Deferred, then
from odradek.broker.runtime.responses import CloseConnectionError
from odradek.protocol.acl_messages import acl_to_create
from odradek.protocol.acls import Acl
from odradek.protocol.codec import encode
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.create_acls import AclCreationResult, CreateAclsRequest, CreateAclsResponse
from odradek.protocol.messages.delete_acls import (
    DeleteAclsFilterResult,
    DeleteAclsMatchingAcl,
    DeleteAclsRequest,
    DeleteAclsResponse,
)
from odradek.protocol.messages.describe_acls import (
    AclDescription,
    DescribeAclsRequest,
    DescribeAclsResource,
    DescribeAclsResponse,
)

_Made = list[KafkaError | None]
_Outcome = list[Removed | KafkaError] | KafkaError

MANY: Final = 500
"""ACLs from which on a thread works on them."""
NO_AUTHORIZER: Final = "No Authorizer is configured."

_FOR_ANY: Final = {"resource_type": {1}, "pattern_type": {1, 2}, "operation": {1}, "permission_type": {1}}
"""Numbers that stand for more than one thing, which only filters may have."""


class AclHandlers:
    """Answers the requests about ACLs."""

    def __init__(
        self,
        loop: AbstractEventLoop,
        metadata: MetadataImages,
        controller: Controller | None,
        converter: Callable[[], Converter],
        *,
        is_on: bool,
    ) -> None:
        """`controller` changes ACLs, None where they are changed elsewhere; `converter` has the thread for much, and
        `is_on` says whether there is an authorizer."""
        self._loop = loop
        self._metadata = metadata
        self._controller = controller
        self._converter = converter
        self._is_on = is_on

    def describe_acls(
        self, context: RequestContext, request: DescribeAclsRequest
    ) -> DescribeAclsResponse | Deferred[Any]:
        """Answer DescribeAcls.

        Raises:
            CloseConnectionError: a number in the filter means nothing.
        """
        wanted = _filter_of(request)
        if not self._is_on:
            message = f"{NO_AUTHORIZER[:-1]} on the broker"
            return DescribeAclsResponse(error_code=ErrorCode.SECURITY_DISABLED, error_message=message)
        acls, version = self._metadata.image.acls, context.api_version
        if not wanted.scans or len(acls) <= MANY:
            return _described(acls, wanted)
        return in_task(self._loop, self._converter().run(lambda: encode(_described(acls, wanted), version), 0))

    def create_acls(
        self, _context: RequestContext, request: CreateAclsRequest
    ) -> CreateAclsResponse | Deferred[CreateAclsResponse]:
        """Answer CreateAcls, once what can be made is kept; raises what `describe_acls` does."""
        if len(request.creations) > MAX_CHANGES:
            refused = AclCreationResult(error_code=ErrorCode.POLICY_VIOLATION, error_message=TOO_MANY)
            return CreateAclsResponse(results=[refused] * len(request.creations))
        acls = [acl_to_create(one) for one in request.creations]
        problem = _check_all(acls)
        if not self._is_on:
            problem = KafkaError(ErrorCode.SECURITY_DISABLED, NO_AUTHORIZER)
        if problem is not None:
            return _created([problem] * len(acls))
        assert self._controller is not None, "changes are handed on to the controller"
        made: _Made | Deferred[_Made] = self._controller.change(
            lambda view: plan_new_acls(view, acls), lambda error: [error] * len(acls), wishes=len(acls)
        )
        return then(made, _created)

    def delete_acls(self, context: RequestContext, request: DeleteAclsRequest) -> DeleteAclsResponse | Deferred[Any]:
        """Answer DeleteAcls, once what is removed is gone for good; raises what `describe_acls` does."""
        if len(request.filters) > MAX_CHANGES:
            return _refused_removal(len(request.filters), KafkaError(ErrorCode.POLICY_VIOLATION, TOO_MANY))
        filters = [_filter_of(one) for one in request.filters]
        if not self._is_on:
            return _refused_removal(len(filters), KafkaError(ErrorCode.SECURITY_DISABLED, NO_AUTHORIZER))
        assert self._controller is not None, "changes are handed on to the controller"
        wishes = len(filters) + sum(one.scans for one in filters) * len(self._metadata.image.acls)
        removed: _Outcome | Deferred[_Outcome] = self._controller.change(
            lambda view: plan_removed_acls(view, filters), lambda error: error, wishes=wishes
        )
        if isinstance(removed, Deferred) or _is_large(removed):
            return in_task(self._loop, self._tell(removed, len(filters), context.api_version), is_kept=True)
        return _removed(removed, len(filters))

    async def _tell(self, removed: _Outcome | Deferred[_Outcome], count: int, version: int) -> Any:
        """Return the answer to `count` filters; as it goes out, made on the thread, where it is large."""
        outcome = await removed if isinstance(removed, Deferred) else removed
        if not _is_large(outcome):
            return _removed(outcome, count)
        return await self._converter().run(lambda: encode(_removed(outcome, count), version), 0)


def _filter_of(request: Any) -> AclFilter:
    """Return the filter of a request, or of a part of one; raises CloseConnectionError where a number means nothing."""
    found = AclFilter(
        request.resource_type_filter,
        request.pattern_type_filter,
        request.resource_name_filter,
        request.principal_filter,
        request.host_filter,
        request.operation,
        request.permission_type,
    )
    _check_known(found)
    return found


def _check_known(numbers: AclFilter | Acl) -> None:
    """Raise CloseConnectionError where a number is left open; of others that mean nothing, nothing comes."""
    if 0 in (numbers.resource_type, numbers.pattern_type, numbers.operation, numbers.permission_type):
        raise CloseConnectionError("a request about ACLs has a number that means nothing")


def _check_all(acls: Sequence[Acl]) -> KafkaError | None:
    """Return why none of the ACLs can be made, if so; raises CloseConnectionError where a number means nothing."""
    for acl in acls:
        _check_known(acl)
    for acl in acls:
        for name, several in _FOR_ANY.items():
            if getattr(acl, name) in several:
                text = f"{name.replace('_', ' ')} {getattr(acl, name)} stands for more than one"
                return KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, text)
    return None


def _described(acls: AclImage, wanted: AclFilter) -> DescribeAclsResponse:
    resources: dict[tuple[int, int, str], DescribeAclsResource] = {}
    for _, acl in matching(acls, wanted):
        key = (acl.resource_type, acl.pattern_type, acl.resource_name)
        resource = resources.get(key)
        if resource is None:
            resource = resources[key] = DescribeAclsResource(
                resource_type=acl.resource_type, resource_name=acl.resource_name, pattern_type=acl.pattern_type
            )
        resource.acls.append(
            AclDescription(
                principal=acl.principal,
                host=acl.host,
                operation=acl.operation,
                permission_type=acl.permission_type,
            )
        )
    return DescribeAclsResponse(error_message=None, resources=list(resources.values()))


def _created(results: Sequence[KafkaError | None]) -> CreateAclsResponse:
    return CreateAclsResponse(
        results=[
            AclCreationResult(error_message=None)
            if error is None
            else AclCreationResult(error_code=error.code, error_message=error.message or None)
            for error in results
        ]
    )


def _is_large(outcome: _Outcome) -> bool:
    if isinstance(outcome, KafkaError):
        return False
    return len(outcome) + sum(len(found) for found in outcome if isinstance(found, list)) > MANY


def _removed(outcome: _Outcome, count: int) -> DeleteAclsResponse:
    if isinstance(outcome, KafkaError):
        return _refused_removal(count, outcome)
    return DeleteAclsResponse(
        filter_results=[
            _refused_filter(found)
            if isinstance(found, KafkaError)
            else DeleteAclsFilterResult(
                error_message=None,
                matching_acls=[
                    DeleteAclsMatchingAcl(
                        error_message=None,
                        resource_type=acl.resource_type,
                        resource_name=acl.resource_name,
                        pattern_type=acl.pattern_type,
                        principal=acl.principal,
                        host=acl.host,
                        operation=acl.operation,
                        permission_type=acl.permission_type,
                    )
                    for acl in found
                ],
            )
            for found in outcome
        ]
    )


def _refused_removal(count: int, error: KafkaError) -> DeleteAclsResponse:
    return DeleteAclsResponse(filter_results=[_refused_filter(error)] * count)


def _refused_filter(error: KafkaError) -> DeleteAclsFilterResult:
    return DeleteAclsFilterResult(error_code=error.code, error_message=error.message or None)
