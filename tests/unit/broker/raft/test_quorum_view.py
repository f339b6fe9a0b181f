"""What an observer learns of a quorum, and whom it asks next."""

from random import Random

from odradek.broker.nodes.requests import NodeAddress
from odradek.broker.raft.quorum_view import NOBODY, QuorumView

A, B, C = (NodeAddress(host, 1) for host in "abc")
VOTERS = {1: A, 2: B}


def leader_of(view: QuorumView) -> NodeAddress | None:
    """Return the leader as it is now."""
    return view.leader


def test_without_a_leader_anybody_is_asked() -> None:
    """Voters and bootstrap servers alike."""
    view = QuorumView(0, NOBODY, VOTERS, [C])
    assert leader_of(view) is None
    assert {view.choose(Random(seed)) for seed in range(30)} == {A, B, C}


def test_the_leader_of_the_newest_epoch_is_asked() -> None:
    """At the address that answers give, before that of the configuration; older news is none."""
    view = QuorumView(3, NOBODY, VOTERS, [])
    assert view.learn(1, 4, {})
    assert view.choose(Random(1)) == A
    assert not view.learn(2, 3, {})
    assert not view.learn(NOBODY, 4, {})
    assert leader_of(view) == A
    assert view.learn(2, 5, {2: C})
    assert leader_of(view) == C
    assert view.learn(NOBODY, 6, {})
    assert leader_of(view) is None
    assert view.learn(1, 6, {})
    assert not view.learn(1, 6, {})


def test_a_leader_in_doubt_is_passed_over_once() -> None:
    """Somebody else may know a new one; if not, the old one is asked again."""
    view = QuorumView(4, 1, VOTERS, [])
    view.doubt()
    assert [view.choose(Random(1)) for _ in range(2)] == [B, A]
    alone = QuorumView(4, 1, {1: A}, [])
    alone.doubt()
    assert alone.choose(Random(1)) == A


def test_a_leader_without_an_address_is_nobody() -> None:
    """It cannot be asked."""
    view = QuorumView(4, NOBODY, VOTERS, [])
    assert view.learn(9, 5, {})
    assert leader_of(view) is None
    assert view.learn(9, 5, {9: C})
    assert leader_of(view) == C
