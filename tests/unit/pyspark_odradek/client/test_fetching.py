"""Reading a range from a broker that is played: aborted transactions, gaps, losses, and waiting in vain."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from odradek.client.connection import BrokerConnection
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.fetch import (
    AbortedTransaction,
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    PartitionData,
)
from odradek.protocol.records.building import BatchFields, build_batch, make_records
from odradek.protocol.records.errors import CorruptRecord
from pyspark_odradek.client import fetching
from pyspark_odradek.client.cluster import ClusterConnections, ClusterOptions, PartitionLeader
from pyspark_odradek.columns.building import build
from pyspark_odradek.errors import BrokerUnreachableError, ClusterError, DataLostError
from pyspark_odradek.offsets import EARLIEST, OffsetRange, Offsets, TopicPartition

TP = TopicPartition("t", 0)
Answer = PartitionData | FetchResponse | Exception


class PlayedCluster(ClusterConnections):
    """A cluster whose leader answers each Fetch with what `play` makes of the offset that is asked for."""

    def __init__(self, play: Callable[[int], Answer], earliest: int = 0, latest: int = 0, **options: Any) -> None:
        super().__init__(ClusterOptions((), **({"retry_timeout_s": 0.3, "first_retry_timeout_s": 0.3} | options)))
        self.play = play
        self.ends = (earliest, latest)
        self.asked: list[int] = []
        self.requests: list[FetchRequest] = []
        self.leading = PartitionLeader(1, 0)
        self.read_at: list[int] = []
        """Nodes that connections were asked for to."""
        self._addresses = {1: ("", 0), 2: ("", 0)}

    def _leader(self, partition: TopicPartition) -> PartitionLeader:
        return self.leading

    def _connected(self, node: int) -> BrokerConnection:
        self.read_at.append(node)
        return self  # type: ignore[return-value]

    def offsets(self, wanted: Mapping[TopicPartition, int]) -> Offsets:
        """Return the beginning or the end."""
        return {partition: self.ends[0 if when == EARLIEST else 1] for partition, when in wanted.items()}

    def send(self, key: object, version: int, request: FetchRequest) -> None:
        """Note which offset is asked for."""
        self.asked.append(request.topics[0].partitions[0].fetch_offset)
        self.requests.append(request)

    def receive(self, *_: object) -> FetchResponse:
        """Answer the newest request."""
        data = self.play(self.asked[-1])
        if isinstance(data, Exception):
            raise data
        if isinstance(data, FetchResponse):
            return data
        return FetchResponse(responses=[FetchableTopicResponse(topic="t", partitions=[data])])


def records_of(*batches: bytes | bytearray, until: int = 100, **fields: Any) -> PartitionData:
    """Return an answer with these batches, of a partition that ends at `until`."""
    fields = {"high_watermark": until, "last_stable_offset": until} | fields
    return PartitionData(partition_index=0, records=memoryview(b"".join(batches)), **fields)


def batch(first: int, *values: bytes, **fields: Any) -> bytearray:
    """Return a batch with offsets from `first` on."""
    return build_batch(make_records([(None, value) for value in values], 0, first), BatchFields(**fields))


def marker(offset: int, producer: int) -> bytearray:
    """Return the end of a transaction."""
    return batch(offset, b"end", producer_id=producer, transactional=True, control=True)


def read(cluster: ClusterConnections, first: int, until: int, fail: bool = True) -> dict[int, bytes]:
    """Return the values of a range by their offsets."""
    wanted = OffsetRange(TP, first, until)
    found: dict[int, bytes] = {}
    for bodies in fetching.read_bodies(cluster, wanted, fail):
        for rows in build(wanted, bodies, include_headers=False):
            found |= dict(zip(rows["offset"].to_pylist(), rows["value"].to_pylist(), strict=True))
    return found


def once(answers: Mapping[int, Answer]) -> Callable[[int], Answer]:
    """Answer by the offset that is asked for; with nothing for others."""
    return lambda offset: answers.get(offset, records_of(until=0))


def test_a_range_is_read_across_answers_and_gaps() -> None:
    """Batches begin before the range and end after it, and compaction left offsets without records."""
    sparse = batch(4, b"4", last_offset=7)
    empty = build_batch([], BatchFields(base_offset=8, last_offset=9))
    answers = once({1: records_of(batch(0, b"0", b"1", b"2"), sparse), 8: records_of(empty, batch(10, b"10", b"11"))})
    cluster = PlayedCluster(answers)
    assert read(cluster, 1, 11) == {1: b"1", 2: b"2", 4: b"4", 10: b"10"}
    assert cluster.asked == [1, 8]


def test_a_quota_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """A throttled fetch has no partitions: not an error, and no sign that nothing comes, however long it takes."""
    slept: list[float] = []
    now = 1_000.0

    def sleep(seconds: float) -> None:
        nonlocal now
        now += seconds
        slept.append(seconds)

    monkeypatch.setattr("pyspark_odradek.client.fetching.time.sleep", sleep)
    monkeypatch.setattr("pyspark_odradek.client.fetching.time.monotonic", lambda: now)
    waits = iter([1_500, 86_400_000, 0])

    def play(offset: int) -> Answer:
        if offset == 1 and (wait_ms := next(waits)):
            return FetchResponse(throttle_time_ms=wait_ms)
        return records_of(batch(offset, b"%d" % offset), until=offset + 1)

    assert read(PlayedCluster(play), 0, 2) == {0: b"0", 1: b"1"}
    assert slept == [1.5, 86_400.0]


def test_an_answer_with_neither_partitions_nor_a_time_to_wait_is_refused() -> None:
    """It is none to what was asked."""
    with pytest.raises(ClusterError, match="does not answer for partition"):
        read(PlayedCluster(lambda _: FetchResponse()), 0, 2)


def test_a_range_that_compaction_has_emptied_is_read_past() -> None:
    """The next batch begins at its end or after it: there is nothing to wait for."""
    for following in (5, 9):
        cluster = PlayedCluster(once({2: records_of(batch(following, b"x"))}))
        assert read(cluster, 2, 5) == {}
        assert cluster.asked == [2]
    answers = once({2: records_of(batch(2, b"2")), 3: records_of(batch(9, b"x"))})
    assert read(PlayedCluster(answers), 2, 5) == {2: b"2"}


def test_the_grace_runs_from_the_first_symptom(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever uses what was read takes his time, and a new leader learns of the true end a moment later."""
    clock = [0.0]
    monkeypatch.setattr("time.monotonic", lambda: clock[0])
    lagging = [records_of(until=1)]

    def play(offset: int) -> Answer:
        if offset == 1 and lagging and clock[0] > 0:
            return lagging.pop()
        cluster.ends = (0, 2)
        return records_of(batch(offset, b"%d" % offset), until=2)

    cluster = PlayedCluster(play, latest=1, retry_timeout_s=100)
    bodies = fetching.read_bodies(cluster, OffsetRange(TP, 0, 2), True)
    cluster.ends = (0, 1)
    assert next(bodies)
    cluster.ends = (0, 1)
    clock[0] = 60.0
    assert next(bodies)


