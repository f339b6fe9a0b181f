"""Apache Kafka's consumer notices that records were lost which it had read, by the leader epoch (KIP-320)."""

import re

import pytest

from tests.conftest import BrokerFactory
from tests.interop.hand_over import create, produce
from tests.support.broker import BrokerProcess, run_java

pytestmark = [pytest.mark.interop, pytest.mark.xdist_group("apache-kafka")]


def _consume(broker: BrokerProcess, count: int) -> list[int]:
    """Read as a member of a group, commit, and return the offsets."""
    shown = run_java(
        "org.apache.kafka.tools.consumer.ConsoleConsumer",
        *("--bootstrap-server", broker.bootstrap, "--topic", "spool", "--group", "readers"),
        *("--max-messages", str(count), "--formatter-property", "print.offset=true", "--from-beginning"),
    ).stdout
    return [int(offset) for offset in re.findall(rb"Offset:(\d+)", shown)]


def test_committed_offset_beyond_what_a_crash_left(new_broker: BrokerFactory) -> None:
    """A new consumer of a group whose committed offset is of an older epoch asks where that ended, and goes on there,
    instead of passing over the records that were written since."""
    broker = new_broker()
    broker.start()
    create(broker, "spool")
    for _ in range(10):
        assert produce(broker, "spool", [b"old"])[0] == 0
    assert _consume(broker, 10) == list(range(10))
    broker.kill()
    segment = broker.data / "spool-0" / "00000000000000000000.log"
    with segment.open("r+b") as file:
        file.truncate(segment.stat().st_size // 10 * 6)
    broker.start()
    for offset in range(6, 14):
        assert produce(broker, "spool", [b"new"]) == (0, offset)
    assert _consume(broker, 8) == list(range(6, 14))
