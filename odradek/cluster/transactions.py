"""Transactions as their coordinators see them: ListTransactions, DescribeTransactions, and ending one (KIP-664).

A coordinator may be on its way: with the first word about a transactional id its topic is made, and a new leader reads
its partition first. It is asked again for as long as a request may take, as Java's admin client does.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

from odradek.client.errors import ClientError, ConnectionLostError
from odradek.cluster.broker_requests import Address, BrokerRequests, check
from odradek.cluster.errors import ANSWER_TIMEOUT_S
from odradek.cluster.log_dirs import error_name
from odradek.cluster.offsets import Partition
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.describe_transactions import (
    DescribedTransactionState,
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
)
from odradek.protocol.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from odradek.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from odradek.protocol.messages.list_transactions import ListTransactionsRequest, ListTransactionsResponse
from odradek.terminal.errors import CommandError, WrongUsageError

PAUSE_S: Final = 0.1
_TRANSACTION: Final = 1
"""The kind of key that FindCoordinator is asked for."""
_LATER: Final = frozenset(
    {
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.CONCURRENT_TRANSACTIONS,
    }
)
"""Errors that pass by themselves: the coordinator is on its way, or just ending the transaction."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class TransactionSelection:
    """Which transactions; what is empty or None lets all through."""

    states: Sequence[str] = ()
    """Kafka's names: Ongoing, PrepareCommit, ..."""
    producer_ids: Sequence[int] = ()
    duration_ms: int | None = None
    """Those that have been open for longer (since Kafka 3.8)."""
    pattern: str | None = None
    """A regular expression for the whole transactional id (since Kafka 4.1)."""


NO_FILTER: Final = TransactionSelection()


@dataclass(frozen=True, slots=True)
class ListedTransaction:
    """A transactional id as its coordinator lists it."""

    transactional_id: str
    coordinator: int
    producer_id: int
    state: str


@dataclass(frozen=True, slots=True)
class TransactionDescription:
    """What a coordinator knows of a transactional id; times are milliseconds."""

    transactional_id: str
    coordinator: int
    producer_id: int
    producer_epoch: int
    state: str
    timeout_ms: int
    started_ms: int | None
    """Since 1970; None where no transaction is open."""
    partitions: Sequence[Partition]
    """Those that still wait for the end of the transaction, in order."""


@dataclass(frozen=True, slots=True)
class Successor:
    """The producer that a transactional id was given when its transaction was ended."""

    producer_id: int
    producer_epoch: int


def list_transactions(
    requests: BrokerRequests, brokers: Mapping[int, Address], only: TransactionSelection = NO_FILTER
) -> list[ListedTransaction]:
    """Return the transactional ids of all coordinators, by id.

    Raises:
        WrongUsageError: a filter names no state, or is no regular expression.
        CommandError: a broker does not answer, so that the list were not whole, or does not know a filter.
    """
    request = ListTransactionsRequest(
        state_filters=list(only.states),
        producer_id_filters=list(only.producer_ids),
        transactional_id_pattern=only.pattern,
    )
    if only.duration_ms is not None:
        request.duration_filter = only.duration_ms
    _check_served(requests, brokers, only)
    ids = {address: number for number, address in brokers.items()}
    listed: list[ListedTransaction] = []
    answers = _patiently(
        lambda: requests.ask_each(dict.fromkeys(ids, request), ListTransactionsResponse),
        lambda found: [each.error_code for each in found.values() if not isinstance(each, ClientError)],
    )
    for address, answer in answers.items():
        what = f"the transactions of broker {ids[address]}"
        if isinstance(answer, ClientError):
            raise CommandError(f"{what}: {answer}") from answer
        if answer.error_code == ErrorCode.INVALID_REGULAR_EXPRESSION:
            raise WrongUsageError(f"{only.pattern!r} is no regular expression (RE2) that the broker takes")
        if answer.unknown_state_filters:
            raise WrongUsageError(f"no transaction can have the state {', '.join(answer.unknown_state_filters)}")
        _check(answer.error_code, what)
        listed += [
            ListedTransaction(each.transactional_id, ids[address], each.producer_id, each.transaction_state)
            for each in answer.transaction_states
        ]
    return sorted(listed, key=lambda each: each.transactional_id)


