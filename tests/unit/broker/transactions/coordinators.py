"""A coordinator of transactions, and other brokers, that say what a test tells them to."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from odradek.broker.nodes.requests import Disconnected
from odradek.broker.runtime.deferred import Deferred
from odradek.broker.transactions.verification import Question, Refused, TransactionVerifier, Verdicts
from odradek.protocol.codec import Message
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.add_partitions_to_txn import AddPartitionsToTxnRequest
from odradek.storage.names import TopicPartition

HERE, ELSEWHERE = 1, 2
Call = tuple[str, str, int, int, tuple[TopicPartition, ...]]


@dataclass
class ScriptedCoordinator:
    """Coordinates what a test says, and remembers what it was asked."""

    leader: int = HERE
    code: ErrorCode = ErrorCode.NONE
    verdicts: Verdicts = field(default_factory=dict)
    """Instead of the code, where something is to be verified."""
    answers_later: bool = False
    calls: list[Call] = field(default_factory=list)
    unanswered: list[tuple[Deferred[ErrorCode] | Deferred[Verdicts], Sequence[TopicPartition]]] = field(
        default_factory=list
    )

    def leader_for(self, transactional_id: str) -> int:
        """Return the broker that coordinates everything."""
        return self.leader

    def add_partitions(
        self,
        transactional_id: str,
        producer_id: int,
        producer_epoch: int,
        partitions: Sequence[TopicPartition],
        version: int,
    ) -> ErrorCode | Deferred[ErrorCode]:
        """Add them, or say why not."""
        assert version == 2
        self.calls.append(("add", transactional_id, producer_id, producer_epoch, tuple(partitions)))
        if self.answers_later:
            later: Deferred[ErrorCode] = Deferred()
            self.unanswered.append((later, partitions))
            return later
        return self.code

    def verify_partitions(
        self, transactional_id: str, producer_id: int, producer_epoch: int, partitions: Sequence[TopicPartition]
    ) -> Verdicts | Deferred[Verdicts]:
        """Say whether they are part of the transaction."""
        self.calls.append(("verify", transactional_id, producer_id, producer_epoch, tuple(partitions)))
        if self.answers_later:
            later: Deferred[Verdicts] = Deferred()
            self.unanswered.append((later, partitions))
            return later
        return self.verdicts or dict.fromkeys(partitions, self.code)

    def answer(self) -> None:
        """Answer the oldest question."""
        later, partitions = self.unanswered.pop(0)
        later.resolve(self.code if self.calls[-1][0] == "add" else dict.fromkeys(partitions, self.code))  # type: ignore[arg-type]


@dataclass
class ScriptedBrokers:
    """Other brokers, which answer when a test says so."""

    sent: list[tuple[int, AddPartitionsToTxnRequest, Deferred[Message | Disconnected]]] = field(default_factory=list)

    def send(self, broker_id: int, request: Message, timeout_s: float) -> Deferred[Message | Disconnected]:
        """Remember a request."""
        assert isinstance(request, AddPartitionsToTxnRequest)
        answer: Deferred[Message | Disconnected] = Deferred()
        self.sent.append((broker_id, request, answer))
        return answer


def verifier(coordinator: ScriptedCoordinator, brokers: ScriptedBrokers | None = None) -> TransactionVerifier:
    """Return what asks them."""
    return TransactionVerifier(HERE, coordinator, brokers or ScriptedBrokers(), 30_000)


def told(outcome: Refused | Deferred[Refused]) -> list[Refused]:
    """Return a list that has the outcome, or will."""
    found: list[Refused] = []
    if isinstance(outcome, Deferred):
        outcome.on_done(found.append)
    else:
        found.append(outcome)
    return found


__all__ = ["ELSEWHERE", "HERE", "Question", "ScriptedBrokers", "ScriptedCoordinator", "told", "verifier"]
