"""Partitions in which nothing happens: neither leader nor follower looks at them, and nothing is missed for that."""

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from odradek.broker.replication.following import Following
from odradek.broker.replication.leadership import Leadership
from odradek.protocol.messages.fetch import FetchRequest
from tests.support.replicated_brokers import MAX_LAG_MS, ReplicatedBrokers

PARTITIONS = 50


def counted(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Count what is done for single partitions: a leader notes a follower's progress, a follower looks where it is."""
    calls: Counter[str] = Counter()

    def count(owner: type, name: str) -> None:
        method: Callable[..., Any] = getattr(owner, name)

        def call(*args: Any) -> Any:
            calls[name] += 1
            return method(*args)

        monkeypatch.setattr(owner, name, call)

    count(Leadership, "fetched")
    count(Following, "position")
    return calls


def rested(**options: Any) -> ReplicatedBrokers:
    """Return brokers of whose partitions nothing is to be told any more."""
    cluster = ReplicatedBrokers(**options)
    cluster.settle()
    cluster.pass_time(2)
    return cluster


def test_nothing_is_done_for_partitions_in_which_nothing_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two fetches a second of each follower, which name nothing and look at nothing, however many there are."""
    cluster = rested(partitions=PARTITIONS)
    calls = counted(monkeypatch)
    cluster.requests.clear()
    cluster.pass_time(5)
    fetches = [request for _, _, request in cluster.requests if isinstance(request, FetchRequest)]
    assert not calls
    assert 16 <= len(fetches) <= 22
    assert not any(request.topics or request.forgotten_topics_data for request in fetches)


def test_only_the_partition_that_gets_records_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """And it is replicated and committed as ever, before any time passes."""
    cluster = rested(partitions=PARTITIONS)
    calls = counted(monkeypatch)
    cluster.append(1, b"a")
    cluster.settle()
    assert [broker.partition.log.log_end_offset for broker in cluster.brokers.values()] == [1, 1, 1]
    assert cluster[1].partition.high_watermark == 1
    cluster.pass_time(1)
    assert [broker.partition.high_watermark for broker in cluster.brokers.values()] == [1, 1, 1]
    assert max(calls.values()) < 20
    calls.clear()
    cluster.pass_time(5)
    assert not calls


def test_partitions_rest_after_a_change_of_the_leader_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Although the last record is of an epoch before."""
    cluster = rested()
    cluster.append(1, b"a")
    cluster.elect(2)
    cluster.settle()
    cluster.pass_time(2)
    calls = counted(monkeypatch)
    cluster.pass_time(5)
    assert not calls


def test_follower_that_had_everything_for_long_has_its_time_to_catch_up() -> None:
    """replica.lag.time.max.ms count from its last fetch, not from when the partition was looked at last."""
    cluster = rested()
    cluster.pass_time(2 * MAX_LAG_MS / 1000, 0.5)
    cluster.cut(3)
    cluster.append(1, b"a")
    cluster.pass_time(MAX_LAG_MS / 1000 - 2, 0.5)
    cluster.shrink(1)
    cluster.settle()
    assert cluster.isr == {1, 2, 3}
    cluster.pass_time(4, 0.5)
    cluster.shrink(1)
    cluster.settle()
    assert cluster.isr == {1, 2}


def test_follower_that_is_put_out_of_the_isr_comes_back_without_records() -> None:
    """Its leader asks for it with its next fetch."""
    cluster = rested()
    cluster.change(isr=(1, 2))
    cluster.settle()
    cluster.pass_time(1)
    assert cluster.isr == {1, 2, 3}


def test_follower_that_may_not_be_in_sync_yet_is_looked_at_until_it_is() -> None:
    """A fenced broker fetches, and comes in once it is none any more."""
    cluster = rested()
    cluster.set_broker(3, fenced=True)
    cluster.change(isr=(1, 2))
    cluster.pass_time(3)
    assert cluster.isr == {1, 2}
    cluster.set_broker(3, fenced=False)
    cluster.pass_time(1)
    assert cluster.isr == {1, 2, 3}


def test_follower_of_an_older_registration_is_refused_also_where_nothing_happens() -> None:
    """What rests is looked at as soon as the follower is known under a newer broker epoch (KIP-903)."""
    cluster = rested()
    image = cluster.image
    fetched = cluster[1].leadership.state.followers[3]
    cluster[1].image = image._replace(brokers={**image.brokers, 3: image.brokers[3]._replace(epoch=500)})
    cluster.pass_time(1)
    assert fetched.pulse is None
    assert cluster[1].leadership.state.followers[2].pulse is not None


def test_log_that_begins_further_on_at_a_follower_is_told() -> None:
    """By its own retention, too: the leader knows the low watermark of all."""
    cluster = rested()
    cluster.append(1, b"a", b"b")
    cluster.pass_time(2)
    cluster[2].partition.delete_records_before(1)
    cluster.pass_time(1)
    assert cluster[1].leadership.state.followers[2].log_start_offset == 1


def test_follower_that_is_gone_is_forgotten_with_the_first_record() -> None:
    """What its session left with the partition costs one append."""
    cluster = rested()
    partition = cluster[1].partition
    cluster.kill(2)
    cluster.kill(3)
    cluster.pass_time(1)
    assert partition.delayed_fetches
    cluster.append(1, b"a")
    assert not partition.delayed_fetches
