"""Compacted topics of a running broker: what is left is the last value of each key, for every reader."""

import os
import signal
from pathlib import Path

import confluent_kafka
import pytest
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource

from tests.conftest import AGAINST_APACHE_KAFKA, BrokerFactory
from tests.support.broker import BrokerProcess
from tests.support.compacted import (
    QUICK_CLEANER,
    await_compacted,
    create,
    fill_segment,
    produce,
    read_kept,
)
from tests.support.waiting import eventually

KEYS = 20
ROUNDS = 30
VALUE_BYTES = 5000
MOST_LEFT = KEYS + 8
"""The last value of each key, and what is in the segment that is still written to."""


def overwrite(bootstrap: str, topic: str, codec: str = "none", rounds: int = ROUNDS) -> dict[bytes, bytes]:
    """Write every key many times, incompressibly, and return the last values."""
    records = [
        (b"key-%d" % key, b"%d:" % number + os.urandom(VALUE_BYTES)) for number in range(rounds) for key in range(KEYS)
    ]
    produce(bootstrap, topic, records, codec)
    return dict(records)


def cleaner_pid(broker: BrokerProcess) -> int:
    """The id of the broker's compaction process, 0 if there is none."""
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
            command = (path.parent / "cmdline").read_bytes()
        except OSError:
            continue  # it has ended meanwhile
        if int(fields[1]) == broker.pid and b"odradek.broker.compaction.child" in command:
            return int(path.parent.name)
    return 0


@pytest.mark.parametrize("codec", ["none", "zstd"])
def test_only_the_last_value_of_each_key_is_left(new_broker: BrokerFactory, topic: str, codec: str) -> None:
    """Overwritten values go, last ones stay at their offsets, and what is written afterwards follows as usual."""
    broker = new_broker(QUICK_CLEANER)
    broker.start()
    create(broker.bootstrap, topic)
    last = overwrite(broker.bootstrap, topic, codec)
    fill_segment(broker.bootstrap, topic)
    kept = await_compacted(broker.bootstrap, topic, MOST_LEFT)
    assert {one.key: one.value for one in kept if one.key != b"filler"} == last
    offsets = [one.offset for one in kept]
    assert offsets == sorted(set(offsets))
    assert offsets[-1] == KEYS * ROUNDS + 4
    produce(broker.bootstrap, topic, [(b"key-0", b"after")])
    assert read_kept(broker.bootstrap, topic)[-1] == (offsets[-1] + 1, b"key-0", b"after")


def test_what_was_compacted_is_the_same_after_a_restart(new_broker: BrokerFactory, topic: str) -> None:
    """Stopped or killed, the broker comes back with the compacted log, and knows how far it is compacted."""
    broker = new_broker(QUICK_CLEANER)
    broker.start()
    create(broker.bootstrap, topic)
    overwrite(broker.bootstrap, topic)
    fill_segment(broker.bootstrap, topic)
    await_compacted(broker.bootstrap, topic, MOST_LEFT)
    checkpoint = broker.data / "cleaner-offset-checkpoint"
    eventually(lambda: checkpoint.exists() and topic in checkpoint.read_text(), "the checkpoint is written")
    kept = read_kept(broker.bootstrap, topic)
    broker.stop()
    broker.start()
    assert read_kept(broker.bootstrap, topic) == kept
    broker.kill()
    broker.start()
    assert read_kept(broker.bootstrap, topic) == kept


def test_a_topic_is_compacted_once_its_policy_says_so(new_broker: BrokerFactory, topic: str) -> None:
    """cleanup.policy=delete keeps every value; from the change to compact on, old values go."""
    broker = new_broker(QUICK_CLEANER)
    broker.start()
    create(broker.bootstrap, topic, {"cleanup.policy": "delete"})
    last = overwrite(broker.bootstrap, topic)
    fill_segment(broker.bootstrap, topic)
    assert len(read_kept(broker.bootstrap, topic)) == KEYS * ROUNDS + 5
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    change = ConfigEntry("cleanup.policy", "compact", incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ConfigResource.Type.TOPIC, topic, incremental_configs=[change])
    [changed] = admin.incremental_alter_configs([resource]).values()
    changed.result(60)
    kept = await_compacted(broker.bootstrap, topic, MOST_LEFT)
    assert {one.key: one.value for one in kept if one.key != b"filler"} == last


def test_a_tombstone_goes_when_its_time_is_over(new_broker: BrokerFactory, topic: str) -> None:
    """A deleted key leaves its tombstone, which goes after delete.retention.ms with a later round."""
    broker = new_broker(QUICK_CLEANER)
    broker.start()
    create(broker.bootstrap, topic, {"delete.retention.ms": "200"})
    produce(broker.bootstrap, topic, [(b"gone", b"value"), (b"gone", None), (b"stays", b"value")])

    def is_gone() -> bool:
        fill_segment(broker.bootstrap, topic)  # something must be dirty for another round to come
        return b"gone" not in {one.key for one in read_kept(broker.bootstrap, topic)}

    eventually(is_gone, "the tombstone is gone", 60)
    assert (2, b"stays", b"value") in read_kept(broker.bootstrap, topic)