def test_aborted_transactions_are_left_out() -> None:
    """Of each producer the records between the beginning of an aborted transaction and its end are not handed out."""
    log = [
        batch(0, b"a0", producer_id=1, transactional=True),
        batch(1, b"b1", producer_id=2, transactional=True),
        batch(2, b"plain"),
        batch(3, b"a3", producer_id=1, transactional=True),
        marker(4, 1),
        batch(5, b"a5", producer_id=1, transactional=True),
        marker(6, 2),
        marker(7, 1),
        batch(8, b"a8", producer_id=1, transactional=True),
        marker(9, 1),
    ]
    aborted = [AbortedTransaction(producer_id=1, first_offset=8), AbortedTransaction(producer_id=1, first_offset=0)]
    cluster = PlayedCluster(lambda _: records_of(*log, until=10, aborted_transactions=aborted), read_committed=True)
    assert read(cluster, 0, 10) == {1: b"b1", 2: b"plain", 5: b"a5"}


def test_control_records_are_never_handed_out() -> None:
    """Readers of all records get those of aborted transactions, but not the markers."""
    log = [batch(0, b"a", producer_id=1, transactional=True), marker(1, 1), batch(2, b"b")]
    assert read(PlayedCluster(lambda _: records_of(*log)), 0, 3) == {0: b"a", 2: b"b"}


