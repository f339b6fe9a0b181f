"""A file system without space, a real one: what needs space is refused, all else goes on, and nothing is lost."""

import contextlib
from pathlib import Path

import pytest

from odradek.cli.app import run
from tests.conftest import BrokerFactory
from tests.fault.talk import (
    STORAGE_ERROR,
    assert_quiet,
    create_topic,
    delete_records,
    delete_topic,
    fetch,
    produce,
    read_all,
    set_config,
    topics,
    values_of,
)
from tests.support.broker import BrokerProcess
from tests.support.waiting import eventually
from tests.support.wire import WireClient

VALUE_BYTES = 20_000


class Ballast:
    """A file that takes all the space that is left."""

    def __init__(self, disk: Path) -> None:
        self._path = disk / "ballast"

    def fill(self) -> None:
        """Leave not a byte."""
        with self._path.open("ab", buffering=0) as file:
            for size in (1 << 16, 1 << 12, 1):
                with contextlib.suppress(OSError):
                    while True:
                        file.write(bytes(size))

    def leave(self, size: int) -> None:
        """Leave `size` bytes after all."""
        with self._path.open("ab") as file:
            file.truncate(file.tell() - size)

    def drop(self) -> None:
        """Give the space back."""
        self._path.unlink()


@pytest.fixture
def ballast(small_disk: Path) -> Ballast:
    """What fills the small disk."""
    return Ballast(small_disk)


@pytest.fixture
def broker(new_broker: BrokerFactory, small_disk: Path) -> BrokerProcess:
    """A broker on the small disk that writes its checkpoints all the time."""
    often = {
        "replica.high.watermark.checkpoint.interval.ms": "50",
        "log.flush.offset.checkpoint.interval.ms": "50",
        "log.flush.start.offset.checkpoint.interval.ms": "50",
        "log.segment.bytes": "1048576",
    }
    broker = new_broker(often, directory=small_disk)
    broker.start()
    return broker


