"""The states of a broker in a cluster, one answer of the controller after the other."""

import pytest

from odradek.broker.lifecycle.state import CATCHING_UP_S, BrokerLifecycle, LifecycleState, LifecycleTimes
from odradek.protocol.errors import ErrorCode

TIMES = LifecycleTimes()


def beat(
    life: BrokerLifecycle, *, caught_up: bool = True, fenced: bool = True, shut_down: bool = False, now: float = 1.0
) -> float:
    """Answer a heartbeat."""
    return life.answered(ErrorCode.NONE, caught_up, fenced, shut_down, now)


def state_of(life: BrokerLifecycle) -> LifecycleState:
    """Return the state as it is now."""
    return life.state


def refusal_of(life: BrokerLifecycle) -> str | None:
    """Return why it is refused, as it is now."""
    return life.refusal


def running() -> BrokerLifecycle:
    life = BrokerLifecycle(TIMES, 0.0)
    life.registered(ErrorCode.NONE, 7, 0.0)
    beat(life)
    life.ready()
    beat(life, fenced=False)
    assert state_of(life) is LifecycleState.RUNNING
    return life


def test_a_broker_is_fenced_until_it_has_the_metadata_and_its_logs() -> None:
    """Heartbeats come quickly where only milliseconds are waited for, and regularly else."""
    life = BrokerLifecycle(TIMES, 0.0)
    assert not life.is_registered
    assert life.registered(ErrorCode.NONE, 7, 0.0) == 0
    assert (life.broker_epoch, life.flags) == (7, (True, False))
    assert beat(life, caught_up=False) == CATCHING_UP_S
    assert state_of(life) is LifecycleState.STARTING
    assert beat(life) == TIMES.heartbeat_interval_s
    assert (life.state, life.flags.want_fence) == (LifecycleState.RECOVERY, True)
    life.ready()
    assert not life.flags.want_fence
    assert beat(life) == CATCHING_UP_S
    assert beat(life, fenced=False) == TIMES.heartbeat_interval_s
    assert state_of(life) is LifecycleState.RUNNING


def test_who_leaves_asks_until_it_may() -> None:
    """More and more slowly, up to the usual interval."""
    life = running()
    life.leave(10.0)
    assert life.flags.want_shut_down
    delays = [beat(life, fenced=False, now=10.0) for _ in range(6)]
    assert delays == [0.1, 0.2, 0.4, 0.8, 1.6, 2.0]
    beat(life, shut_down=True, now=11.0)
    assert state_of(life) is LifecycleState.SHUTTING_DOWN


def test_who_leaves_does_not_wait_for_controllers_that_are_gone() -> None:
    """After a session without an answer, whoever decides has fenced it; and all in all it has five minutes."""
    life = running()
    life.leave(10.0)
    life.unanswered(18.9)
    assert state_of(life) is LifecycleState.PENDING_CONTROLLED_SHUTDOWN
    life.unanswered(19.1)
    assert state_of(life) is LifecycleState.SHUTTING_DOWN
    slow = running()
    slow.leave(10.0)
    beat(slow, fenced=False, now=309.0)
    assert state_of(slow) is LifecycleState.PENDING_CONTROLLED_SHUTDOWN
    beat(slow, fenced=False, now=310.0)
    assert state_of(slow) is LifecycleState.SHUTTING_DOWN


def test_who_was_never_registered_may_leave_at_once() -> None:
    """There is nobody to ask."""
    life = BrokerLifecycle(TIMES, 0.0)
    life.leave(1.0)
    assert state_of(life) is LifecycleState.SHUTTING_DOWN


def test_a_broker_that_the_controller_has_forgotten_registers_again() -> None:
    """It goes on running meanwhile."""
    life = running()
    life.answered(ErrorCode.STALE_BROKER_EPOCH, False, True, False, 5.0)
    assert not life.is_registered
    assert refusal_of(life) is None
    life.registered(ErrorCode.INCONSISTENT_CLUSTER_ID, -1, 6.0)
    assert refusal_of(life) is None
    life.registered(ErrorCode.NONE, 9, 6.0)
    assert (life.broker_epoch, life.state) == (9, LifecycleState.RUNNING)


@pytest.mark.parametrize(
    ("code", "says"),
    [
        (ErrorCode.INCONSISTENT_CLUSTER_ID, "another cluster"),
        (ErrorCode.UNSUPPORTED_VERSION, "metadata.version"),
        (ErrorCode.INVALID_REGISTRATION, "copy of these directories"),
    ],
)
def test_what_will_never_be_accepted_is_a_sentence_at_once(code: ErrorCode, says: str) -> None:
    """Nobody is left waiting for what cannot come."""
    life = BrokerLifecycle(TIMES, 0.0)
    life.registered(code, -1, 1.0)
    assert life.refusal is not None
    assert says in life.refusal


def test_a_node_id_that_is_taken_is_waited_for_and_then_named() -> None:
    """It may be this broker's own last session, which ends before long."""
    life = BrokerLifecycle(TIMES, 0.0)
    delays = [life.registered(ErrorCode.DUPLICATE_BROKER_REGISTRATION, -1, float(at)) for at in range(9)]
    assert delays[0] == pytest.approx(0.1)
    assert delays[-1] == TIMES.session_timeout_s
    assert refusal_of(life) is None
    life.registered(ErrorCode.DUPLICATE_BROKER_REGISTRATION, -1, 60.0)
    assert life.refusal is not None
    assert "node.id" in life.refusal
    other = BrokerLifecycle(TIMES, 0.0)
    other.registered(ErrorCode.REQUEST_TIMED_OUT, -1, 60.0)
    assert other.refusal is not None
    assert "initial.broker.registration.timeout.ms" in other.refusal
    nobody = BrokerLifecycle(TIMES, 0.0)
    nobody.registered(ErrorCode.CLUSTER_AUTHORIZATION_FAILED, -1, 60.0)
    assert nobody.refusal is not None
    assert "super.users" in nobody.refusal