def test_lost_records_end_the_query_or_are_left_out() -> None:
    """Offsets before the beginning are a loss: an error by default, skipped with failOnDataLoss=false."""
    gone = PartitionData(partition_index=0, error_code=int(ErrorCode.OFFSET_OUT_OF_RANGE), high_watermark=-1)
    answers = once({0: gone, 3: records_of(batch(3, b"3"))})
    with pytest.raises(DataLostError, match=r"offsets 0 to 2 of partition t-0 are gone .* it begins at offset 3 now"):
        read(PlayedCluster(answers, 3, 4), 0, 4)
    assert read(PlayedCluster(answers, 3, 4), 0, 4, fail=False) == {3: b"3"}
    with pytest.raises(DataLostError, match="offsets 0 to 1 "):
        read(PlayedCluster(answers, 9, 10), 0, 2)
    assert read(PlayedCluster(answers, 9, 10), 0, 2, fail=False) == {}


def test_a_partition_that_ends_early(monkeypatch: pytest.MonkeyPatch) -> None:
    """An end before the range is a loss once there was time for a new leader to learn of the true end."""
    monkeypatch.setattr(fetching, "_GRACE_S", 0.0)
    answers = once({0: records_of(batch(0, b"0"), until=1)})
    with pytest.raises(DataLostError, match=r"offsets 1 to 4 .*it ends at offset 1 now"):
        read(PlayedCluster(answers, 0, 1), 0, 5)
    assert read(PlayedCluster(answers, 0, 1), 0, 5, fail=False) == {0: b"0"}


def test_an_open_transaction_does_not_hold_a_query_for_ever() -> None:
    """Records that do not become readable end the query after the time-out, and the reason is told."""
    cluster = PlayedCluster(lambda _: records_of(until=9, last_stable_offset=0), 0, 0, read_committed=True)
    with pytest.raises(
        ClusterError, match=r"offset 0 of partition t-0 did not arrive within 0\.3 s: an open transaction"
    ):
        read(cluster, 0, 5)


def test_a_broker_that_comes_back_is_read_on_from() -> None:
    """A lost connection and a leader that moved are tried again from where reading stood."""
    moved = PartitionData(partition_index=0, error_code=int(ErrorCode.NOT_LEADER_OR_FOLLOWER), high_watermark=-1)
    troubles: list[Answer] = [BrokerUnreachableError("gone"), moved, BrokerUnreachableError("gone")]

    def play(offset: int) -> Answer:
        if offset == 1 and troubles:
            return troubles.pop()
        return records_of(batch(offset, b"%d" % offset))

    assert read(PlayedCluster(play, retry_timeout_s=5, first_retry_timeout_s=5), 0, 3) == {0: b"0", 1: b"1", 2: b"2"}
    with pytest.raises(BrokerUnreachableError, match="gone"):
        read(PlayedCluster(lambda _: BrokerUnreachableError("gone")), 0, 3)


def test_damaged_batches_are_refused() -> None:
    """A checksum that is wrong ends reading, unless the setting check.crcs says not to look."""
    damaged = batch(0, b"value")
    damaged[-2] ^= 1
    with pytest.raises(CorruptRecord):
        read(PlayedCluster(lambda _: records_of(damaged)), 0, 1)
    assert read(PlayedCluster(lambda _: records_of(damaged), check_crcs=False), 0, 1) == {0: b"valud"}


def test_a_batch_that_does_not_get_on_is_refused() -> None:
    """A batch that ends before it begins would be read for ever."""
    backward = batch(5, b"x")
    backward[23:27] = (-3).to_bytes(4, "big", signed=True)
    with pytest.raises(ClusterError, match="a batch of no length at 5"):
        read(PlayedCluster(lambda _: records_of(backward)), 5, 9)
    with pytest.raises(ClusterError, match="did not arrive"):
        read(PlayedCluster(lambda _: records_of(batch(0, b"old"))), 5, 9)