def test_the_command_says_that_the_disk_is_full(
    broker: BrokerProcess, ballast: Ballast, topic: str, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Who produces is told which broker's disk it is, and so is who makes a topic that cannot be used; the broker's log
    has the condition a few times, not for each attempt, and its end."""
    file = tmp_path / "value"
    file.write_bytes(bytes(VALUE_BYTES))
    settings = ["-b", broker.bootstrap, "-X", "message.timeout.ms=2500"]
    assert run([*settings, "topics", "create", topic]) == 0
    ballast.fill()
    assert run([*settings, "produce", topic, str(file), "--whole"]) == 1
    assert "no acknowledgement in time, as the disk of broker 1 is full: " in capfd.readouterr().err
    assert run([*settings, "topics", "create", f"{topic}-new"]) == 1
    assert "created, but not usable: the disk of broker 1 is full: " in capfd.readouterr().err
    ballast.drop()
    assert run(["-b", broker.bootstrap, "produce", topic, str(file), "--whole"]) == 0
    eventually(lambda: "appends go well again" in broker.log, "the log has the end of it")
    assert 1 <= broker.log.count("append failed") <= 2


def _fill_by_producing(wire: WireClient, topic: str) -> list[bytes]:
    """Append until the disk is full; returns the values that were acknowledged."""
    values: list[bytes] = []
    for number in range(1000):
        value = b"%d:" % number + b"v" * VALUE_BYTES
        code, _ = produce(wire, topic, value)
        if code:
            assert code == STORAGE_ERROR
            return values
        values.append(value)
    raise AssertionError("the disk does not fill")


def test_producing_until_the_disk_is_full(broker: BrokerProcess, ballast: Ballast, topic: str) -> None:
    """The batch that does not fit is a storage error, reads go on, freed space is used without a restart, and after
    one exactly what was acknowledged is there, also over the segments that were begun on the way."""
    with WireClient(broker.port) as wire:
        assert create_topic(wire, topic, configs={"segment.bytes": "1048576", "index.interval.bytes": "100"}) == 0
        ballast_size = 300_000
        (broker.directory / "ballast").write_bytes(bytes(ballast_size))
        values = _fill_by_producing(wire, topic)
        for _ in range(20):
            assert produce(wire, topic, b"x" * VALUE_BYTES)[0] == STORAGE_ERROR
        assert values_of(read_all(wire, topic)) == values
        assert topic in topics(wire)
        ballast.drop()
        for number in range(8):
            values.append(b"after %d" % number + b"w" * VALUE_BYTES)
            assert produce(wire, topic, values[-1]) == (0, len(values) - 1)
    assert broker.stop() == 0
    assert_quiet(broker)
    broker.start()
    with WireClient(broker.port) as wire:
        assert values_of(read_all(wire, topic)) == values
    assert_quiet(broker)


@pytest.mark.parametrize("flush", ["1", "9223372036854775807"], ids=["flush each", "default flush"])
def test_killed_on_a_full_disk(broker: BrokerProcess, ballast: Ballast, topic: str, flush: str) -> None:
    """Killed while the disk is full, and started again while it still is, the broker serves what it acknowledged."""
    with WireClient(broker.port) as wire:
        configs = {"segment.bytes": "1048576", "flush.messages": flush, "index.interval.bytes": "100"}
        assert create_topic(wire, topic, configs=configs) == 0
        (broker.directory / "ballast").write_bytes(bytes(100_000))  # to be dropped, whatever the records leave
        values = _fill_by_producing(wire, topic)
        ballast.fill()
    broker.kill()
    broker.start()
    with WireClient(broker.port) as wire:
        assert values_of(read_all(wire, topic)) == values
        assert topic in topics(wire)
        assert produce(wire, topic, b"x" * VALUE_BYTES)[0] == STORAGE_ERROR
        ballast.drop()
        values.append(b"more")
        eventually(lambda: produce(wire, topic, values[-1])[0] == 0, "writes go on")
    broker.kill()
    broker.start()
    with WireClient(broker.port) as wire:
        assert values_of(read_all(wire, topic)) == values
    assert_quiet(broker)


def test_administration_on_a_full_disk(broker: BrokerProcess, ballast: Ballast, topic: str) -> None:
    """Topics, configs and deletions that cannot be recorded are refused and have not happened; later they can be."""
    with WireClient(broker.port) as wire:
        assert create_topic(wire, topic) == 0
        for number in range(10):
            assert produce(wire, topic, b"%d" % number)[0] == 0
        ballast.fill()
        while create_topic(wire, topic + "-filler", 50) == 0:
            assert delete_topic(wire, topic + "-filler") == 0
        known = topics(wire)
        for number in range(5):
            assert create_topic(wire, f"{topic}-new-{number}", 300) == STORAGE_ERROR
        set_config(wire, topic, "retention.ms", "1234")
        delete_topic(wire, topic + "-filler")
        delete_records(wire, topic, 5)
        assert topics(wire) <= known | {topic + "-filler"}
        assert fetch(wire, topic, 7)["error_code"] == 0
        ballast.drop()
        assert create_topic(wire, topic + "-later") == 0
        assert produce(wire, topic, b"10") == (0, 10)
        eventually(lambda: produce(wire, topic + "-later", b"0")[0] == 0, "the new topic is served")
    broker.kill()
    broker.start()
    with WireClient(broker.port) as wire:
        assert {topic, topic + "-later"} <= topics(wire)
        assert read_all(wire, topic, start=8) == [(8, b"8"), (9, b"9"), (10, b"10")]
    assert_quiet(broker)


def test_a_topic_whose_partitions_find_no_space(broker: BrokerProcess, ballast: Ballast, topic: str) -> None:
    """Partitions that the metadata has and the disk has no room for are a storage error until there is room again."""
    new = topic + "-new"
    with WireClient(broker.port) as wire:
        assert create_topic(wire, topic) == 0
        assert produce(wire, topic, b"a") == (0, 0)
        ballast.fill()
        ballast.leave(80_000)
        assert create_topic(wire, new, 50) == 0
        codes = eventually(lambda: codes_of(wire, new, 50), "all partitions were tried")
        assert set(codes) == {0, STORAGE_ERROR}
        assert values_of(read_all(wire, topic)) == [b"a"]
        ballast.drop()
        eventually(lambda: set(codes_of(wire, new, 50)) == {0}, "all partitions are online")
    broker.kill()
    broker.start()
    with WireClient(broker.port) as wire:
        assert set(codes_of(wire, new, 50)) == {0}
    assert_quiet(broker)


def codes_of(wire: WireClient, topic: str, partitions: int) -> list[int]:
    """The error codes of fetches from the partitions of a topic."""
    return [fetch(wire, topic, 0, partition)["error_code"] for partition in range(partitions)]


def test_stopping_on_a_full_disk(broker: BrokerProcess, ballast: Ballast, topic: str) -> None:
    """A stop in order does not fail where nothing can be written any more, and loses nothing."""
    with WireClient(broker.port) as wire:
        assert create_topic(wire, topic) == 0
        values = _fill_by_producing(wire, topic)
        ballast.fill()
    assert broker.stop() == 0, broker.log
    broker.start()
    with WireClient(broker.port) as wire:
        assert values_of(read_all(wire, topic)) == values
    assert_quiet(broker)
