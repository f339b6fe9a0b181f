"""Clients in Python copy a topic in transactions while the broker is killed: each number once, and in order.

librdkafka's does so in `tests/fault/test_transactions`, those in Java and Go in `tests/interop/test_transactions`.
"""

import subprocess
import sys
from pathlib import Path

import pytest
from confluent_kafka import Producer

from tests.conftest import BrokerFactory
from tests.integration.clients import Confluent
from tests.integration.clients.transactional_copiers import CLIENTS, SOURCE, TARGET
from tests.integration.test_transactions import QUIET, send, values
from tests.support.broker import BrokerProcess
from tests.support.ports import free_ports
from tests.support.waiting import eventually

REPOSITORY = Path(__file__).resolve().parents[2]
NUMBERS = 300
KILLED_AT = 100
"""How many numbers are copied when the broker is killed."""
TIMEOUT_S = 120


@pytest.fixture
def source(new_broker: BrokerFactory) -> BrokerProcess:
    """A broker with numbers in one topic, and another for their copies."""
    [port] = free_ports(1)  # one that no client takes for an outgoing connection while the broker is away
    few = {"transaction.state.log.num.partitions": "3", "offsets.topic.num.partitions": "3"}
    broker = new_broker({**few, "listeners": f"PLAINTEXT://127.0.0.1:{port}"})
    broker.start()
    for topic in (SOURCE, TARGET):
        Confluent(broker.bootstrap).create_topic(topic, 1)
    numbers = [b"%d" % number for number in range(NUMBERS)]
    send(Producer({**QUIET, "bootstrap.servers": broker.bootstrap}), SOURCE, *numbers)
    return broker


@pytest.mark.timeout(3 * TIMEOUT_S)
@pytest.mark.parametrize("client", CLIENTS)
def test_everything_is_copied_once_though_the_broker_is_killed(
    source: BrokerProcess, client: str, tmp_path: Path
) -> None:
    """In order, with a third of the transactions aborted."""
    command = [sys.executable, "-m", "tests.integration.clients.transactional_copiers"]
    said, trouble = tmp_path / "copied.txt", tmp_path / "trouble.txt"

    def has_copied(number: int) -> bool:
        assert copier.poll() in (None, 0), trouble.read_text()
        return any(int(line) >= number for line in said.read_text().splitlines() if line)

    with said.open("wb") as output, trouble.open("wb") as errors:
        copier = subprocess.Popen(
            [*command, client, source.bootstrap, str(NUMBERS)], stdout=output, stderr=errors, cwd=REPOSITORY
        )
    try:
        eventually(lambda: has_copied(KILLED_AT), "some are copied", TIMEOUT_S)
        source.kill()
        source.start()
        assert copier.wait(TIMEOUT_S) == 0, trouble.read_text()
    finally:
        copier.kill()
        copier.wait()
    assert values(source.bootstrap, TARGET) == [b"%d" % number for number in range(NUMBERS)], trouble.read_text()
    assert len(values(source.bootstrap, TARGET, isolation="read_uncommitted")) > NUMBERS
