"""DescribeClientQuotas (0-1) and AlterClientQuotas (0-1): how much users, client ids and addresses may take (KIP-546).

What may be set is decided in `broker.controller.client_quotas`. As in Kafka an entity that stands twice in a request is
answered once, with an error, although its first entry is carried out.
"""

from __future__ import annotations

from asyncio import AbstractEventLoop
from collections.abc import Iterator, Sequence
from typing import Any, Final

from odradek.broker.controller.client_quotas import MAX_RECORDS, QuotaAlteration, parts_of, plan_quotas, too_many
from odradek.broker.controller.controller import Controller
from odradek.broker.controller.controller_view import ControllerView
from odradek.broker.handlers.converting import Converter, in_task
from odradek.broker.metadata.client_quotas import CLIENT_ID, IP, USER, ClientQuotas, EntityQuotas, QuotaEntity
from odradek.broker.metadata.records import MetadataRecord
from odradek.broker.metadata.source import MetadataImages
from odradek.broker.runtime.addresses import literal_address, look_up
from odradek.broker.runtime.context import RequestContext
from odradek.broker.runtime.deferred import Deferred, then
from odradek.protocol.codec import encode
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages import alter_client_quotas
from odradek.protocol.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasResponse,
    EntryResult,
)
from odradek.protocol.messages.describe_client_quotas import (
    ComponentData,
    DescribeClientQuotasRequest,
    DescribeClientQuotasResponse,
    EntityData,
    EntryData,
    ValueData,
)

MATCH_EXACT: Final = 0
MATCH_DEFAULT: Final = 1
MATCH_SPECIFIED: Final = 2
_TYPES: Final = (USER, CLIENT_ID, IP)

MAX_HOSTS: Final = 100
"""Names of hosts in one request that are looked up: each may take seconds."""
MANY: Final = 500
"""Entities, parts of them and changes from which on a thread works on them."""

_Altered = AlterClientQuotasResponse | Deferred[Any]
"""What comes later may be the response as it goes out, if it was large."""
_Outcome = dict[QuotaEntity, KafkaError | None]


class ClientQuotaHandlers:
    """Answers the requests about quotas of clients."""

    def __init__(
        self, loop: AbstractEventLoop, metadata: MetadataImages, controller: Controller | None, converter: Converter
    ) -> None:
        """`controller` changes quotas, None where they are changed elsewhere; `converter` has the thread for much."""
        self._loop = loop
        self._metadata = metadata
        self._controller = controller
        self._converter = converter

    def describe_client_quotas(
        self, context: RequestContext, request: DescribeClientQuotasRequest
    ) -> DescribeClientQuotasResponse | Deferred[Any]:
        """Answer DescribeClientQuotas."""
        quotas, version = self._metadata.image.client_quotas, context.api_version
        if len(quotas) <= MANY:
            return _described(quotas, request)
        work = self._converter.run(lambda: encode(_described(quotas, request), version), 0)
        return in_task(self._loop, work)

    def alter_client_quotas(self, context: RequestContext, request: AlterClientQuotasRequest) -> _Altered:
        """Answer AlterClientQuotas, once what can be done is kept."""
        if sum(1 + len(entry.ops) + len(entry.entity) for entry in request.entries) > MANY:
            return in_task(self._loop, self._alter_many(context.api_version, request), is_kept=True)
        alterations = _alterations(request)
        hosts = _hosts(alterations)
        if hosts:
            return in_task(self._loop, self._look_up_first(context.api_version, request), is_kept=True)
        return then(self._alter(alterations, (), validate_only=request.validate_only), _answer)

    async def _look_up_first(self, version: int, request: AlterClientQuotasRequest) -> bytes:
        alterations = _alterations(request)
        unknown = await self._unknown_hosts(_hosts(alterations))
        outcome = self._alter(alterations, unknown, validate_only=request.validate_only)
        return encode(_answer(await outcome if isinstance(outcome, Deferred) else outcome), version)

    async def _alter_many(self, version: int, request: AlterClientQuotasRequest) -> bytes:
        """Do the same for so much that every step of it would hold up the event loop."""
        run = self._converter.run
        if len(request.entries) > MAX_RECORDS:
            return await run(lambda: encode(_too_many(request), version), 0)
        alterations = await run(lambda: _alterations(request), 0)
        unknown = await self._unknown_hosts(await run(lambda: _hosts(alterations), 0))
        outcome = self._alter(alterations, unknown, validate_only=request.validate_only)
        answered = await outcome if isinstance(outcome, Deferred) else outcome
        return await run(lambda: encode(_answer(answered), version), 0)

    async def _unknown_hosts(self, hosts: Sequence[str]) -> Sequence[str]:
        # what is more than may be looked up is as good as unknown: nobody has so many
        first, rest = hosts[:MAX_HOSTS], hosts[MAX_HOSTS:]
        if not first:
            return ()
        return [*await self._loop.run_in_executor(None, _without_address, first), *rest]

    def _alter(
        self, alterations: Sequence[QuotaAlteration], unknown_hosts: Sequence[str], *, validate_only: bool
    ) -> _Outcome | Deferred[_Outcome]:
        def plan(view: ControllerView) -> tuple[Sequence[MetadataRecord], _Outcome]:
            planned = plan_quotas(view.image.client_quotas, alterations, unknown_hosts)
            return [] if validate_only else planned.records, planned.refusals

        def refused(error: KafkaError) -> _Outcome:
            return {frozenset(one.entity.items()): error for one in alterations}

        assert self._controller is not None, "changes are handed on to the controller"
        return self._controller.change(plan, refused, wishes=sum(1 + len(one.ops) for one in alterations))


