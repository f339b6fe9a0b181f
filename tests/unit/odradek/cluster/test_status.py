"""Putting a cluster together from what its brokers tell."""

from odradek.client.errors import ClientError, ConnectionLostError
from odradek.cluster.log_dirs import LogDirFacts
from odradek.cluster.replica_ends import follower_lags
from odradek.cluster.status import FollowerStatus, broker_statuses, followers_behind
from odradek.cluster.topology import ClusterBroker, PartitionState

PARTITIONS = [
    PartitionState("a", 0, leader=1, replicas=(1, 2, 3), isr=(1, 2, 3)),
    PartitionState("a", 1, leader=2, replicas=(2, 3), isr=(2,)),
    PartitionState("b", 0, leader=None, replicas=(3,), isr=(3,)),
]
ENDS = {1: {("a", 0): 10}, 2: {("a", 0): 7, ("a", 1): 50}, 3: {("a", 0): 12}}
BROKERS = {number: ClusterBroker(number, "h", 9090 + number, None, is_fenced=False) for number in (1, 2, 3)}


def test_a_follower_is_behind_by_what_its_log_lacks() -> None:
    """It is never behind by less than nothing, and by nobody knows how much where one of both ends is not known."""
    assert follower_lags(PARTITIONS, ENDS) == {
        (("a", 0), 2): 3,
        (("a", 0), 3): 0,
        (("a", 1), 3): None,
        (("b", 0), 3): None,
    }


def test_brokers_with_what_lies_on_them() -> None:
    """Leaders, replicas and those in sync are counted; a broker that does not tell its directories says why."""
    lags = follower_lags(PARTITIONS, ENDS)
    directories = [LogDirFacts("d", None, sizes={("a", 0): 5})]
    told: dict[int, list[LogDirFacts] | ClientError] = {1: directories, 2: ConnectionLostError("gone"), 3: directories}
    found = broker_statuses(BROKERS, PARTITIONS, lags, told, {})
    assert [(each.leaders, each.replicas, each.in_sync, each.lag) for each in found] == [
        (1, 1, 1, 0),
        (1, 2, 2, 3),
        (0, 3, 2, None),
    ]
    assert [(each.directories, each.problem) for each in found] == [
        (directories, None),
        ([], "gone"),
        (directories, None),
    ]


def test_replicas_of_brokers_that_nobody_knows_are_left_out() -> None:
    """A broker may have been unregistered while partitions still name it."""
    only = {1: BROKERS[1]}
    [found] = broker_statuses(only, PARTITIONS, follower_lags(PARTITIONS, ENDS), {1: []}, {})
    assert (found.broker.broker_id, found.replicas) == (1, 1)


def test_followers_that_are_behind() -> None:
    """First those of which nothing is known, then the one with the most to fetch; those that have all are left out."""
    assert followers_behind(PARTITIONS, follower_lags(PARTITIONS, ENDS)) == [
        FollowerStatus(("a", 1), 3, None, is_in_sync=False),
        FollowerStatus(("a", 0), 2, 3, is_in_sync=True),
    ]
