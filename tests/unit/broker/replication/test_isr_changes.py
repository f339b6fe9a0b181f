"""Leaders ask the controller for other ISRs: together, one request at a time, until they are answered."""

from odradek.broker.replication.isr_changes import RETRY_S
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.alter_partition import AlterPartitionRequest
from tests.support.replicated_brokers import MAX_LAG_MS, ReplicatedBrokers


def behind(*, silent: bool = False) -> ReplicatedBrokers:
    """Return brokers of which the third has not fetched for too long."""
    cluster = ReplicatedBrokers()
    cluster.settle()
    cluster.cut(3)
    cluster.append(1, b"x")
    cluster.pass_time(MAX_LAG_MS / 1000 + 1, 1.0)
    cluster.controller_is_silent = silent
    return cluster


def test_request_names_epochs_and_registrations() -> None:
    """Of the leader itself and of each member that fetches (KIP-903)."""
    cluster = behind(silent=True)
    cluster.shrink(1)
    cluster.settle()
    [(request, _)] = cluster.unanswered
    assert isinstance(request, AlterPartitionRequest)
    assert (request.broker_id, request.broker_epoch) == (1, 101)
    [partition] = request.topics[0].partitions
    assert (partition.leader_epoch, partition.partition_epoch) == (0, 0)
    assert [(member.broker_id, member.broker_epoch) for member in partition.new_isr_with_epochs] == [(1, 101), (2, 102)]


def test_one_request_is_under_way_at_a_time() -> None:
    """What comes meanwhile waits, and nothing is asked twice."""
    cluster = behind(silent=True)
    for _ in range(3):
        cluster.shrink(1)
        cluster.settle()
    assert len(cluster.unanswered) == 1
    cluster.controller_is_silent = False
    cluster.answer_brokers()
    cluster.settle()
    assert cluster.isr == {1, 2}
    assert cluster.unanswered == []


def test_controller_that_cannot_be_reached_is_asked_again() -> None:
    """After 50 ms, with the same change."""
    cluster = behind(silent=True)
    cluster.shrink(1)
    cluster.settle()
    cluster.fail_requests(KafkaError(ErrorCode.REQUEST_TIMED_OUT))
    cluster.settle()
    assert cluster.unanswered == []
    cluster.controller_is_silent = False
    cluster.pass_time(2 * RETRY_S, RETRY_S)
    assert cluster.isr == {1, 2}


def test_partition_that_the_controller_cannot_settle_is_asked_for_again() -> None:
    """An error that says nothing of the ISR is no decision."""
    cluster = behind()
    cluster.refuses_isr_changes = ErrorCode.NOT_CONTROLLER
    cluster.shrink(1)
    cluster.settle()
    assert cluster.isr == {1, 2, 3}
    cluster.refuses_isr_changes = None
    cluster.pass_time(2 * RETRY_S, RETRY_S)
    assert cluster.isr == {1, 2}


def test_broker_that_is_not_eligible_does_not_join() -> None:
    """The controller refuses, the leader goes on with the ISR it had, and asks again at a later fetch."""
    cluster = behind()
    cluster.shrink(1)
    cluster.settle()
    cluster.refuses_isr_changes = ErrorCode.INELIGIBLE_REPLICA
    cluster.heal()
    cluster.pass_time(3)
    assert cluster.isr == {1, 2}
    cluster.refuses_isr_changes = None
    cluster.pass_time(2)
    assert cluster.isr == {1, 2, 3}


def test_leader_that_is_deposed_asks_for_nothing_any_more() -> None:
    """What it wanted is the new leader's business."""
    cluster = behind(silent=True)
    cluster.shrink(1)
    cluster.settle()
    cluster.elect(2)
    cluster.fail_requests(KafkaError(ErrorCode.REQUEST_TIMED_OUT))
    cluster.pass_time(1)
    assert cluster.unanswered == []
