"""From what a visitor names to the files of a log: topic, partition and segment as listed, never as a path.

Errors of reading become refusals with a sentence; what a running broker has removed meanwhile is told as such.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from odradek.cluster.configs import ConfigResourceType, describe_configs
from odradek.config.definitions import topic_definitions
from odradek.config.errors import ConfigError
from odradek.config.topic import TopicConfig, kafka_defaults
from odradek.console.routes import PageRefusedError
from odradek.console.visit import Visit
from odradek.logs.outline import LogOutline, find_partition, outline_log
from odradek.protocol.errors import KafkaError
from odradek.storage.errors import StorageError
from odradek.storage.files import FileSystem, PosixFiles
from odradek.storage.names import METADATA_TOPIC, TopicPartition
from odradek.terminal.errors import CommandError

_LONGEST_NUMBER = 19
MAX_INT64 = 2**63 - 1


class NamedLog(NamedTuple):
    """A partition that a visitor has named, and where it is."""

    fs: FileSystem
    partition: TopicPartition
    directory: str

    def outline(self) -> LogOutline:
        """Return its outline."""
        return outline_log(self.fs, self.directory, self.partition)


class TopicRules(NamedTuple):
    """The config that a log is kept by, or in a sentence why it is not known."""

    config: TopicConfig | None
    problem: str


def log_directories(visit: Visit) -> Sequence[str]:
    """Return the paths of the log directories that may be looked into."""
    return [str(each) for each in visit.console.settings.log_dirs]


def whole_number(text: str, what: str) -> int:
    """Return a number of at most 63 bits; PageRefusedError where it is none."""
    if not (text.isascii() and text.isdigit() and len(text) <= _LONGEST_NUMBER and int(text) <= MAX_INT64):
        raise PageRefusedError(f"{text[:40]!r} is no {what}", 404)
    return int(text)


def named_log(visit: Visit) -> NamedLog:
    """Return the partition in the path of a page; PageRefusedError where no log directory has it."""
    fs = PosixFiles()
    partition = TopicPartition(visit.path("topic"), whole_number(visit.path("partition"), "partition"))
    directories = log_directories(visit)
    with reading("the log directories"):
        directory = find_partition(fs, directories, partition)
    if directory is None:
        raise PageRefusedError(f"partition {partition} is not in {' or '.join(directories)}", 404)
    return NamedLog(fs, partition, directory)


def named_segment(visit: Visit, log: LogOutline) -> int:
    """Return the base offset of the segment in the path of a page; PageRefusedError where the log has none such."""
    base = whole_number(visit.path("segment"), "segment")
    if not any(each.base_offset == base for each in log.segments):
        raise PageRefusedError(
            f"{log.partition} has no segment {base} (any more); retention or compaction may have taken it", 404
        )
    return base


@contextmanager
def reading(what: str) -> Iterator[None]:
    """Turn errors of reading files into refusals."""
    try:
        yield
    except FileNotFoundError as gone:
        raise PageRefusedError(
            f"{what}: {gone.filename or 'a file'} is not there (any more); load the page again", 404
        ) from gone
    except OSError as failed:
        raise PageRefusedError(f"{what}: {failed.filename or ''}: {failed.strerror or failed}", 500) from failed
    except StorageError as failed:
        raise PageRefusedError(f"{what}: {failed.message}", 500) from failed
    except KafkaError as malformed:
        raise PageRefusedError(f"{what}: {malformed}", 500) from malformed


def topic_rules(visit: Visit, topic: str) -> TopicRules:
    """Ask the cluster what a topic's logs are kept by."""
    if topic == METADATA_TOPIC:
        return TopicRules(None, "the log of the metadata is kept short by snapshots, not by a topic's configs")
    known = topic_definitions()
    try:
        with visit.cluster() as cluster:
            found = describe_configs(cluster, ConfigResourceType.TOPIC, topic)
        values = {each.name: each.value for each in found if each.value is not None and each.name in known}
        return TopicRules(kafka_defaults().with_overrides(values), "")
    except (CommandError, ConfigError) as failed:
        return TopicRules(None, f"what goes next is not known, as the topic's configs are not: {failed}")
