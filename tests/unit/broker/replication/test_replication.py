"""Several brokers replicate: records, high watermarks, who is in sync, and what fail-overs leave."""

from odradek.protocol.errors import ErrorCode
from tests.support.partitions import Reply, context
from tests.support.replicated_brokers import MAX_LAG_MS, ReplicatedBrokers
from tests.unit.broker.handlers.produce_support import HEAD, batch, request, result
from tests.unit.broker.handlers.produce_support import VERSION as PRODUCE_VERSION

LAG_S = MAX_LAG_MS / 1000


def produced(cluster: ReplicatedBrokers, node: int, *values: bytes, acks: int = -1, timeout_ms: int = 1000) -> Reply:
    """Produce at a broker."""
    asked = request(("t", 0, batch(*values)), acks=acks, timeout_ms=timeout_ms)
    return Reply(cluster[node].produce(context(PRODUCE_VERSION), asked, HEAD))


def high_watermarks(cluster: ReplicatedBrokers) -> list[int]:
    return [broker.partition.high_watermark for broker in cluster.brokers.values()]


def ends(cluster: ReplicatedBrokers) -> list[int]:
    return [broker.partition.log.log_end_offset for broker in cluster.brokers.values()]


def test_records_reach_all_replicas_byte_for_byte() -> None:
    """And become committed on the leader; followers learn it with their next fetch."""
    cluster = ReplicatedBrokers()
    for value in (b"a", b"b", b"c"):
        cluster.append(1, value, value)
    cluster.settle()
    assert ends(cluster) == [6, 6, 6]
    assert cluster[1].partition.high_watermark == 6
    assert cluster[2].content == cluster[3].content == cluster[1].content
    assert [cluster[node].replication.received.bytes for node in (1, 2, 3)] == [0, *[len(cluster[1].content)] * 2]
    cluster.pass_time(1)
    assert high_watermarks(cluster) == [6, 6, 6]


def test_produce_with_acks_all_waits_for_the_isr() -> None:
    """It is answered once all replicas in sync have it, and not before."""
    cluster = ReplicatedBrokers()
    cluster.settle()
    cluster.cut(3)
    reply = produced(cluster, 1, b"x", timeout_ms=60_000)
    one = produced(cluster, 1, b"y", acks=1)
    assert result(one).error_code == 0
    cluster.settle()
    assert reply.is_waiting
    assert ends(cluster) == [2, 2, 0]
    cluster.heal()
    cluster.pass_time(2)
    assert result(reply).error_code == 0
    assert ends(cluster) == [2, 2, 2]


def test_follower_that_falls_behind_leaves_the_isr_and_comes_back() -> None:
    """After replica.lag.time.max.ms; what waits is committed without it, and it is in again once it has caught up."""
    cluster = ReplicatedBrokers(configs={"min.insync.replicas": "2"})
    cluster.settle()
    cluster.cut(3)
    reply = produced(cluster, 1, b"x", timeout_ms=100_000)
    cluster.pass_time(LAG_S - 1, 1.0)
    cluster.shrink(1)
    cluster.settle()
    assert cluster.isr == {1, 2, 3}
    assert reply.is_waiting
    cluster.pass_time(2, 1.0)
    cluster.shrink(1)
    cluster.settle()
    assert cluster.isr == {1, 2}
    assert result(reply).error_code == 0
    cluster.heal()
    cluster.pass_time(3)
    assert cluster.isr == {1, 2, 3}
    assert ends(cluster) == [1, 1, 1]


def test_too_few_in_sync_refuse_acks_all_and_commit_nothing() -> None:
    """min.insync.replicas: NOT_ENOUGH_REPLICAS before anything is written; acks=1 is written, but not committed."""
    cluster = ReplicatedBrokers(configs={"min.insync.replicas": "2"})
    cluster.settle()
    cluster.change(isr=(1,))
    cluster.cut(1)
    reply = produced(cluster, 1, b"x")
    assert result(reply).error_code == ErrorCode.NOT_ENOUGH_REPLICAS
    assert cluster[1].partition.log.log_end_offset == 0
    assert result(produced(cluster, 1, b"y", acks=1)).error_code == 0
    assert (cluster[1].partition.log.log_end_offset, cluster[1].partition.high_watermark) == (1, 0)


