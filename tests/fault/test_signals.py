"""Signals at bad moments: under load, before the broker serves, while it stops."""

import os
import signal
import threading
import time
from pathlib import Path

import pytest

from tests.conftest import BrokerFactory
from tests.fault.talk import (
    MEGABYTE,
    assert_quiet,
    create_topic,
    fetch_fields,
    produce,
    read_all,
    send_batch,
    values_of,
)
from tests.support.broker import BrokerProcess
from tests.support.waiting import eventually
from tests.support.wire import ConnectionClosedError, Record, WireClient, build_batch

STOP_LIMIT_S = 8.0
"""Longer than requests in work are waited for."""
MARKER = ".kafka_cleanshutdown"


@pytest.mark.parametrize("flush", ["1", "9223372036854775807"], ids=["flush each", "default flush"])
def test_a_stop_under_load(running: BrokerProcess, topic: str, flush: str) -> None:
    """A stop while eight producers write, one of them far ahead of its answers, and others read is prompt and clean;
    every acknowledged record is there."""
    acknowledged: list[set[bytes]] = [set() for _ in range(8)]
    with WireClient(running.port) as wire:
        assert create_topic(wire, topic, configs={"flush.messages": flush}) == 0

    def write(place: int) -> None:
        with WireClient(running.port) as wire:
            number = 0
            while True:
                value = b"%d.%d" % (place, number)
                try:
                    code, _ = produce(wire, topic, value)
                except (ConnectionClosedError, OSError):
                    return
                assert code == 0
                acknowledged[place].add(value)
                number += 1

    def run_ahead() -> None:
        batch = build_batch([Record(None, b"ahead" * 1_000)])
        with WireClient(running.port) as wire:
            try:
                while True:
                    send_batch(wire, topic, batch)
            except (ConnectionClosedError, OSError):
                return

    def poll() -> None:
        with WireClient(running.port) as wire:
            try:
                while True:
                    wire.ask("Fetch", 11, **fetch_fields(topic, 0, 0, max_wait_ms=60_000, min_bytes=100 * MEGABYTE))
            except (ConnectionClosedError, OSError):
                return

    threads = [threading.Thread(target=write, args=(place,), daemon=True) for place in range(8)]
    threads += [threading.Thread(target=target, daemon=True) for target in (run_ahead, poll)]
    for thread in threads:
        thread.start()
    eventually(lambda: all(len(each) > 20 for each in acknowledged), "everybody has written")
    began = time.monotonic()
    assert running.stop() == 0
    assert time.monotonic() - began < STOP_LIMIT_S
    for thread in threads:
        thread.join(60)
    assert (running.data / MARKER).exists()
    assert_quiet(running)
    running.start()
    assert "checked logs" not in running.log
    with WireClient(running.port) as wire:
        assert set().union(*acknowledged) <= set(values_of(read_all(wire, topic)))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_before_the_broker_serves(new_broker: BrokerFactory, topic: str, number: signal.Signals) -> None:
    """A start that takes long, because the disk does, is ended at once; the next start finds everything."""
    broker = new_broker()
    broker.start()
    with WireClient(broker.port) as wire:
        assert create_topic(wire, topic) == 0
        assert produce(wire, topic, b"kept") == (0, 0)
    assert broker.stop() == 0
    slow_file = broker.data / "recovery-point-offset-checkpoint"
    content = slow_file.read_bytes()
    slow_file.unlink()
    os.mkfifo(slow_file)  # whoever reads it waits for what this test writes, which is nothing
    broker.launch()
    writer = eventually(lambda: _open_if_read(str(slow_file)), "the broker reads the checkpoint")
    eventually(lambda: _is_ended_by(broker, number), "the broker has ended", 60)
    assert broker.wait(5) == 130
    os.close(writer)
    assert_quiet(broker)
    slow_file.unlink()
    slow_file.write_bytes(content)
    broker.start()
    with WireClient(broker.port) as wire:
        assert read_all(wire, topic) == [(0, b"kept")]


def test_a_second_signal_while_the_disk_is_waited_for(running: BrokerProcess, topic: str) -> None:
    """A stop that hangs on the disk is ended at once by a second signal; what was acknowledged is there."""
    with WireClient(running.port) as wire:
        assert create_topic(wire, topic) == 0
        assert produce(wire, topic, b"kept") == (0, 0)
    slow_file = running.data / "recovery-point-offset-checkpoint.tmp"
    os.mkfifo(slow_file)  # whoever writes it waits for a reader
    running.signal(signal.SIGTERM)
    eventually(lambda: '"stopping"' in running.log, "the broker stops")
    with pytest.raises(AssertionError):
        eventually(lambda: '"stopped"' in running.log, "the broker has stopped", 0.5)
    eventually(lambda: _is_ended_by(running, signal.SIGTERM), "the broker has ended", 60)
    assert running.wait(5) == 130
    assert_quiet(running)
    slow_file.unlink(missing_ok=True)
    running.start()
    with WireClient(running.port) as wire:
        assert read_all(wire, topic) == [(0, b"kept")]


def _is_ended_by(broker: BrokerProcess, number: signal.Signals) -> bool:
    """Send a signal, and return whether an earlier one has ended the process.

    Asked again and again: one that comes in the very moment before a call that blocks is only seen after it.
    """
    broker.signal(number)
    return not Path(f"/proc/{broker.pid}").exists()


def _open_if_read(path: str) -> int:
    """Open a FIFO for writing if somebody reads it, else return 0."""
    try:
        return os.open(path, os.O_WRONLY | os.O_NONBLOCK)
    except OSError:
        return 0
