"""Bugs that Kafka once had or that a rule of its keeps out, planted into the code that runs: what the simulation must
find if it is of any use.

Each comes with a kind of life in which what it takes is likely: the order of events is the seed's, not ours.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any
from unittest import mock

from odradek.broker.controller import isr_changes, registration
from odradek.broker.controller.broker_changes import in_isr, plan_departure
from odradek.broker.controller.controller_view import ControllerView
from odradek.broker.coordinator.writer import PartitionWriter
from odradek.broker.handlers.transactional_produce import Verifications, Verified
from odradek.broker.metadata.image import MetadataImage
from odradek.broker.metadata.records import MetadataRecord
from odradek.broker.partitions.partition import Partition
from odradek.broker.replication import fetcher, leadership
from odradek.broker.replication.eligibility import is_alive
from odradek.broker.replication.follower_session import FetchPosition
from odradek.broker.replication.following import Following
from odradek.broker.replication.leadership import Leadership
from odradek.broker.runtime.deferred import Deferred
from odradek.broker.transactions.shard import TransactionShard
from odradek.broker.transactions.state import TransactionMetadata
from odradek.broker.transactions.verification import Operation, of_produce
from odradek.protocol.messages.alter_partition import IsrMember
from odradek.protocol.messages.produce import ProduceRequest
from odradek.storage.checkpoints.leader_epochs import EpochEnd
from odradek.storage.producers.producer_entry import WrittenBatch
from odradek.storage.producers.producer_state import ProducerStates
from tests.simulation.shape import Fault, Shape


@dataclass(frozen=True, slots=True)
class Planted:
    """A bug, and the kind of life in which it shows."""

    plant: Callable[[ExitStack], None]
    """Puts it in, until the stack is left."""
    shape: Shape


def _truncate_to_high_watermark(stack: ExitStack) -> None:
    """Before KIP-101: a follower cuts its log to its high watermark, which lags behind what is acknowledged."""

    def cut(following: Following) -> None:
        if following.log_end_offset > following.partition.high_watermark:
            following.truncate_to(following.partition.high_watermark)

    stack.enter_context(mock.patch.object(Following, "cut_what_cannot_be_compared", cut))


def _trust_offset_of_unknown_epoch(stack: ExitStack) -> None:
    """Before KIP-279: a follower asks once where its last epoch ended, and takes the offset that the leader has for an
    older epoch, though its own log has another one there."""
    compared: set[tuple[Partition, int]] = set()
    true_position, true_truncate = Following.position, Following.truncate_to

    def position(following: Following) -> FetchPosition:
        found = true_position(following)
        if (following.partition, following.leader_epoch) in compared:
            return found._replace(last_fetched_epoch=-1)
        return found

    def truncate_to(following: Following, offset: int) -> None:
        compared.add((following.partition, following.leader_epoch))
        if offset < following.log_end_offset:
            true_truncate(following, offset)

    def point(log_end_offset: int, _own_end_of: Callable[[int], EpochEnd], leader: EpochEnd) -> int:
        return min(leader.end_offset, log_end_offset)

    stack.enter_context(mock.patch.object(Following, "position", position))
    stack.enter_context(mock.patch.object(Following, "truncate_to", truncate_to))
    stack.enter_context(mock.patch.object(fetcher, "truncation_point", point))


def _take_any_broker_epoch(stack: ExitStack) -> None:
    """Before KIP-903: whoever was caught up in an earlier life gets into the ISR."""

    def is_eligible(image: MetadataImage, broker_id: int, _broker_epoch: int | None) -> bool:
        return is_alive(image, broker_id)

    def may_join(view: ControllerView, member: IsrMember) -> bool:
        return view.is_active(member.broker_id)

    def check(_leadership: Leadership, _replica: int, _broker_epoch: int) -> None:
        """Fetches of an earlier life count."""

    stack.enter_context(mock.patch.object(leadership, "is_eligible", is_eligible))
    stack.enter_context(mock.patch.object(isr_changes, "_is_eligible", may_join))
    stack.enter_context(mock.patch.object(Leadership, "check_broker_epoch", check))


def _forget_unclean_shutdown(stack: ExitStack) -> None:
    """Before KIP-966: who comes back without having stopped in order may still lead, if it is the last one to stand."""

    def plan_loss(view: ControllerView, broker_id: int) -> list[MetadataRecord]:
        return plan_departure(view, broker_id, in_isr(view, broker_id))

    stack.enter_context(mock.patch.object(registration, "plan_loss", plan_loss))


def _read_past_open_transactions(stack: ExitStack) -> None:
    """What the last stable offset is for (KIP-98): readers of committed records are given what no marker has ended."""
    stack.enter_context(mock.patch.object(ProducerStates, "first_unstable_offset", return_value=None))


def _verify_nothing(stack: ExitStack) -> None:
    """Before KIP-890: a batch that comes after the end of its transaction begins another one, which nobody ends."""
    true_verify, true_check = Verifications.verify, ProducerStates.check

    def verify(asked: Verifications, request: ProduceRequest, version: int) -> Verified | Deferred[Verified]:
        is_added_by_asking = of_produce(version) is Operation.ADD
        return true_verify(asked, request, version) if is_added_by_asking else Verified()

    def check(states: ProducerStates, *arguments: Any) -> WrittenBatch | None:
        states.verify_transactions = False
        return true_check(states, *arguments)

    stack.enter_context(mock.patch.object(Verifications, "verify", verify))
    stack.enter_context(mock.patch.object(ProducerStates, "check", check))


def _decide_without_replicas(stack: ExitStack) -> None:
    """A coordinator tells the producer how its transaction ends, and sends markers, before its followers know of that:
    the next coordinator finds the transaction open, and ends it in another way."""
    true_write = TransactionShard._write

    def write(shard: TransactionShard, name: str, new: TransactionMetadata, *arguments: Any, **named: Any) -> None:
        with ExitStack() as hastily:
            if new.state.is_decided:
                hastily.enter_context(mock.patch.object(PartitionWriter, "is_safe", return_value=True))
            true_write(shard, name, new, *arguments, **named)

    stack.enter_context(mock.patch.object(TransactionShard, "_write", write))


_COPYING: dict[str, Any] = {"session_s": 1.0, "transactions_end_s": 30.0}
_BUSY: dict[str, Any] = {"partitions": 1, "faults_s": 8.0, "rest_s": (0.02, 0.4), "produce_pause_s": 0.05}

PLANTED = {
    "high-watermark-truncation": Planted(
        _truncate_to_high_watermark,
        Shape(
            **_BUSY,
            session_s=1.0,
            lag_s=5.0,
            faults={Fault.STAND_STILL: 2, Fault.CUT: 4, Fault.SLOW_NETWORK: 1},
        ),
    ),
    "fast-leader-fail-over": Planted(
        _trust_offset_of_unknown_epoch,
        Shape(
            **_BUSY,
            session_s=3.0,
            lag_s=10.0,
            faults={Fault.REASSIGN: 3, Fault.ELECT: 6, Fault.CUT: 3, Fault.SLOW_NETWORK: 1},
        ),
    ),
    "stale-broker-epoch": Planted(
        _take_any_broker_epoch,
        Shape(
            brokers=2,
            replicas=2,
            partitions=1,
            faults_s=15.0,
            rest_s=(0.2, 1.0),
            produce_pause_s=0.1,
            session_s=0.5,
            cut_s=(1.0, 4.0),
            cuts_controller=False,
            away_s=(0.05,),
            lag_s=10.0,
            faults={Fault.REPLACE_DISK: 3, Fault.CUT: 4, Fault.STAND_STILL: 1},
        ),
    ),
    "last-replica-standing": Planted(
        _forget_unclean_shutdown,
        Shape(
            **_BUSY,
            brokers=2,
            replicas=2,
            session_s=1.0,
            lag_s=2.0,
            faults={Fault.LOSE_POWER: 2, Fault.CUT: 3, Fault.STAND_STILL: 2},
        ),
    ),
    "no-last-stable-offset": Planted(
        _read_past_open_transactions, Shape(**_BUSY, copiers=1, session_s=1.0, faults={Fault.KILL: 2, Fault.CUT: 2})
    ),
    "late-write": Planted(
        _verify_nothing, Shape(**_BUSY, **_COPYING, copiers=1, faults={Fault.SLOW_NETWORK: 1, Fault.CUT: 3})
    ),
    "hasty-coordinator": Planted(
        _decide_without_replicas,
        Shape(
            **_BUSY,
            **_COPYING,
            brokers=2,
            replicas=2,
            copiers=1,
            cuts_controller=False,
            lag_s=5.0,
            faults={Fault.CUT: 4, Fault.KILL: 1},
        ),
    ),
}
"""By what they are called on the command line."""