def _alterations(request: AlterClientQuotasRequest) -> list[QuotaAlteration]:
    return [
        QuotaAlteration(
            {part.entity_type: part.entity_name for part in entry.entity},
            [(op.key, None if op.remove else op.value) for op in entry.ops],
        )
        for entry in request.entries
    ]


def _hosts(alterations: Sequence[QuotaAlteration]) -> list[str]:
    """Return the names of hosts, which have to be looked up."""
    named = dict.fromkeys(host for one in alterations if (host := one.entity.get(IP)))
    return [host for host in named if literal_address(host) is None]


def _without_address(hosts: Sequence[str]) -> list[str]:
    return [host for host in hosts if look_up(host) is None]


def _answer(outcome: _Outcome) -> AlterClientQuotasResponse:
    return AlterClientQuotasResponse(
        entries=[
            EntryResult(
                error_code=ErrorCode.NONE if refusal is None else refusal.code,
                error_message=None if refusal is None else refusal.message or None,
                entity=[
                    alter_client_quotas.EntityData(entity_type=part, entity_name=name)
                    for part, name in parts_of(dict(entity))
                ],
            )
            for entity, refusal in outcome.items()
        ]
    )


def _too_many(request: AlterClientQuotasRequest) -> AlterClientQuotasResponse:
    error = too_many()
    return AlterClientQuotasResponse(
        entries=[
            EntryResult(error_code=error.code, error_message=error.message, entity=entry.entity)
            for entry in request.entries
        ]
    )


def _described(quotas: ClientQuotas, request: DescribeClientQuotasRequest) -> DescribeClientQuotasResponse:
    try:
        found = list(_find(quotas, request))
    except KafkaError as error:
        return DescribeClientQuotasResponse(error_code=error.code, error_message=error.message, entries=None)
    return DescribeClientQuotasResponse(
        error_message="",
        entries=[
            EntryData(
                entity=[EntityData(entity_type=part, entity_name=name) for part, name in one.parts],
                values=[ValueData(key=key, value=value) for key, value in one.values.items()],
            )
            for one in found
        ],
    )


def _find(quotas: ClientQuotas, request: DescribeClientQuotasRequest) -> Iterator[EntityQuotas]:
    """Yield the entities that a request asks for; raise KafkaError if it asks for what cannot be."""
    exact: dict[str, str | None] = {}
    any_name: set[str] = set()
    for component in request.components:
        _check(component, exact.keys() | any_name)
        if component.match_type == MATCH_SPECIFIED:
            any_name.add(component.entity_type)
        else:
            exact[component.entity_type] = component.match
    types = exact.keys() | any_name
    if IP in types and len(types) > 1:
        raise _invalid(
            "Invalid entity filter component combination. IP filter component should not be used with user or clientId"
            " filter component."
        )
    wanted = frozenset(exact.items())
    if request.strict and not any_name:
        found = quotas.get(wanted)
        if found is not None:
            yield found
        return
    for entity, one in quotas.items():
        if request.strict and len(entity) != len(types):
            continue
        if wanted <= entity and (not any_name or any_name <= {part for part, _ in entity}):
            yield one


def _check(component: ComponentData, before: set[str]) -> None:
    """Raise KafkaError for a part that says nothing, or says it again."""
    part, match_type, match = component.entity_type, component.match_type, component.match
    if not part:
        raise _invalid("Invalid empty entity type.")
    if part in before:
        raise _invalid(f"Entity type {part} cannot appear more than once in the filter.")
    if part not in _TYPES:
        raise KafkaError(ErrorCode.UNSUPPORTED_VERSION, f"Unsupported entity type {part}")
    if match_type == MATCH_EXACT:
        if match is None:
            raise _invalid("Request specified MATCH_TYPE_EXACT, but set match string to null.")
    elif match_type in (MATCH_DEFAULT, MATCH_SPECIFIED):
        if match is not None:
            name = "DEFAULT" if match_type == MATCH_DEFAULT else "SPECIFIED"
            raise _invalid(f"Request specified MATCH_TYPE_{name}, but also specified a match string.")
    else:
        raise _invalid(f"Unknown match type {match_type}")


def _invalid(message: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_REQUEST, message)