def test_a_broker_that_answers_at_once_with_nothing_is_asked_with_pauses() -> None:
    """A broker need not wait for records as it was asked to; then the reader waits, and does not ask without end."""
    cluster = PlayedCluster(lambda _: records_of(until=100))
    with pytest.raises(ClusterError, match="did not arrive within"):
        read(cluster, 0, 3)
    assert len(cluster.asked) <= 10


def test_a_nearer_replica_is_read_from_and_left_when_it_is_behind() -> None:
    """The leader tells a reader with a rack where to read (KIP-392); what that one lacks the leader has."""

    def play(offset: int) -> Answer:
        if cluster.read_at[-1] == 1 and offset < 2:
            return PartitionData(partition_index=0, high_watermark=4, preferred_read_replica=2)
        if cluster.read_at[-1] == 2 and offset == 2:
            return PartitionData(partition_index=0, error_code=ErrorCode.OFFSET_OUT_OF_RANGE)
        return records_of(batch(offset, b"%d" % offset), until=4)

    cluster = PlayedCluster(play, latest=4, rack="a")
    assert read(cluster, 0, 4) == {offset: b"%d" % offset for offset in range(4)}
    assert cluster.read_at == [1, 2, 2, 2, 1, 1]
    assert {request.rack_id for request in cluster.requests} == {"a"}


def test_settings_of_fetches_are_those_of_the_options() -> None:
    """Sizes, the least of bytes and the longest wait are asked for as they were set, with the leader's epoch."""
    options = {"fetch_bytes": 5, "fetch_max_bytes": 7, "fetch_min_bytes": 3, "fetch_max_wait_ms": 11}
    cluster = PlayedCluster(lambda offset: records_of(batch(offset, b"x"), until=1), **options)
    cluster.leading = PartitionLeader(1, 9)
    read(cluster, 0, 1)
    [request] = cluster.requests
    assert (request.max_bytes, request.min_bytes, request.max_wait_ms) == (7, 3, 11)
    [partition] = request.topics[0].partitions
    assert (partition.partition_max_bytes, partition.current_leader_epoch) == (5, 9)


class ForgetfulCluster(PlayedCluster):
    """A cluster with a new leader after offset 2, whose log of the old epoch ends at `end`."""

    end = 2

    def end_of_epoch(self, partition: TopicPartition, epoch: int) -> int | None:
        """Return where the old epoch ends."""
        assert epoch == 0
        return self.end

    def send(self, key: object, version: int, request: FetchRequest) -> None:
        """Have a new leader once three records were asked for."""
        super().send(key, version, request)
        if len(self.asked) == 3:
            self.leading = PartitionLeader(2, 1)


def test_a_log_that_was_cut_off_is_noticed(caplog: pytest.LogCaptureFixture) -> None:
    """What was read and is not in the log of a new leader counts as lost before anything after it is read (KIP-320)."""

    def answers(offset: int) -> Answer:
        return records_of(batch(offset, b"%d" % offset, leader_epoch=0), until=5)

    with pytest.raises(DataLostError, match=r"offsets 2 to 2 .* were read and are gone since: .* ends at offset 2"):
        read(ForgetfulCluster(answers, latest=5), 0, 5)
    cluster = ForgetfulCluster(answers, latest=5)
    assert sorted(read(cluster, 0, 5, fail=False)) == [0, 1, 2, 3, 4]
    assert cluster.asked == [0, 1, 2, 2, 3, 4]
    assert "after an unclean election" in caplog.text


def test_a_log_that_goes_on_under_a_new_leader_is_read_on() -> None:
    """A clean election takes nothing away."""
    cluster = ForgetfulCluster(lambda offset: records_of(batch(offset, b"x", leader_epoch=0), until=5), latest=5)
    cluster.end = 3
    assert sorted(read(cluster, 0, 5)) == [0, 1, 2, 3, 4]
    assert cluster.asked == [0, 1, 2, 3, 4]
