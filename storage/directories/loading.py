"""Loading the logs of a node at its start: which of those on disk are wanted, on how many threads, and what was found.

Must not know: what becomes of a log once it is loaded, and of one that is not wanted. Follows Kafka's log behaviour,
start-up load and recovery (`LogManager.loadLogs`).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple
from uuid import UUID

from odradek.config.topic import TopicConfig
from odradek.protocol.errors import KafkaError
from odradek.storage.directories.log_dirs import LogDirectory
from odradek.storage.errors import IncompatibleDirectory, StorageError
from odradek.storage.files import FileSystem
from odradek.storage.log.loaded_log import LoadedLog
from odradek.storage.names import TopicPartition
from odradek.storage.opening.loader import Opening, load_log
from odradek.storage.segment.entry_walk import read_buffer
from odradek.storage.threads import for_each

Wanted = Callable[[TopicPartition], tuple[UUID, TopicConfig] | None]
"""Says of a partition found on disk which topic it should belong to, and how that is configured; None: to no topic."""


class WantedLog(NamedTuple):
    """A partition on disk that belongs to a topic."""

    partition: TopicPartition
    path: str
    topic_id: UUID
    config: TopicConfig


@dataclass(slots=True)
class LoadReport:
    """What a start has found."""

    loaded: int = 0
    recovered: int = 0
    """How many of the logs had to be checked because their directory was not cleanly shut down."""
    intact: set[TopicPartition] = field(default_factory=set)
    """Partitions whose logs were found as a clean stop leaves them; others may have lost records at their end."""
    findings: list[str] = field(default_factory=list)
    """What was not as it should be, and what was done about it, in sentences."""
    strays: dict[TopicPartition, str] = field(default_factory=dict)
    """Partitions that belong to no topic, and where their files are now; nobody removes them."""
    offline: dict[TopicPartition, str] = field(default_factory=dict)
    """Partitions that could not be opened, and why."""

    def note(self, opening: Opening, outcome: LoadedLog | StorageError) -> LoadedLog | None:
        """Take down how the load of a log went, and return the log if it can be served."""
        partition = opening.partition
        if isinstance(outcome, IncompatibleDirectory):
            self.strays[partition] = opening.directory
        elif isinstance(outcome, StorageError):
            self.offline[partition] = str(outcome)
        else:
            self.loaded += 1
            self.recovered += not opening.clean
            if outcome.is_intact:
                self.intact.add(partition)
            self.findings += outcome.findings
            return outcome
        return None


def wanted_logs(directory: LogDirectory, wanted: Wanted, report: LoadReport) -> Iterator[WantedLog]:
    """Yield the partitions of a directory that are wanted; the report gets the others, and what else was found."""
    report.findings += directory.findings
    report.findings += [f"{path} is left alone: no partition of this broker" for path in directory.set_aside]
    for partition, path in directory.closed.items():
        topic = wanted(partition)
        if topic is None:
            report.strays[partition] = path
        else:
            yield WantedLog(partition, path, *topic)


def load_each(
    fs: FileSystem, openings: list[Opening], recovery_threads: int
) -> list[tuple[Opening, LoadedLog | StorageError]]:
    """Load logs, on several threads where there are checksums to compute, which threads need not wait for."""
    outcomes: list[tuple[Opening, LoadedLog | StorageError]] = []

    def make_worker() -> Callable[[Opening], None]:
        buffer = None if all_clean else read_buffer()
        return lambda opening: outcomes.append((opening, try_load(fs, opening, buffer)))

    all_clean = all(opening.clean for opening in openings)
    for_each(openings, make_worker, 1 if all_clean else recovery_threads)
    return outcomes


def try_load(fs: FileSystem, opening: Opening, buffer: bytearray | None = None) -> LoadedLog | StorageError:
    """Load a log; return why it cannot be opened if it cannot, as IncompatibleDirectory if it is another topic's."""
    try:
        return load_log(fs, opening, buffer)
    except StorageError as error:
        return error
    except (OSError, KafkaError) as error:
        failed = StorageError(f"Cannot open {opening.partition} in {opening.directory}: {error}")
        failed.__cause__ = error
        return failed