def test_producers_that_wait_are_told_when_leadership_goes() -> None:
    """NOT_LEADER_OR_FOLLOWER, so that they ask the new leader."""
    cluster = ReplicatedBrokers()
    cluster.settle()
    cluster.cut(2, 3)
    reply = produced(cluster, 1, b"x", timeout_ms=60_000)
    cluster.elect(2)
    cluster.settle()
    assert result(reply).error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER


def waiting_for_the_disk_of_3() -> tuple[ReplicatedBrokers, Reply]:
    """Return brokers with flush.messages, all of which have a record, and the disks of two; its producer waits."""
    cluster = ReplicatedBrokers(configs={"flush.messages": "1"})
    cluster.settle()
    reply = produced(cluster, 1, b"x", timeout_ms=60_000)
    cluster.settle()
    cluster[1].flusher.finish()
    cluster[2].flusher.finish()
    return cluster, reply


def test_what_a_follower_has_counts_once_its_disk_has_it() -> None:
    """flush.messages: an offset that a follower asks for says what is safe there, and is acknowledged by the leader."""
    cluster, reply = waiting_for_the_disk_of_3()
    cluster.pass_time(3)
    assert ends(cluster) == [1, 1, 1]
    assert reply.is_waiting
    cluster[3].flusher.finish()
    cluster.settle()
    assert result(reply).error_code == 0


def test_follower_whose_disk_refuses_to_sync_tells_nothing_until_it_has() -> None:
    """It goes on once a later flush ends well."""
    cluster, reply = waiting_for_the_disk_of_3()
    cluster[3].flusher.fail()
    cluster.pass_time(3)
    assert reply.is_waiting
    cluster[3].flusher.request(cluster[3].partition)
    cluster[3].flusher.finish()
    cluster.pass_time(3)
    assert result(reply).error_code == 0


def test_follower_brings_to_its_disk_what_it_had_before_the_start() -> None:
    """flush.messages: what a killed process leaves is in the log and not known to be on the disk. Nobody else would
    bring it there, and the follower would never ask again."""
    cluster, reply = waiting_for_the_disk_of_3()
    cluster.start(3, cluster.kill(3))
    cluster.pass_time(3)
    assert ends(cluster) == [1, 1, 1]
    assert reply.is_waiting
    assert list(cluster[3].flusher.running) == [cluster[3].partition]
    cluster[3].flusher.finish()
    cluster.pass_time(3)
    assert result(reply).error_code == 0


def test_produce_that_is_not_committed_in_time_is_told_so() -> None:
    """REQUEST_TIMED_OUT; the data stays."""
    cluster = ReplicatedBrokers()
    cluster.settle()
    cluster.cut(3)
    reply = produced(cluster, 1, b"x", timeout_ms=500)
    cluster.pass_time(1)
    assert result(reply).error_code == ErrorCode.REQUEST_TIMED_OUT
    assert cluster[1].partition.log.log_end_offset == 1


def test_leader_that_comes_back_is_cut_to_what_the_new_one_has() -> None:
    """What only the old leader had is gone, and both go on with the new leader's records (KIP-101)."""
    cluster = ReplicatedBrokers()
    cluster.append(1, b"a")
    cluster.settle()
    cluster.cut(1)
    cluster.append(1, b"lost", b"lost")
    cluster.elect(2, isr=(2, 3), told=(2, 3))
    cluster.append(2, b"new")
    cluster.settle()
    cluster.pass_time(1)
    assert cluster[2].partition.high_watermark == 2
    cluster.heal()
    cluster.tell()
    cluster.pass_time(3)
    assert cluster[1].content == cluster[2].content == cluster[3].content
    assert ends(cluster) == [2, 2, 2]
    assert cluster.isr == {1, 2, 3}


def test_what_is_committed_survives_a_follower_that_did_not_know_it() -> None:
    """A follower whose high watermark lags restarts and does not cut what is committed, and then leads (KIP-101)."""
    cluster = ReplicatedBrokers(2)
    cluster.append(1, b"m1")
    cluster.settle()
    cluster.append(1, b"m2")
    cluster.settle()
    assert cluster[1].partition.high_watermark == 2
    assert ends(cluster) == [2, 2]
    files = cluster.kill(2)
    cluster.start(2, files)
    assert cluster[2].partition.high_watermark < 2
    files = cluster.kill(1)
    cluster.elect(2, isr=(2,))
    cluster.settle()
    assert cluster[2].partition.log.log_end_offset == 2
    cluster.append(2, b"m3")
    cluster.start(1, files)
    cluster.pass_time(3)
    assert cluster[1].content == cluster[2].content
    assert ends(cluster) == [3, 3]


