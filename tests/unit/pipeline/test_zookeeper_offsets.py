"""Offsets in ZooKeeper: whole batches, one run at a time, and answers that are lost."""

import json

import pytest

from odradek.pipeline.batches import Batch
from odradek.pipeline.errors import PipelineError
from odradek.pipeline.zookeeper_offsets import ZooKeeperOffsets, zookeeper_progress
from odradek.zookeeper.session import NodeChange, StoredNode
from pyspark_odradek.offsets import OffsetRange, TopicPartition
from tests.support.memory_zookeeper import MemoryZooKeeper

NOW_MS = 1_700_000_000_000
TOPICS = b'{"run": 1, "token": "", "job": "", "number": null, "finished_at_ms": 0, "from": {}, "topics": {"a": 1}}'
A0, A1 = TopicPartition("a", 0), TopicPartition("a", 1)


def _offsets(zookeeper: MemoryZooKeeper) -> ZooKeeperOffsets:
    return ZooKeeperOffsets(zookeeper, "app", "archive", lambda: NOW_MS)


def test_a_batch_is_stored_in_the_layout_of_kafka() -> None:
    """Each offset is text in the node of its partition, and what else is known stands beside."""
    zookeeper = MemoryZooKeeper()
    offsets = _offsets(zookeeper)
    assert offsets.begin() == {}
    offsets.commit(Batch(0, {A0: 5}, {A0: 9, A1: 3}))
    offsets.commit(Batch(1, {A0: 9, A1: 3}, {A0: 9, A1: 4}))
    assert zookeeper.nodes["/consumers/app/offsets/a/0"].data == b"9"
    assert zookeeper.nodes["/consumers/app/offsets/a/1"].data == b"4"
    (shown,) = zookeeper_progress(zookeeper)
    assert (shown.application, shown.job, shown.number, shown.finished_at_ms) == ("app", "archive", 1, NOW_MS)
    assert shown.ranges == [OffsetRange(A0, 5, 9), OffsetRange(A1, 3, 4)]
    assert _offsets(zookeeper).begin() == {A0: 9, A1: 4}


def test_ids_of_topics_are_kept_with_offsets() -> None:
    """The next run knows of which topics the offsets are; what a job stored before there were any is read, too."""
    zookeeper = MemoryZooKeeper()
    offsets = _offsets(zookeeper)
    offsets.begin()
    offsets.commit(Batch(0, {}, {A0: 9}, {"a": "1"}))
    offsets.commit(Batch(1, {A0: 9}, {A0: 11}, {"b": "2"}))
    again = _offsets(zookeeper)
    again.begin()
    assert again.topic_ids == {"a": "1", "b": "2"}
    state = json.loads(zookeeper.nodes["/consumers/app/odradek"].data)
    del state["topics"]
    zookeeper.nodes["/consumers/app/odradek"] = StoredNode(json.dumps(state).encode(), 5)
    old = _offsets(zookeeper)
    assert (old.begin(), old.topic_ids) == ({A0: 11}, {})


def test_a_job_goes_on_where_an_old_consumer_was() -> None:
    """What a consumer of Kafka's old days has left under that name is where the job begins."""
    zookeeper = MemoryZooKeeper()
    zookeeper.make("/consumers/app/offsets/a/0")
    zookeeper.nodes["/consumers/app/offsets/a/0"] = StoredNode(b"17", 3)
    offsets = _offsets(zookeeper)
    assert offsets.begin() == {A0: 17}
    offsets.commit(Batch(0, {A0: 17}, {A0: 20}))
    assert zookeeper.nodes["/consumers/app/offsets/a/0"] == StoredNode(b"20", 4)


def test_only_the_newest_run_stores_anything() -> None:
    """A run that another one has taken over from is refused and changes nothing, whichever partitions it has."""
    zookeeper = MemoryZooKeeper()
    old, new = _offsets(zookeeper), _offsets(zookeeper)
    old.begin()
    new.begin()
    with pytest.raises(PipelineError, match="another run of app has started"):
        old.commit(Batch(0, {}, {A1: 4}))
    new.commit(Batch(0, {}, {A0: 9}))
    with pytest.raises(PipelineError, match="another run of app has started"):
        old.commit(Batch(0, {}, {A0: 4}))
    assert _offsets(zookeeper).begin() == {A0: 9}


def test_offsets_that_something_else_has_moved_are_not_set_back() -> None:
    """An offset is only set by who has seen the one before."""
    zookeeper = MemoryZooKeeper()
    offsets = _offsets(zookeeper)
    offsets.begin()
    offsets.commit(Batch(0, {}, {A0: 9}))
    zookeeper.change([NodeChange("/consumers/app/offsets/a/0", b"30", 0)])
    with pytest.raises(PipelineError, match="something else sets its offsets"):
        offsets.commit(Batch(1, {A0: 9}, {A0: 12}))
    assert zookeeper.nodes["/consumers/app/offsets/a/0"].data == b"30"


@pytest.mark.parametrize("lose", [[True], [False], [False, True], [False, False]])
def test_a_lost_answer_is_no_lost_batch(lose: list[bool]) -> None:
    """Whether a batch was stored before a connection broke or not, it is stored once, and the next one too."""
    zookeeper = MemoryZooKeeper()
    offsets = _offsets(zookeeper)
    offsets.begin()
    zookeeper.lose = list(lose)
    offsets.commit(Batch(0, {}, {A0: 9}))
    offsets.commit(Batch(1, {A0: 9}, {A0: 11, A1: 2}))
    assert zookeeper.nodes["/consumers/app/offsets/a/0"] == StoredNode(b"11", 1)


def test_connections_that_always_break_end_the_job() -> None:
    """After a few tries the job says it, and the next start begins with what is there."""
    zookeeper = MemoryZooKeeper()
    offsets = _offsets(zookeeper)
    offsets.begin()
    zookeeper.lose = [False] * 3
    with pytest.raises(PipelineError, match=r"no connection\. Nothing is lost"):
        offsets.commit(Batch(0, {}, {A0: 9}))
    assert _offsets(zookeeper).begin() == {}


def test_a_start_whose_answer_is_lost_counts_once() -> None:
    """The number of the run grows by one."""
    zookeeper = MemoryZooKeeper()
    zookeeper.lose = [True]
    offsets = _offsets(zookeeper)
    offsets.begin()
    offsets.commit(Batch(0, {}, {A0: 9}))
    assert json.loads(zookeeper.nodes["/consumers/app/odradek"].data)["run"] == 1


@pytest.mark.parametrize("data", [b"{", b"[]", b"{}", b'{"run": "x"}', b"\xff", TOPICS])
def test_a_node_of_somebody_else_is_refused(data: bytes) -> None:
    """What no job wrote is not taken for a state."""
    zookeeper = MemoryZooKeeper()
    zookeeper.make("/consumers/app/odradek")
    zookeeper.nodes["/consumers/app/odradek"] = StoredNode(data, 1)
    with pytest.raises(PipelineError, match="something else in /consumers/app/odradek"):
        _offsets(zookeeper).begin()


def test_a_zookeeper_that_was_emptied_is_noticed() -> None:
    """Offsets are not stored beside nothing."""
    zookeeper = MemoryZooKeeper()
    offsets = _offsets(zookeeper)
    offsets.begin()
    zookeeper.nodes.clear()
    with pytest.raises(PipelineError, match="ZooKeeper has lost what it had of app"):
        offsets.commit(Batch(0, {}, {A0: 4}))