def describe_transactions(requests: BrokerRequests, ids: Collection[str]) -> dict[str, TransactionDescription | None]:
    """Return what the coordinators know of transactional ids, None for an id that does not exist.

    CommandError where a coordinator does not answer.
    """
    found: dict[str, TransactionDescription | None] = {}

    def ask() -> Mapping[str, int]:
        left = [each for each in ids if each not in found]
        places, problems = _coordinators(requests, left)
        questions: dict[tuple[int, Address], list[str]] = {}
        for transactional_id, place in places.items():
            questions.setdefault(place, []).append(transactional_id)
        answers = requests.ask_each(
            {place[1]: DescribeTransactionsRequest(transactional_ids=asked) for place, asked in questions.items()},
            DescribeTransactionsResponse,
        )
        for (coordinator, address), asked in questions.items():
            answer = answers[address]
            if isinstance(answer, ConnectionLostError):
                problems |= dict.fromkeys(asked, int(ErrorCode.COORDINATOR_NOT_AVAILABLE))
            elif isinstance(answer, ClientError):
                raise CommandError(f"the transactions of broker {coordinator}: {answer}") from answer
            else:
                for state in answer.transaction_states:
                    if state.error_code == ErrorCode.TRANSACTIONAL_ID_NOT_FOUND:
                        found[state.transactional_id] = None
                    elif state.error_code:
                        problems[state.transactional_id] = state.error_code
                    else:
                        found[state.transactional_id] = _description(coordinator, state)
        return problems

    if ids:
        problems = _patiently(ask, lambda told: told.values())
        for transactional_id, code in problems.items():
            _check(code, _what(transactional_id))
    return {each: found[each] for each in ids}


def force_terminate(requests: BrokerRequests, transaction: TransactionDescription) -> Successor:
    """Fence the producer of a transactional id, whose open transaction is aborted; return who has the id now.

    The coordinator does so for who asks for the id anew (InitProducerId); the id keeps its timeout. CommandError where
    it does not do it in time.
    """
    name = transaction.transactional_id
    request = InitProducerIdRequest(transactional_id=name, transaction_timeout_ms=transaction.timeout_ms)

    def ask() -> InitProducerIdResponse:
        places, problems = _coordinators(requests, [name])
        if name in problems:
            return InitProducerIdResponse(error_code=problems[name])
        try:
            return requests.ask_at(places[name][1], request, InitProducerIdResponse)
        except ConnectionLostError:
            return InitProducerIdResponse(error_code=ErrorCode.COORDINATOR_NOT_AVAILABLE)
        except ClientError as refused:
            raise CommandError(f"{_what(name)}: {refused}") from refused

    answer = _patiently(ask, lambda told: [told.error_code])
    _check(answer.error_code, _what(name))
    return Successor(answer.producer_id, answer.producer_epoch)


def _coordinators(
    requests: BrokerRequests, ids: Sequence[str]
) -> tuple[dict[str, tuple[int, Address]], dict[str, int]]:
    """Return the coordinator of each transactional id with its address, and the error codes of those without one."""
    request = FindCoordinatorRequest(key_type=_TRANSACTION, coordinator_keys=list(ids))
    answer = requests.ask(request, FindCoordinatorResponse, "the coordinators of transactions")
    check(answer.error_code, answer.error_message, "the coordinators of transactions")
    told = {each.key: each for each in answer.coordinators}
    missing = [each for each in ids if each not in told]
    if missing:
        raise CommandError(f"{_what(missing[0])}: the brokers do not look up coordinators as Kafka does since 3.0")
    places = {
        each: (told[each].node_id, (told[each].host, told[each].port)) for each in ids if not told[each].error_code
    }
    return places, {each: told[each].error_code for each in ids if told[each].error_code}


def _description(coordinator: int, state: DescribedTransactionState) -> TransactionDescription:
    return TransactionDescription(
        transactional_id=state.transactional_id,
        coordinator=coordinator,
        producer_id=state.producer_id,
        producer_epoch=state.producer_epoch,
        state=state.transaction_state,
        timeout_ms=state.transaction_timeout_ms,
        started_ms=state.transaction_start_time_ms if state.transaction_start_time_ms >= 0 else None,
        partitions=sorted((each.topic, number) for each in state.topics for number in each.partitions),
    )


def _check_served(requests: BrokerRequests, brokers: Mapping[int, Address], only: TransactionSelection) -> None:
    """Raise CommandError where a broker would list transactions without looking at a filter."""
    needed = 2 if only.pattern is not None else 1 if only.duration_ms is not None else 0
    for number, address in brokers.items() if needed else ():
        try:
            version = requests.newest_at(address, ListTransactionsRequest)
        except ClientError as refused:
            raise CommandError(f"the transactions of broker {number}: {refused}") from refused
        if version < needed:
            option = "transactional ids by a pattern" if needed == 2 else "transactions by their duration"
            raise CommandError(
                f"broker {number} cannot choose {option}; its ListTransactions ends at version {version}"
            )


def _patiently(ask: Callable[[], T], codes: Callable[[T], Iterable[int]]) -> T:
    """Ask until no error is left that passes by itself, for ANSWER_TIMEOUT_S seconds at most."""
    deadline = time.monotonic() + ANSWER_TIMEOUT_S
    while True:
        found = ask()
        if _LATER.isdisjoint(codes(found)) or time.monotonic() >= deadline:
            return found
        time.sleep(PAUSE_S)


def _check(code: int, what: str) -> None:
    if code in _LATER:
        raise CommandError(
            f"{what}: {error_name(code)} for {ANSWER_TIMEOUT_S:g} seconds; the coordinator is still starting, a broker "
            "of __transaction_state or of the transaction's partitions is away, or __transaction_state cannot be made"
        )
    check(code, None, what)


def _what(transactional_id: str) -> str:
    return f"transactional id {transactional_id}"
