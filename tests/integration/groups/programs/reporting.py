"""What the programs share: their options and the lines that they write."""

import argparse
import json
import signal
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import FrameType


@dataclass(frozen=True, slots=True)
class Options:
    """How a member is set up; times in milliseconds."""

    bootstrap: str
    topic: str
    group: str
    assignor: str
    session_timeout: int
    instance_id: str | None
    auto_commit: bool
    group_protocol: str

    @property
    def heartbeat_interval(self) -> int:
        """How often the member tells that it lives."""
        return self.session_timeout // 10


def options() -> Options:
    """Read the command line."""
    parser = argparse.ArgumentParser()
    for name in ("bootstrap", "topic", "group", "assignor", "group-protocol"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--session-timeout", type=int, required=True)
    parser.add_argument("--instance-id")
    parser.add_argument("--auto-commit", action="store_true")
    return Options(**vars(parser.parse_args()))


class StopSignal:
    """Whether SIGTERM has come."""

    def __init__(self) -> None:
        self.received = False
        signal.signal(signal.SIGTERM, self._note)

    def _note(self, _number: int, _frame: FrameType | None) -> None:
        self.received = True


def assigned(topic: str, partitions: Iterable[int]) -> None:
    """Report partitions that the member owns from now on."""
    _write("partitions_assigned", partitions=[{"topic": topic, "partition": each} for each in partitions])


def revoked(topic: str, partitions: Iterable[int]) -> None:
    """Report partitions that the member owns no more."""
    _write("partitions_revoked", partitions=[{"topic": topic, "partition": each} for each in partitions])


def consumed(topic: str, records: Iterable[tuple[int, int]]) -> None:
    """Report the partitions and offsets of records that were handed out."""
    offsets: dict[int, list[int]] = {}
    for partition, offset in records:
        offsets.setdefault(partition, []).append(offset)
    partitions = [
        {
            "topic": topic,
            "partition": partition,
            "count": len(found),
            "minOffset": min(found),
            "maxOffset": max(found),
        }
        for partition, found in offsets.items()
    ]
    _write("records_consumed", count=sum(map(len, offsets.values())), partitions=partitions)


def committed(topic: str, offsets: Mapping[int, int]) -> None:
    """Report offsets whose commit was acknowledged."""
    listed = [{"topic": topic, "partition": partition, "offset": offset} for partition, offset in offsets.items()]
    _write("offsets_committed", offsets=listed, success=True)


def commit_failed(error: BaseException) -> None:
    """Report a commit that was refused."""
    _write("offsets_committed", offsets=[], success=False, error=f"{type(error).__name__}: {error}")


def closed() -> None:
    """Report that the member has left in order."""
    _write("shutdown_complete")


def _write(name: str, **fields: object) -> None:
    sys.stdout.write(json.dumps({"name": name, **fields}) + "\n")
    sys.stdout.flush()
