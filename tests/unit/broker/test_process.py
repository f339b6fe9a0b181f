"""The broker as a process: what starts it, what stops it, and what it says when it cannot start."""

import asyncio
import gc
import os
import signal
import socket
import weakref
from collections.abc import Iterator
from pathlib import Path

import pytest

from odradek.broker import process
from odradek.broker.metadata.errors import CorruptMetadataError
from odradek.broker.runtime import logging
from odradek.broker.runtime.host_advice import HostFacts
from odradek.broker.servers.shared import SharedServer
from odradek.protocol.errors import ErrorCode, KafkaError


class Circle:
    """What is only found by the garbage collector."""

    def __init__(self, circle: list[object]) -> None:
        circle.append(self)
        self.circle = circle


class FakeBroker:
    """Stands for the broker; `script` says what befalls it."""

    fails_with: Exception | None = None
    signals: tuple[signal.Signals, ...] = (signal.SIGTERM,)
    ports: tuple[int, ...] = (19092, 19093)
    seen: list[str]

    def __init__(self, shared: SharedServer) -> None:
        self._loop = shared.loop
        self.seen.append(f"made with num.partitions={shared.settings.num_partitions}, {logging.current_level()}")

    async def start(self) -> None:
        self.seen.append("started")
        if self.fails_with is not None:
            raise self.fails_with
        self._loop.call_soon(os.kill, os.getpid(), self.signals[0])

    async def stop(self) -> None:
        self.seen.append("stopping")
        for number in self.signals[1:]:
            os.kill(os.getpid(), number)
            while not self.seen[-1].startswith("exit"):
                await asyncio.sleep(0)
        self.seen.append("stopped")


class FakeSharedServer(SharedServer):
    """Opens nothing."""

    def start(self) -> None:
        """Touch no directory."""


@pytest.fixture(autouse=True)
def fake(monkeypatch: pytest.MonkeyPatch) -> Iterator[type[FakeBroker]]:
    """Put a fake in the broker's place, and leave the process of the tests as it was."""

    class BrokerServer(FakeBroker):
        seen: list[str] = []  # noqa: RUF012 -- one list for each test, since the class is

    thresholds = gc.get_threshold()
    monkeypatch.setattr(process, "SharedServer", FakeSharedServer)
    monkeypatch.setattr(process, "server_of_roles", BrokerServer)
    monkeypatch.setattr(logging, "_output", logging._output)
    yield BrokerServer
    gc.set_threshold(*thresholds)
    gc.unfreeze()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signal_stops_the_broker_in_order(fake: type[FakeBroker], number: signal.Signals) -> None:
    """Exit code 0 once everything is on the disk."""
    fake.signals = (number,)
    assert process.serve(None, ["num.partitions=3"], "error") == process.EXIT_OK
    assert fake.seen == ["made with num.partitions=3, error", "started", "stopping", "stopped"]


def test_second_signal_ends_the_process_at_once(fake: type[FakeBroker], monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever asks twice does not want to wait; the next start recovers."""
    fake.signals = (signal.SIGTERM, signal.SIGINT)
    monkeypatch.setattr(os, "_exit", lambda code: fake.seen.append(f"exit {code}"))
    process.serve(None, [], "error")
    assert f"exit {process.EXIT_SECOND_SIGNAL}" in fake.seen


def test_wrong_setting_keeps_it_from_starting(fake: type[FakeBroker], capsys: pytest.CaptureFixture[str]) -> None:
    """One sentence on standard error that names key and value, before anything is touched."""
    assert process.serve(None, ["num.partitions=many"], "error") == process.EXIT_CANNOT_START
    said = capsys.readouterr().err
    assert said.startswith("odradek: cannot start: ")
    assert said.count("\n") == 1
    assert "num.partitions" in said
    assert "many" in said
    assert fake.seen == []


def test_missing_file_keeps_it_from_starting(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The sentence names the file."""
    missing = str(tmp_path / "server.properties")
    assert process.serve(missing, [], "error") == process.EXIT_CANNOT_START
    assert missing in capsys.readouterr().err


@pytest.mark.parametrize(
    "reason",
    [
        KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, "the disk is locked"),
        CorruptMetadataError("the disk is locked"),
        OSError("the disk is locked"),
    ],
)
def test_what_keeps_it_from_starting_is_one_sentence(
    fake: type[FakeBroker], capsys: pytest.CaptureFixture[str], reason: Exception
) -> None:
    """Exit code 1, no traceback."""
    fake.fails_with = reason
    assert process.serve(None, [], "error") == process.EXIT_CANNOT_START
    assert capsys.readouterr().err == "odradek: cannot start: the disk is locked\n"


def test_setting_without_effect_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    """A key that nobody knows is a typing error, most likely; the broker starts all the same."""
    assert process.serve(None, ["num.partitoins=3"], "warning") == process.EXIT_OK
    assert "num.partitoins" in capsys.readouterr().err


def test_what_a_full_collection_found_in_use_is_looked_at_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """The next one is as short as what is new since then; all is looked at again where that has doubled."""
    monkeypatch.setattr(process, "GC_GROWTH", 10_000)
    gc.freeze()
    survivors = process.Survivors()
    gc.callbacks.append(survivors.on_collection)
    try:
        used = [[number] for number in range(1_000)]
        gc.collect()
        kept = gc.get_freeze_count()
        assert kept > len(used)  # as were all things of this process
        assert len(gc.get_objects()) < len(used)
        circle: list[object] = []
        circle.append(circle)
        gone = weakref.finalize(Circle(circle), lambda: None)
        gc.freeze()
        del circle
        gc.collect()
        assert gone.alive, "it is garbage that was kept as in use"
        used += [[number] for number in range(2 * kept + 20_000)]
        gc.collect()
        gc.collect()
        assert not gone.alive
    finally:
        gc.callbacks.remove(survivors.on_collection)


def test_a_service_manager_is_told_when_it_serves_and_when_it_stops(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it is at, that it serves and where, that it lives, and that it stops and why, in this order."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(tmp_path / "notify"))
        manager.setblocking(False)
        monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "notify"))
        monkeypatch.setenv("WATCHDOG_USEC", "60000000")
        assert process.serve(None, ["node.id=7"], "error") == process.EXIT_OK
        told = [manager.recv(4096).decode() for _ in range(4)]
        with pytest.raises(BlockingIOError):
            manager.recv(4096)
    assert told[0].startswith("STATUS=starting: ")
    assert told[1:] == [
        "READY=1\nSTATUS=node 7 serves on port 19092, 19093",
        "WATCHDOG=1",
        "STOPPING=1\nSTATUS=stopping in order: SIGTERM",
    ]
    assert not {"NOTIFY_SOCKET", "WATCHDOG_USEC"} & set(os.environ)


def test_trouble_to_come_on_this_machine_is_said_once(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One line with what it is and what to do; a machine that is all right is not spoken of."""
    for descriptors, lines in ((1024, 1), (-1, 0)):
        monkeypatch.setattr(process, "look_at_host", lambda count=descriptors: HostFacts(count))
        assert process.serve(None, [], "warning") == process.EXIT_OK
        assert capsys.readouterr().err.count("this machine") == lines
