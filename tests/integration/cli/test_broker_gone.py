"""A broker that is killed while the command reads from it or writes to it."""

import os
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import IO

import pytest

from odradek.cli.app import run
from tests.conftest import BrokerFactory
from tests.integration.cli import start
from tests.support.broker import BrokerProcess
from tests.support.waiting import eventually

TIMEOUT_S = 60
TOPIC = "t"

Start = Callable[..., subprocess.Popen[bytes]]


@pytest.fixture
def mortal(new_broker: BrokerFactory) -> BrokerProcess:
    """A broker of our own with one topic, on the same port after each start."""
    broker = new_broker()
    broker.start()
    assert run(["topics", "create", TOPIC, "-b", broker.bootstrap]) == 0
    return broker


class Heard:
    """Everything that a process writes to one of its streams."""

    def __init__(self, stream: IO[bytes] | None) -> None:
        assert stream is not None
        self._stream = stream
        self._data = bytearray()
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def wait_for(self, text: bytes) -> None:
        """Return when it has written this."""
        eventually(lambda: text in self._data, f"{text!r} in {bytes(self._data)!r}", TIMEOUT_S)

    def all(self) -> bytes:
        """Return what it had written when it ended."""
        self._thread.join(TIMEOUT_S)
        return bytes(self._data)

    def _read(self) -> None:
        with self._stream:
            while data := self._stream.read1(65536):  # type: ignore[attr-defined]
                self._data += data


@pytest.fixture
def start_piped(mortal: BrokerProcess) -> Iterator[Start]:
    """Start the command with pipes at all three ends; what still runs at the end of the test is ended."""
    with ExitStack() as stack:

        def begin(*arguments: str) -> subprocess.Popen[bytes]:
            pipe = subprocess.PIPE
            process = stack.enter_context(start(mortal.bootstrap, arguments, stdin=pipe, stdout=pipe, stderr=pipe))
            stack.callback(process.kill)
            return process

        yield begin


def _write(process: subprocess.Popen[bytes], text: bytes) -> None:
    assert process.stdin is not None
    process.stdin.write(text)
    process.stdin.flush()


def _lost(broker: BrokerProcess) -> bytes:
    return f"the connection to {broker.bootstrap} is lost; trying on\n".encode()


def test_both_go_on_when_the_broker_is_back(mortal: BrokerProcess, start_piped: Start) -> None:
    """A reader that follows and a writer say that the broker is gone, and no line is lost or doubled by that."""
    reader, writer = start_piped("consume", TOPIC, "--follow"), start_piped("produce", TOPIC)
    read, told_reader, told_writer = Heard(reader.stdout), Heard(reader.stderr), Heard(writer.stderr)
    _write(writer, b"one\ntwo\n")
    read.wait_for(b"two\n")
    mortal.kill()
    told_reader.wait_for(_lost(mortal))
    _write(writer, b"three\n")
    told_writer.wait_for(_lost(mortal))
    mortal.start()
    read.wait_for(b"three\n")
    told_reader.wait_for(b"again\n")
    _write(writer, b"four\n")
    read.wait_for(b"four\n")
    assert writer.stdin is not None
    writer.stdin.close()
    assert writer.wait(TIMEOUT_S) == 0
    again = f"connected to {mortal.bootstrap} again\n".encode()
    assert told_writer.all().startswith(_lost(mortal) + again + b"4 records (15 B) to 1 partition of t in ")
    reader.terminate()
    assert reader.wait(TIMEOUT_S) == 130
    assert read.all() == b"one\ntwo\nthree\nfour\n"
    assert told_reader.all() == _lost(mortal) + again


def test_lines_that_did_not_arrive_are_named(mortal: BrokerProcess, start_piped: Start, tmp_path: Path) -> None:
    """A broker that does not come back ends a writer after its message timeout, with exactly what is missing."""
    impatient = tmp_path / "client.properties"
    impatient.write_text("message.timeout.ms=1500\n")
    writer = start_piped("produce", TOPIC, "--command-config", str(impatient), "--json")
    written, told = Heard(writer.stdout), Heard(writer.stderr)
    reader = start_piped("consume", TOPIC, "--follow")
    read, told_reader = Heard(reader.stdout), Heard(reader.stderr)
    _write(writer, b'{"value": "one"}\n{"value": "two"}\n')
    read.wait_for(b"two\n")
    mortal.kill()
    told_reader.wait_for(_lost(mortal))
    _write(writer, b'{"value": "three"}\n{"value": "four"}\n')
    assert writer.stdin is not None
    writer.stdin.close()
    assert writer.wait(TIMEOUT_S) == 1
    assert told.all().endswith(
        b"odradek: lines 3-4 not acknowledged: topic t: no acknowledgement in time; is the broker still there? To go on"
        b" there: --skip 2, which may repeat what was written but not acknowledged\n"
    )
    summary = written.all()
    assert b'"records": 2,' in summary
    assert b'"failed": 2,' in summary
    reader.terminate()
    assert reader.wait(TIMEOUT_S) == 130
    assert told_reader.all() == _lost(mortal)
    assert read.all() == b"one\ntwo\n"


def test_reading_up_to_an_end_fails(mortal: BrokerProcess, start_piped: Start) -> None:
    """What cannot be read to the end that was asked for is an error, not an end."""
    lines = b"".join(b"%d %s\n" % (number, b"x" * 900) for number in range(50_000))
    writer = start_piped("produce", TOPIC)
    assert writer.communicate(lines, TIMEOUT_S)[0] == b""
    assert writer.returncode == 0
    reader = start_piped("consume", TOPIC)
    assert reader.stdout is not None
    start_of_output = os.read(reader.stdout.fileno(), 50_000)  # and no more, so that much is still to be read
    mortal.kill()
    rest, told = reader.communicate(timeout=TIMEOUT_S)
    assert lines.startswith(start_of_output + rest)
    assert len(start_of_output + rest) < len(lines)
    assert reader.returncode == 1
    assert told.startswith(b"odradek: reading: no answer in time; ")
    assert told.count(b"\n") == 1
