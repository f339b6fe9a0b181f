"""Members as a test sees them: started, watched by what they report, ended in order or killed."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tests.support.broker import REPOSITORY, BrokerProcess
from tests.support.waiting import eventually
from tests.support.wire import ConnectionClosedError, WireClient

SETTLE_TIMEOUT_S = 60
NOW_MS = int(time.time() * 1000)
"""A time for records that no retention takes for old."""
END_TIMEOUT_S = 60

BROKER_SETTINGS: Mapping[str, str] = {
    "group.initial.rebalance.delay.ms": "0",
    "group.min.session.timeout.ms": "500",
    "group.max.size": "8",
    "group.consumer.min.session.timeout.ms": "1000",
    "group.consumer.session.timeout.ms": "5000",
    "group.consumer.min.heartbeat.interval.ms": "100",
    "group.consumer.heartbeat.interval.ms": "200",
    "group.consumer.assignment.interval.ms": "0",
    "group.consumer.max.size": "8",
}
"""Settings of a broker whose groups notice quickly that a member is gone."""


@dataclass(frozen=True, slots=True)
class MemberSettings:
    """How a member is set up, whichever client it is; times in milliseconds."""

    bootstrap: str
    topic: str
    group: str
    assignor: str = "range"
    session_timeout: int = 10_000
    instance_id: str | None = None
    auto_commit: bool = False
    group_protocol: str = "classic"

    def options(self) -> list[str]:
        """Return the options of the programs that are our own."""
        given = ["--bootstrap", self.bootstrap, "--topic", self.topic, "--group", self.group]
        given += ["--assignor", self.assignor, "--session-timeout", str(self.session_timeout)]
        given += ["--group-protocol", self.group_protocol]
        if self.instance_id:
            given += ["--instance-id", self.instance_id]
        return [*given, "--auto-commit"] if self.auto_commit else given


Command = Callable[[MemberSettings], Sequence[str]]
"""How a kind of client is run as a member."""


def python_command(program: str) -> Command:
    """Return how to run one of the programs beside this module."""
    name = f"tests.integration.groups.programs.{program}"
    return lambda settings: [sys.executable, "-P", "-m", name, *settings.options()]


@dataclass(slots=True)
class Reports:
    """What a member has reported so far."""

    owned: set[int] = field(default_factory=set)
    assignments: int = 0
    consumed: dict[int, list[tuple[int, int]]] = field(default_factory=dict)
    """Ranges of offsets by partition, in the order in which they came, both ends included."""
    committed: dict[int, int] = field(default_factory=dict)
    """The last acknowledged commit by partition."""
    closed: bool = False
    other_output: list[str] = field(default_factory=list)

    def add(self, line: str) -> None:
        """Take in one line of output."""
        try:
            event: dict[str, Any] = json.loads(line)
            name = event["name"]
        except (ValueError, KeyError, TypeError):
            self.other_output.append(line)
            return
        if name == "partitions_assigned":
            self.owned = self.owned | {each["partition"] for each in event["partitions"]}
            self.assignments += 1
        elif name == "partitions_revoked":
            self.owned = self.owned - {each["partition"] for each in event["partitions"]}
        elif name == "records_consumed":
            for each in event["partitions"]:
                self.consumed.setdefault(each["partition"], []).append((each["minOffset"], each["maxOffset"]))
        elif name == "offsets_committed" and event["success"]:
            self.committed = self.committed | {each["partition"]: each["offset"] for each in event["offsets"]}
        elif name == "shutdown_complete":
            self.closed = True
        else:
            self.other_output.append(line)

    def offsets(self) -> dict[int, list[int]]:
        """Return every offset that was consumed, by partition, in order."""
        return {
            partition: [offset for first, last in ranges for offset in range(first, last + 1)]
            for partition, ranges in self.consumed.items()
        }


class Member:
    """One member in a process of its own."""

    def __init__(self, command: Command, settings: MemberSettings) -> None:
        self.settings = settings
        self.reports = Reports()
        self._command = command
        self._process: subprocess.Popen[bytes] | None = None
        self._reader: threading.Thread | None = None
        self.start()

    def start(self) -> None:
        """Run the member, again if it was ended before; what was reported before is forgotten."""
        self.reports = Reports()
        self._process = subprocess.Popen(
            self._command(self.settings),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
            start_new_session=True,
        )
        self._reader = threading.Thread(target=self._read, args=(self._process, self.reports), daemon=True)
        self._reader.start()

    @property
    def running(self) -> bool:
        """Whether the process has not ended."""
        return self._process is not None and self._process.poll() is None

    @property
    def owned(self) -> set[int]:
        """The partitions that the member says it owns."""
        return self.reports.owned

    def leave(self) -> None:
        """Make the member close its consumer and end."""
        self.ask_to_leave()
        self.wait()
        assert self.reports.closed, f"the member did not end in order: {self.output()}"

    def ask_to_leave(self) -> None:
        """Make the member close its consumer, without waiting for it."""
        assert self._process is not None
        self._process.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """End the process with SIGKILL: its sockets are cut, the group is told nothing."""
        assert self._process is not None
        self._process.kill()
        self.wait()

    def pause(self) -> None:
        """Stop the process where it is: its sockets stay, it says nothing."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Let the process go on."""
        assert self._process is not None
        self._process.send_signal(signal.SIGCONT)

    def wait(self) -> None:
        """Wait until the process has ended and everything that it reported is known."""
        assert self._process is not None
        assert self._reader is not None
        try:
            self._process.wait(END_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
            raise AssertionError(f"the member has not ended: {self.output()}") from None
        self._reader.join(END_TIMEOUT_S)

    def discard(self) -> None:
        """End the process if it runs, however it is."""
        if self.running:
            self.resume()
            self.kill()

    def rejoin_as(self, **changes: object) -> None:
        """Start a member that was ended with other settings."""
        self.settings = replace(self.settings, **changes)  # type: ignore[arg-type]  # names and types are the fields'
        self.start()

    def output(self) -> str:
        """Return what the member wrote beside its reports, for people."""
        return "".join(self.reports.other_output[-30:])

    def _read(self, process: subprocess.Popen[bytes], reports: Reports) -> None:
        assert process.stdout is not None
        with process.stdout as output:
            for line in output:
                reports.add(line.decode("utf-8", "replace"))


def settled(broker: BrokerProcess, members: Sequence[Member], partitions: int) -> list[set[int]]:
    """Wait until the group is stable and every partition has exactly one owner; return who owns what.

    There must not be more members than partitions: each has to own one.
    """
    group = members[0].settings.group

    def is_settled() -> bool:
        for member in members:
            # librdkafka writes that it has given up, and then is silent for ever.
            assert member.running, f"a member has ended: {member.output()}"
            assert "|FATAL|" not in member.output(), f"a member has given up: {member.output()}"
        return _shared_out([member.owned for member in members], partitions) and group_state(broker, group) == "Stable"

    try:
        eventually(is_settled, f"group {group} settles", SETTLE_TIMEOUT_S)
    except AssertionError as error:
        owned = [sorted(member.owned) for member in members]
        outputs = "\n".join(member.output() for member in members)
        state = group_state(broker, group)
        raise AssertionError(f"{error}: state {state}, owned {owned}\n{outputs}\n{broker.log[-3000:]}") from None
    return [set(member.owned) for member in members]


def _shared_out(owned: Iterable[set[int]], partitions: int) -> bool:
    each = list(owned)
    return all(each) and sorted(one for some in each for one in some) == list(range(partitions))


def group_state(broker: BrokerProcess, group: str) -> str:
    """Return the state of a group as ListGroups tells it, "" when it is not listed."""
    with WireClient(broker.port) as wire:
        try:
            answer = wire.ask("ListGroups", 5)
        except (ConnectionClosedError, OSError) as error:
            return str(error)
    states = {each["group_id"]: str(each["group_state"]) for each in answer["groups"]}
    return states.get(group, "")
