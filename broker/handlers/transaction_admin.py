"""DescribeTransactions (0) and ListTransactions (0-2): what administrators ask of transactions (KIP-664).

Version notes: ListTransactions filters by how long a transaction has been open from v1 (KIP-994), and by a regular
expression for the whole transactional id from v2 (KIP-1152), in the syntax that subscriptions have (RE2).
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from odradek.broker.coordinator.background import Slices
from odradek.broker.groups.consumer.regex_syntax import InvalidExpressionError
from odradek.broker.groups.consumer.regexes import Expression
from odradek.broker.runtime.context import RequestContext
from odradek.broker.runtime.deferred import Deferred, then
from odradek.broker.transactions.coordinator import TransactionCoordinator
from odradek.broker.transactions.state import STATE_TITLES, TransactionMetadata
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.describe_transactions import (
    DescribedTransactionState,
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
    DescribeTransactionsTopic,
)
from odradek.protocol.messages.list_transactions import (
    ListedTransactionState,
    ListTransactionsRequest,
    ListTransactionsResponse,
)

_IDS_PER_SLICE: Final = 500


class TransactionAdminHandlers:
    """Answers administrators."""

    def __init__(self, coordinator: TransactionCoordinator) -> None:
        self._coordinator = coordinator

    def describe_transactions(
        self, _context: RequestContext, request: DescribeTransactionsRequest
    ) -> DescribeTransactionsResponse | Deferred[DescribeTransactionsResponse]:
        """Answer DescribeTransactions; an id that comes twice is answered once."""
        found = self._coordinator.background.each(dict.fromkeys(request.transactional_ids), self._describe)
        return then(found, lambda states: DescribeTransactionsResponse(transaction_states=states))

    def _describe(self, transactional_id: str) -> DescribedTransactionState:
        described = DescribedTransactionState(transactional_id=transactional_id)
        if not transactional_id:
            described.error_code = ErrorCode.INVALID_REQUEST
            return described
        try:
            known = self._coordinator.describe(transactional_id)
        except KafkaError as elsewhere:
            described.error_code = elsewhere.code
            return described
        if known is None:
            described.error_code = ErrorCode.TRANSACTIONAL_ID_NOT_FOUND
            return described
        described.transaction_state = known.state.title
        described.transaction_timeout_ms = known.timeout_ms
        described.transaction_start_time_ms = known.started_ms
        described.producer_id = known.producer_id
        described.producer_epoch = known.producer_epoch
        described.topics = [
            DescribeTransactionsTopic(topic=topic, partitions=sorted(indexes))
            for topic, indexes in known.partitions.items()
        ]
        return described

    def list_transactions(
        self, _context: RequestContext, request: ListTransactionsRequest
    ) -> ListTransactionsResponse | Deferred[ListTransactionsResponse]:
        """Answer ListTransactions: COORDINATOR_LOAD_IN_PROGRESS while some of this broker's ids are not known yet, and
        INVALID_REGULAR_EXPRESSION for a pattern that is none."""
        shards, are_all = self._coordinator.shards()
        if not are_all:
            return ListTransactionsResponse(error_code=ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
        expression = None
        if request.transactional_id_pattern:
            try:
                expression = Expression(request.transactional_id_pattern)
            except InvalidExpressionError:
                return ListTransactionsResponse(error_code=ErrorCode.INVALID_REGULAR_EXPRESSION)
        now = self._coordinator.clock.now_ms()

        def slices() -> Slices[ListTransactionsResponse]:
            asked: dict[str, None] = {}
            for start in range(0, len(request.state_filters), _IDS_PER_SLICE):
                asked |= dict.fromkeys(request.state_filters[start : start + _IDS_PER_SLICE])
                yield
            unknown = [title for title in asked if title not in STATE_TITLES]
            yield
            matches = _Filter(request, asked.keys() & STATE_TITLES, now)
            listed: list[ListedTransactionState] = []
            for shard in shards:
                ids = list(shard.transactions)
                for start in range(0, len(ids), _IDS_PER_SLICE):
                    portion = ids[start : start + _IDS_PER_SLICE]
                    matching = frozenset(portion) if expression is None else (yield from expression.matching(portion))
                    for transactional_id in portion:
                        known = shard.transactions.get(transactional_id)
                        if known is not None and transactional_id in matching and matches(known):
                            listed.append(
                                ListedTransactionState(
                                    transactional_id=transactional_id,
                                    producer_id=known.producer_id,
                                    transaction_state=known.state.title,
                                )
                            )
                    yield
            return ListTransactionsResponse(unknown_state_filters=unknown, transaction_states=listed)

        count = len(request.state_filters) + sum(len(shard.transactions) for shard in shards)
        return self._coordinator.background.result_of(count, slices())


class _Filter:
    """Which transactions are asked for, by what is known of them."""

    def __init__(self, request: ListTransactionsRequest, states: Collection[str], now: int) -> None:
        """`states` are those of the request that there are; where it names others only, nothing is in one."""
        self._states = states if request.state_filters else STATE_TITLES
        self._producer_ids = frozenset(request.producer_id_filters)
        self._longest_start = now - request.duration_filter if request.duration_filter >= 0 else None

    def __call__(self, known: TransactionMetadata) -> bool:
        if self._producer_ids and known.producer_id not in self._producer_ids:
            return False
        if known.state.title not in self._states:
            return False
        return self._longest_start is None or known.started_ms < self._longest_start