def test_fast_fail_overs_leave_no_divergence() -> None:
    """Two leaders in a row, each with a record that nobody else got, agree in the end (KIP-279)."""
    cluster = ReplicatedBrokers(2)
    cluster.append(1, b"common")
    cluster.settle()
    cluster.cut(1, 2)
    cluster.append(1, b"of epoch 0")
    cluster.elect(2, isr=(2,))
    cluster.append(2, b"of epoch 1")
    cluster.elect(1, isr=(1,))
    cluster.append(1, b"of epoch 2")
    cluster.elect(2, isr=(2,))
    cluster.heal()
    cluster.pass_time(3)
    assert cluster[1].content == cluster[2].content
    assert ends(cluster) == [2, 2]
    cluster.append(2, b"more")
    cluster.pass_time(1)
    assert ends(cluster) == [3, 3]
    assert high_watermarks(cluster) == [3, 3]


def test_new_replica_gets_everything_and_joins() -> None:
    """One with an empty log catches up over several fetches, and is added to the ISR."""
    cluster = ReplicatedBrokers(3)
    cluster.change(replicas=(1, 2), isr=(1, 2))
    for number in range(50):
        cluster.append(1, b"%d" % number * 100)
    cluster.settle()
    cluster.change(replicas=(1, 2, 3))
    cluster.pass_time(2)
    assert cluster[3].content == cluster[1].content
    assert cluster.isr == {1, 2, 3}


def test_replica_that_is_taken_away_is_deleted() -> None:
    """Its directory is set aside, and its fetcher asks no more."""
    cluster = ReplicatedBrokers(3)
    cluster.append(1, b"x")
    cluster.settle()
    cluster.change(replicas=(1, 2), isr=(1, 2))
    cluster.pass_time(1)
    names = [entry.name for entry in cluster[3].files.scan("/data") if entry.is_directory]
    assert len(names) == 1
    assert names[0].endswith("-delete")
    cluster.requests.clear()
    cluster.pass_time(2)
    assert {source for source, _, _ in cluster.requests} == {2}


def test_follower_far_behind_begins_where_the_leader_does() -> None:
    """What the leader has deleted is not there to be fetched: the log begins anew."""
    cluster = ReplicatedBrokers(2)
    cluster.append(1, b"a", b"b")
    cluster.settle()
    cluster.cut(2)
    cluster.append(1, b"c", b"d")
    cluster.pass_time(LAG_S + 1, 1.0)
    cluster.shrink(1)
    cluster.settle()
    cluster[1].partition.log.roll(0)
    cluster[1].partition.delete_records_before(4)
    cluster.append(1, b"e")
    cluster.heal()
    cluster.pass_time(4)
    log = cluster[2].partition.log
    assert (log.log_start_offset, log.log_end_offset) == (4, 5)
    assert cluster.isr == {1, 2}


def test_epoch_that_was_never_written_in_is_no_divergence_for_ever() -> None:
    """A leader that wrote nothing in its epoch follows again, and is in sync at once."""
    cluster = ReplicatedBrokers(2)
    cluster.append(1, b"a")
    cluster.settle()
    cluster.cut(1, 2)
    cluster.elect(2, isr=(2,))
    cluster.elect(1, isr=(1,))
    cluster.append(1, b"b")
    cluster.heal()
    cluster.pass_time(3)
    assert ends(cluster) == [2, 2]
    assert cluster[2].content == cluster[1].content
    assert cluster.isr == {1, 2}


def test_follower_with_a_full_disk_returns_when_there_is_space() -> None:
    """It leaves the ISR, tells why once, and comes back by itself."""
    cluster = ReplicatedBrokers(2)
    cluster.append(1, b"a")
    cluster.settle()
    room, cluster[2].files.capacity = cluster[2].files.capacity, cluster[2].files.used
    cluster.append(1, b"b")
    cluster.pass_time(LAG_S + 1, 1.0)
    cluster.shrink(1)
    cluster.settle()
    assert cluster.isr == {1}
    assert cluster[1].partition.high_watermark == 2
    cluster[2].files.capacity = room
    cluster.pass_time(8)
    assert cluster.isr == {1, 2}
    assert cluster[2].content == cluster[1].content


