"""Signals: the first one stops the broker in order, the second one at once."""

import signal
import time

import pytest

from tests.conftest import AGAINST_APACHE_KAFKA, BrokerFactory
from tests.integration.clients import Confluent, ProduceSettings, Sent
from tests.support.waiting import eventually
from tests.support.wire import WireClient
from tests.support.wire.client import request_frame

CLEAN_SHUTDOWN_MARKER = ".kafka_cleanshutdown"
STOP_LIMIT_S = 10.0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_stops_the_broker_cleanly(new_broker: BrokerFactory, topic: str, number: signal.Signals) -> None:
    """The broker ends with exit code 0 within its deadline and leaves the marker of a clean shutdown, which goes away
    again at the next start."""
    broker = new_broker()
    broker.start()
    client = Confluent(broker.bootstrap)
    client.create_topic(topic)
    client.produce(topic, 0, [Sent(None, b"x", (), 1)], ProduceSettings())
    assert not (broker.data / CLEAN_SHUTDOWN_MARKER).exists()
    began = time.monotonic()
    broker.signal(number)
    code = broker.wait()
    assert code == 0 or AGAINST_APACHE_KAFKA, broker.log
    assert time.monotonic() - began < STOP_LIMIT_S
    assert (broker.data / CLEAN_SHUTDOWN_MARKER).exists()
    broker.start()
    assert not (broker.data / CLEAN_SHUTDOWN_MARKER).exists()


def test_clients_that_wait_do_not_hold_up_the_stop(new_broker: BrokerFactory, topic: str) -> None:
    """Open connections and long polls end when the broker stops; the stop does not wait for them."""
    broker = new_broker()
    broker.start()
    Confluent(broker.bootstrap).create_topic(topic)
    partition = {"partition": 0, "fetch_offset": 0, "partition_max_bytes": 1_000, "current_leader_epoch": -1}
    fields = {
        "replica_id": -1,
        "max_wait_ms": 120_000,
        "min_bytes": 1,
        "max_bytes": 1_000,
        "session_epoch": -1,
        "topics": [{"topic": topic, "partitions": [partition]}],
    }
    with WireClient(broker.port) as idle, WireClient(broker.port, timeout=20) as waiting:
        idle.ask("ApiVersions", 0)
        waiting.send_frame(request_frame("Fetch", 11, 1, fields))
        began = time.monotonic()
        code = broker.stop()
        assert code == 0 or AGAINST_APACHE_KAFKA, broker.log
        assert time.monotonic() - began < STOP_LIMIT_S
        assert idle.is_closed_by_peer()
        waiting.read_to_end()


@pytest.mark.skipif(AGAINST_APACHE_KAFKA, reason="Apache Kafka ignores further signals")
def test_a_second_signal_ends_the_broker_at_once(new_broker: BrokerFactory) -> None:
    """Whoever asks twice does not want to wait: the process is gone, and the next start recovers."""
    broker = new_broker()
    broker.start()
    # A stopped process gets both signals before it can act on the first, however fast it would be.
    broker.signal(signal.SIGSTOP)
    broker.signal(signal.SIGTERM)
    broker.signal(signal.SIGINT)
    broker.signal(signal.SIGCONT)
    began = time.monotonic()
    assert broker.wait() != 0
    assert time.monotonic() - began < STOP_LIMIT_S
    assert not (broker.data / CLEAN_SHUTDOWN_MARKER).exists()
    broker.start()


@pytest.mark.skipif(AGAINST_APACHE_KAFKA, reason="the lines are the project's own")
def test_the_start_line_says_where_it_listens_and_where_data_lies(new_broker: BrokerFactory) -> None:
    """One line names the advertised address, with the real port, and the data directory."""
    broker = new_broker()
    broker.start()

    def line() -> list[str]:
        return [each for each in broker.log.splitlines() if f"PLAINTEXT://127.0.0.1:{broker.port}" in each]

    eventually(line, "the start line")
    [start] = line()
    assert str(broker.data) in start
    broker.stop()