def test_committed_offsets_survive_the_compaction_of_their_topic(new_broker: BrokerFactory, topic: str) -> None:
    """`__consumer_offsets` is compacted like any other, and after a restart every group has its last offset."""
    small = {"offsets.topic.num.partitions": "1", "offsets.topic.segment.bytes": str(1 << 20)}
    quick = {"log.cleaner.min.cleanable.ratio": "0.01", "offsets.topic.replication.factor": "1"}
    broker = new_broker({**QUICK_CLEANER, **small, **quick})
    broker.start()
    create(broker.bootstrap, topic)
    produce(broker.bootstrap, topic, [(b"k", b"v")] * 10)
    consumer = confluent_kafka.Consumer({"bootstrap.servers": broker.bootstrap, "group.id": "committer"})
    metadata = "m" * 3000
    for number in range(800):
        place = confluent_kafka.TopicPartition(topic, 0, number % 10, metadata=f"{number}{metadata}")
        consumer.commit(offsets=[place], asynchronous=True)
    consumer.commit(offsets=[place], asynchronous=False)
    consumer.close()
    log_files = broker.data / "__consumer_offsets-0"

    def total() -> int:
        return sum(path.stat().st_size for path in log_files.glob("*.log"))

    eventually(lambda: total() < 1_300_000 and len(list(log_files.glob("*.log"))) > 1, "the offsets are compacted", 60)
    broker.kill()
    broker.start()
    again = confluent_kafka.Consumer({"bootstrap.servers": broker.bootstrap, "group.id": "committer"})
    [found] = again.committed([confluent_kafka.TopicPartition(topic, 0)], timeout=20)
    again.close()
    assert (found.offset, found.metadata) == (9, f"799{metadata}")


@pytest.mark.skipif(AGAINST_APACHE_KAFKA, reason="Apache Kafka compacts in its own process")
def test_the_broker_goes_on_when_the_compaction_process_is_killed(new_broker: BrokerFactory, topic: str) -> None:
    """Killed in the middle of a round, the process is started again, and the log is compacted; nothing is lost."""
    slow = {"log.cleaner.io.max.bytes.per.second": "3000000"}
    broker = new_broker({**QUICK_CLEANER, **slow})
    broker.start()
    create(broker.bootstrap, topic)
    last = overwrite(broker.bootstrap, topic)
    fill_segment(broker.bootstrap, topic)
    directory = broker.data / f"{topic}-0"
    eventually(lambda: list(directory.glob("*.cleaned")), "a segment is being written", 60)
    os.kill(cleaner_pid(broker), signal.SIGKILL)
    eventually(lambda: "the compaction process has died" in broker.log, "the death is noticed")
    kept = await_compacted(broker.bootstrap, topic, MOST_LEFT, 60)
    assert {one.key: one.value for one in kept if one.key != b"filler"} == last
    assert broker.stop() == 0
    assert not list(directory.glob("*.cleaned"))


@pytest.mark.skipif(AGAINST_APACHE_KAFKA, reason="Apache Kafka compacts in its own process")
@pytest.mark.parametrize("how", ["kill", "stop", "kill while it does not run"])
def test_the_compaction_process_never_outlives_its_broker(new_broker: BrokerFactory, topic: str, how: str) -> None:
    """However the broker ends in the middle of a round, the process ends too; the next start goes on from there."""
    broker = new_broker({**QUICK_CLEANER, "log.cleaner.io.max.bytes.per.second": "2000000"})
    broker.start()
    create(broker.bootstrap, topic)
    last = overwrite(broker.bootstrap, topic)
    fill_segment(broker.bootstrap, topic)
    directory = broker.data / f"{topic}-0"
    eventually(lambda: list(directory.glob("*.cleaned")), "a segment is being written", 60)
    child = cleaner_pid(broker)
    assert os.getpriority(os.PRIO_PROCESS, child) == 19
    if how != "stop":
        if how != "kill":  # as if it waited for a disk that does not answer
            os.kill(child, signal.SIGSTOP)
        broker.kill()
    else:
        assert broker.stop() == 0
        assert not list(directory.glob("*.cleaned"))
    eventually(lambda: not Path(f"/proc/{child}/cmdline").exists() or is_zombie(child), "the process has ended")
    broker.overrides.pop("log.cleaner.io.max.bytes.per.second")
    broker.start()
    kept = await_compacted(broker.bootstrap, topic, MOST_LEFT)
    assert {one.key: one.value for one in kept if one.key != b"filler"} == last


def is_zombie(pid: int) -> bool:
    """Whether the process has ended, and only its parent has not been told yet."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


@pytest.mark.skipif(AGAINST_APACHE_KAFKA, reason="the log line is odradek's")
def test_a_damaged_log_is_left_alone_and_named(new_broker: BrokerFactory, topic: str) -> None:
    """A flipped byte in a closed segment: one line names file and byte, nothing of the log is removed, others go on."""
    broker = new_broker({**QUICK_CLEANER, "log.cleaner.min.cleanable.ratio": "0.5"})
    broker.start()
    create(broker.bootstrap, topic, {"cleanup.policy": "delete"})
    overwrite(broker.bootstrap, topic)
    fill_segment(broker.bootstrap, topic)
    broker.stop()
    first = broker.data / f"{topic}-0" / f"{0:020d}.log"
    data = bytearray(first.read_bytes())
    data[1000] ^= 1
    first.write_bytes(data)
    broker.start()
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    change = ConfigEntry("cleanup.policy", "compact", incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ConfigResource.Type.TOPIC, topic, incremental_configs=[change])
    next(iter(admin.incremental_alter_configs([resource]).values())).result(60)
    eventually(lambda: "cannot be compacted" in broker.log, "the damage is reported", 60)
    [line] = [line for line in broker.log.splitlines() if "cannot be compacted" in line]
    assert str(first) in line
    assert "byte 0 " in line
    other = f"{topic}-other"
    create(broker.bootstrap, other)
    overwrite(broker.bootstrap, other)
    fill_segment(broker.bootstrap, other)
    await_compacted(broker.bootstrap, other, MOST_LEFT)
    assert first.read_bytes() == data
    assert broker.log.count("cannot be compacted") == 1