def test_throttled_follower_fetches_no_more_than_its_share() -> None:
    """follower.replication.throttled.rate, of the partitions that the topic names, until it is in sync."""
    cluster = ReplicatedBrokers(3, {"follower.replication.throttled.replicas": "0:3"})
    cluster.change(replicas=(1, 2), isr=(1, 2))
    cluster.pass_time(1)
    for _ in range(40):
        cluster.append(1, b"x" * 100_000)
    cluster.pass_time(1)
    cluster.follower_rate = 500_000
    cluster.change(replicas=(1, 2, 3))
    cluster.pass_time(3)
    assert 0 < cluster[3].partition.log.log_end_offset < 40
    assert cluster.isr == {1, 2}
    cluster.pass_time(20, 0.5)
    assert cluster[3].content == cluster[1].content
    assert cluster.isr == {1, 2, 3}


def test_other_number_of_fetchers_spreads_the_partitions_anew() -> None:
    """num.replica.fetchers can be changed while they fetch."""
    cluster = ReplicatedBrokers()
    cluster[2].replication.change_fetchers(3)
    cluster.append(1, b"x")
    cluster.pass_time(1)
    assert ends(cluster) == [1, 1, 1]


def test_follower_that_lost_its_end_fetches_it_again() -> None:
    """After a crash its log is checked and cut at the first damaged batch, below its high watermark as well."""
    cluster = ReplicatedBrokers(2)
    for number in range(5):
        cluster.append(1, b"%d" % number)
    cluster.pass_time(1)
    files = cluster.kill(2)
    path = "/data/t-0/00000000000000000000.log"
    content = bytearray(files.read_bytes(path))
    content[len(content) // 2] ^= 0xFF
    files.write_bytes(path, bytes(content))
    cluster.start(2, files)
    assert cluster[2].partition.log.log_end_offset < 5
    cluster.pass_time(2)
    assert cluster[2].content == cluster[1].content
    assert cluster[2].partition.high_watermark == 5


def test_records_damaged_on_their_way_are_fetched_again() -> None:
    """Nothing of them is written."""
    cluster = ReplicatedBrokers(2)
    cluster.settle()
    cluster.damages_answers = True
    cluster.append(1, b"x")
    cluster.settle()
    assert ends(cluster) == [1, 0]
    cluster.damages_answers = False
    cluster.pass_time(3)
    assert ends(cluster) == [1, 1]


def test_high_watermark_is_found_again_after_a_restart() -> None:
    """From the checkpoint, and not beyond it before the replicas have told what they have."""
    cluster = ReplicatedBrokers(2)
    cluster.append(1, b"a")
    cluster.pass_time(1)
    checkpoint = cluster[1].logs.checkpoints.high_watermarks(cluster[1].table.high_watermarks())
    assert checkpoint is not None
    checkpoint()
    cluster.cut(2)
    cluster.append(1, b"b")
    files = cluster.kill(1)
    cluster.start(1, files)
    assert cluster[1].partition.high_watermark == 1
    cluster.heal()
    cluster.pass_time(2)
    assert high_watermarks(cluster) == [2, 2]


def test_leader_that_has_not_heard_yet_is_asked_again_soon() -> None:
    """Metadata reaches brokers at different times: who is early rests for moments, and not for a second."""
    cluster = ReplicatedBrokers(2)
    cluster.append(1, b"a")
    cluster.settle()
    cluster.elect(2, told=(1,))
    cluster.settle()
    cluster.tell((2,))
    cluster.append(2, b"b")
    cluster.pass_time(0.1, 0.05)
    assert ends(cluster) == [2, 2]


def test_leader_that_goes_on_refusing_is_asked_less_and_less_often() -> None:
    """Up to replica.fetch.backoff.ms."""
    cluster = ReplicatedBrokers(2)
    cluster.settle()
    cluster.elect(2, told=(1,))
    cluster.requests.clear()
    cluster.pass_time(10, 0.05)
    assert 10 <= sum(source == 1 for source, _, _ in cluster.requests) <= 16
