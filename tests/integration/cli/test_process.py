"""The command as a process: signals, pipes, terminals, exit codes, and a cluster that is not there."""

import os
import pty
import re
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from odradek import __version__
from odradek.build_kind import build_kind
from odradek.cli.app import COMMANDS
from tests.integration.cli import COMMAND, Cli, environment, start
from tests.support.broker import BrokerProcess
from tests.support.ports import free_ports
from tests.support.waiting import eventually

TIMEOUT_S = 60


def _run(bootstrap: str, *arguments: str, **how: str) -> subprocess.CompletedProcess[str]:
    command = [*COMMAND, *arguments]
    env = {**environment(bootstrap), **how}
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_consume_ends_between_two_lines(cli: Cli, topic: str, broker: BrokerProcess, number: signal.Signals) -> None:
    """Ctrl-C or SIGTERM while records are written: whole lines, no word on standard error, exit code 130."""
    cli("topics", "create", topic)
    line = "x" * 500
    cli("produce", topic, stdin=f"{line}\n".encode() * 20_000)
    command = start(broker.bootstrap, ["consume", topic, "--follow"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert command.stdout is not None
    assert command.stderr is not None
    with command.stdout as output, command.stderr as error:
        read = output.read(100_000)
        command.send_signal(number)
        read += output.read()
        assert error.read() == b""
    assert command.wait(TIMEOUT_S) == 130
    assert read.endswith(b"\n")
    assert set(read.decode().splitlines()) == {line}


def test_produce_delivers_what_it_has_read(cli: Cli, topic: str, broker: BrokerProcess) -> None:
    """Ctrl-C while it waits for more lines: those that came are produced, and the summary says so."""
    cli("topics", "create", topic)
    command = start(broker.bootstrap, ["produce", topic], stdin=subprocess.PIPE, stderr=subprocess.PIPE)
    assert command.stdin is not None
    assert command.stderr is not None
    with command.stdin as lines, command.stderr as error:
        lines.write(b"a\nb\n")
        lines.flush()
        assert cli("consume", topic, "--from", "0", "--follow", "-n", "2").lines == ["a", "b"]
        command.send_signal(signal.SIGINT)
        assert error.read().startswith(b"2 records (2 B) to 1 partition of ")
    assert command.wait(TIMEOUT_S) == 130


def test_a_reader_that_has_enough(cli: Cli, topic: str, broker: BrokerProcess) -> None:
    """A closed pipe, as with `| head`, ends it quietly and well."""
    cli("topics", "create", topic)
    cli("produce", topic, stdin=b"some words\n" * 50_000)
    command = start(broker.bootstrap, ["consume", topic], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert command.stdout is not None
    assert command.stderr is not None
    with command.stderr as error:
        assert command.stdout.readline() == b"some words\n"
        command.stdout.close()
        assert error.read() == b""
    assert command.wait(TIMEOUT_S) == 0


def test_a_reader_that_has_enough_while_nothing_comes(cli: Cli, topic: str, broker: BrokerProcess) -> None:
    """Whoever waits for more records notices that nobody reads them any more, without one that comes."""
    cli("topics", "create", topic)
    cli("produce", topic, stdin=b"some words\n")
    command = start(broker.bootstrap, ["consume", topic, "-f"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert command.stdout is not None
    assert command.stderr is not None
    with command.stderr as error:
        assert command.stdout.readline() == b"some words\n"
        command.stdout.close()
        assert error.read() == b""
    assert command.wait(TIMEOUT_S) == 0


def test_nothing_listens() -> None:
    """Every command says so within a few seconds, in one sentence, and what to do."""
    [port] = free_ports(1)
    address = f"127.0.0.1:{port}"
    began = time.monotonic()
    result = _run("", "topics", "list", "--bootstrap-server", address)
    assert time.monotonic() - began < 5
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr == f"odradek: nothing listens on {address}; start one with `odradek serve`\n"


@pytest.fixture
def deaf() -> Iterator[str]:
    """The address of something that takes connections and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield f"127.0.0.1:{listener.getsockname()[1]}"


def test_no_kafka_there(deaf: str) -> None:
    """What listens but does not answer is told from what does not listen."""
    result = _run(deaf, "topics", "list")
    assert result.returncode == 1
    assert result.stderr.startswith(f"odradek: {deaf} takes connections but does not answer as a Kafka broker within ")
    assert result.stderr.count("\n") == 1


def test_debug_shows_where_an_error_comes_from() -> None:
    """The traceback comes before the sentence, and only with --debug."""
    [port] = free_ports(1)
    result = _run(f"127.0.0.1:{port}", "topics", "list", "--debug")
    assert result.stderr.startswith("Traceback")
    assert result.stderr.splitlines()[-1].startswith("odradek: nothing listens on ")


def test_client_settings_from_a_file(cli: Cli, broker: BrokerProcess, tmp_path: Path) -> None:
    """--command-config gives librdkafka its settings; one that it does not know is named."""
    good, bad, broken = (tmp_path / name for name in ("good", "bad", "broken"))
    good.write_text("security.protocol=PLAINTEXT\nclient.id = me\n")
    bad.write_text("security.protocol=PLAINTEXT\nssl.keystore.typo=x\n")
    broken.write_bytes(b"\0")
    assert cli("topics", "list", "--command-config", str(good)).code == 0
    unknown = cli("topics", "list", "--command-config", str(bad))
    assert (unknown.code, unknown.error) == (
        2,
        "odradek: ssl.keystore.typo is no setting of this Kafka client (librdkafka); take it out of --command-config, "
        "-X or the profile, or use librdkafka's name for it\n",
    )
    malformed = cli("topics", "list", "--command-config", str(broken))
    assert (malformed.code, malformed.error.count("\n")) == (2, 1)
    missing = cli("topics", "list", "--command-config", str(tmp_path / "no"))
    assert missing.code == 2
    assert "cannot read the file: No such file or directory" in missing.error


def _on_terminal(bootstrap: str, *arguments: str) -> tuple[int, str]:
    """Run the command with all three descriptors on a terminal; return its exit code and everything it showed."""
    ours, theirs = pty.openpty()
    env = {**environment(bootstrap), "TERM": "xterm-256color", "COLUMNS": "100"}
    command = subprocess.Popen([*COMMAND, *arguments], env=env, stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    shown: list[bytes] = []

    def read() -> None:
        try:
            while data := os.read(ours, 65536):
                shown.append(data)
        except OSError:
            pass  # the terminal's other end is closed

    reader = threading.Thread(target=read)
    reader.start()
    code = command.wait(TIMEOUT_S)
    reader.join(TIMEOUT_S)
    os.close(ours)
    return code, b"".join(shown).decode()


def test_colours_and_progress_on_a_terminal_only(cli: Cli, topic: str, broker: BrokerProcess) -> None:
    """A heading is bold and a load shows its progress on a terminal; a pipe gets neither."""
    cli("topics", "create", topic)
    code, shown = _on_terminal(broker.bootstrap, "topics", "describe", topic)
    assert code == 0
    assert f"\x1b[1m{topic}\x1b[0m" in shown
    assert "PARTITION" in shown
    code, shown = _on_terminal(broker.bootstrap, "bench", "produce", topic, "-n", "500", "--rate", "1000")
    assert code == 0
    assert "/500" in shown
    for arguments in (["topics", "describe", topic], ["bench", "produce", topic, "-n", "500"]):
        result = cli(*arguments)
        assert b"\x1b" not in result.output
        assert result.error == ""


def test_help_and_version(tmp_path: Path) -> None:
    """--help lists every command, `serve --help` is its own, and no arguments are a question for help."""
    shown = _run("", "--help")
    assert shown.returncode == 0
    for name in COMMANDS:
        assert re.search(rf"│ {name} +\w", shown.stdout), name
    assert _run("", "--version").stdout == f"odradek {__version__} ({build_kind()})\n"
    serve = _run("", "serve", "--help")
    assert (serve.returncode, "--override KEY=VALUE" in serve.stdout) == (0, True)
    nothing = _run("")
    assert (nothing.returncode, nothing.stderr) == (2, "")
    assert "Usage: odradek" in nothing.stdout


def test_completion_of_names(cli: Cli, topic: str, broker: BrokerProcess) -> None:
    """Shells are told the topics and groups of the cluster that the line means; without a cluster nothing."""
    cli("topics", "create", f"{topic}-one", f"{topic}-two")
    cli("consume", f"{topic}-one", "--group", f"{topic}-group")
    [closed] = free_ports(1)
    for line, expected in (
        (f"odradek consume {topic}-t", [f"{topic}-two"]),
        (f"odradek -b {broker.bootstrap} consume x --group {topic}", [f"{topic}-group"]),
        (f"odradek -b 127.0.0.1:{closed} consume {topic}", []),
    ):
        words = str(len(line.split(" ")) - 1)

        def is_told(line: str = line, expected: list[str] = expected, words: str = words) -> bool:
            result = _run(broker.bootstrap, _ODRADEK_COMPLETE="complete_bash", COMP_WORDS=line, COMP_CWORD=words)
            assert result.stderr == ""
            return result.stdout.split() == expected

        eventually(is_told, f"{line} is completed to {expected}, at once or on a machine that is less busy")


@pytest.mark.parametrize(
    ("line", "expected"),
    [("odradek ", "topics"), ("odradek topics cr", "create"), ("odradek topics create --par", "--partitions")],
)
def test_completion(line: str, expected: str) -> None:
    """Shells are told the subcommands and the options."""
    words = str(len(line.split(" ")) - 1)
    result = _run("", _ODRADEK_COMPLETE="complete_bash", COMP_WORDS=line, COMP_CWORD=words)
    assert expected in result.stdout.splitlines()
