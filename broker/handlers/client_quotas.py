"""DescribeClientQuotas (0-1) and AlterClientQuotas (0-1): how much users, client ids and addresses may take (KIP-546).

What may be set is decided in `broker.controller.client_quotas`. As in Kafka an entity that stands twice in a request is
answered once, with an error, although its first entry is carried out.
"""

from __future__ import annotations

from asyncio import AbstractEventLoop, Future
from collections.abc import Iterator, Sequence
from typing import Final

from odradek.broker.controller.client_quotas import PlannedQuotas, QuotaAlteration, parts_of, plan_quotas
from odradek.broker.controller.controller import Controller
from odradek.broker.controller.controller_view import ControllerView
from odradek.broker.metadata.client_quotas import CLIENT_ID, IP, USER, ClientQuotas, EntityQuotas, QuotaEntity
from odradek.broker.metadata.records import MetadataRecord
from odradek.broker.metadata.source import MetadataImages
from odradek.broker.runtime.addresses import literal_address, look_up
from odradek.broker.runtime.context import RequestContext
from odradek.broker.runtime.deferred import Deferred, then
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
"""Names of hosts in one request: each may take seconds to be looked up."""

_Altered = AlterClientQuotasResponse | Deferred[AlterClientQuotasResponse]
_Outcome = dict[QuotaEntity, KafkaError | None]


class ClientQuotaHandlers:
    """Answers the requests about quotas of clients."""

    def __init__(self, loop: AbstractEventLoop, metadata: MetadataImages, controller: Controller | None) -> None:
        """`controller` changes quotas, None where they are changed elsewhere."""
        self._loop = loop
        self._metadata = metadata
        self._controller = controller

    def describe_client_quotas(
        self, _context: RequestContext, request: DescribeClientQuotasRequest
    ) -> DescribeClientQuotasResponse:
        """Answer DescribeClientQuotas."""
        try:
            found = list(_find(self._metadata.image.client_quotas, request))
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

    def alter_client_quotas(self, _context: RequestContext, request: AlterClientQuotasRequest) -> _Altered:
        """Answer AlterClientQuotas, once what can be done is kept."""
        alterations = [
            QuotaAlteration(
                {part.entity_type: part.entity_name for part in entry.entity},
                [(op.key, None if op.remove else op.value) for op in entry.ops],
            )
            for entry in request.entries
        ]
        hosts = {host for one in alterations if (host := one.entity.get(IP)) and literal_address(host) is None}
        if not hosts:
            return self._alter(alterations, (), validate_only=request.validate_only)
        if len(hosts) > MAX_HOSTS:
            error = KafkaError(ErrorCode.POLICY_VIOLATION, f"more than {MAX_HOSTS} names of hosts in a request")
            return _answer(_all_refused(alterations, error))
        return self._look_up_first(alterations, sorted(hosts), validate_only=request.validate_only)

    def _look_up_first(
        self, alterations: Sequence[QuotaAlteration], hosts: Sequence[str], *, validate_only: bool
    ) -> Deferred[AlterClientQuotasResponse]:
        later: Deferred[AlterClientQuotasResponse] = Deferred()

        def found(done: Future[list[str]]) -> None:
            outcome = self._alter(alterations, done.result(), validate_only=validate_only)
            if isinstance(outcome, Deferred):
                outcome.on_done(later.resolve)
            else:
                later.resolve(outcome)

        self._loop.run_in_executor(None, _without_address, hosts).add_done_callback(found)
        return later

    def _alter(
        self, alterations: Sequence[QuotaAlteration], unknown_hosts: Sequence[str], *, validate_only: bool
    ) -> _Altered:
        def plan(view: ControllerView) -> tuple[Sequence[MetadataRecord], _Outcome]:
            planned: PlannedQuotas = plan_quotas(view.image.client_quotas, alterations, unknown_hosts)
            return [] if validate_only else planned.records, planned.refusals

        def refused(error: KafkaError) -> _Outcome:
            return _all_refused(alterations, error)

        assert self._controller is not None, "changes are handed on to the controller"
        wishes = sum(len(one.ops) for one in alterations)
        return then(self._controller.change(plan, refused, wishes=wishes), _answer)


def _all_refused(alterations: Sequence[QuotaAlteration], error: KafkaError) -> _Outcome:
    return {frozenset(one.entity.items()): error for one in alterations}


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


def _without_address(hosts: Sequence[str]) -> list[str]:
    return [host for host in hosts if look_up(host) is None]


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
