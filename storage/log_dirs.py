"""The log directories of a node: whether they may be used, to whom they belong, and what is in them.

All is looked at before anything is changed, so that a directory of somebody else is left as it was. Every refusal says
what to do. Knows nothing of what is inside a partition's directory. Follows Kafka's storage format, files in a log.dir
(KIP-112, KIP-631, KIP-858).
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from uuid import UUID

from storage.directory_lock import lock_directory
from storage.errors import IncompatibleDirectory, StorageError
from storage.files import FileSystem, HeldLock
from storage.meta_properties import MetaProperties, read_meta_properties, settle_directories, write_meta_properties
from storage.names import (
    METADATA_TOPIC,
    REMOTE_INDEX_CACHE_DIRECTORY,
    DirectoryState,
    TopicPartition,
    parse_directory_name,
)


@dataclass(slots=True)
class LogDirectory:
    """One log directory, locked for this process."""

    path: str
    lock: HeldLock
    meta: MetaProperties | None = None
    """What the directory says about itself; always there once it is open."""
    for_partitions: bool = True
    """False for a directory that has the metadata log only."""
    closed: dict[TopicPartition, str] = field(default_factory=dict)
    """Path of each partition found in it whose log is not open (yet)."""
    deleted: list[str] = field(default_factory=list)
    """Paths of partitions whose removal was under way."""
    set_aside: list[str] = field(default_factory=list)
    """Paths of stray partitions, and of copies of partitions on their way to another directory: left alone."""
    findings: list[str] = field(default_factory=list)
    """What was not as it should be, and what was done about it, in sentences."""


def open_log_directories(
    fs: FileSystem,
    paths: Sequence[str],
    node_id: int,
    draw_id: Callable[[], UUID],
    cluster_id: str | None = None,
    metadata_path: str | None = None,
) -> list[LogDirectory]:
    """Lock the log directories, made where missing, and see what is in them; new ones join the cluster of the others.

    `draw_id` gives new ids for cluster and directories. `metadata_path` is the directory of the metadata log, if it
    is not one of `paths`. Raises StorageError and its kinds DirectoryLocked, IncompatibleDirectory and CorruptFile;
    no lock is held then.
    """
    given = _distinct(paths)
    extra = [path for path in _distinct([metadata_path] if metadata_path else []) if path not in given]
    directories: list[LogDirectory] = []
    try:
        for path in (*given, *extra):
            with _explained("use", path):
                _make(fs, path)
                lock = lock_directory(fs, path)
            directory = LogDirectory(path, lock, for_partitions=path in given)
            directories.append(directory)
            with _explained("read", path):
                directory.meta = read_meta_properties(fs, path)
                _look_into(fs, directory)
        _check_unique(directories)
        found = {directory.path: directory.meta for directory in directories}
        settled = settle_directories(found, node_id, draw_id, cluster_id)
        for directory in directories:
            if directory.meta != settled[directory.path]:
                if directory.closed and (directory.meta is None or directory.meta.cluster_id is None):
                    directory.findings.append(
                        f"{directory.path} has partitions, but its meta.properties did not say of which cluster: it "
                        f"says {settled[directory.path].cluster_id} now"
                    )
                directory.meta = settled[directory.path]
                with _explained("write to", directory.path):
                    write_meta_properties(fs, directory.path, settled[directory.path])
    except BaseException:
        for directory in directories:
            directory.lock.release()
        raise
    return directories


def _make(fs: FileSystem, path: str) -> None:
    """Make the directory and those above it that are missing, so that a crash does not take them away again."""
    if not fs.exists(path):
        parent = path.rpartition("/")[0] if "/" in path else "."
        if parent:
            _make(fs, parent)
        fs.mkdir(path)
        fs.sync_dir(parent or "/")


def _distinct(paths: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(path.rstrip("/") or "/" for path in paths))


@contextmanager
def _explained(action: str, path: str) -> Iterator[None]:
    """Turn an OSError into a StorageError that says what to do."""
    try:
        yield
    except OSError as error:
        raise StorageError(
            f"Cannot {action} log directory {path}: {error.strerror or error}. Let the user that runs the broker "
            "read and write it, or choose another directory in log.dirs."
        ) from error


def _look_into(fs: FileSystem, directory: LogDirectory) -> None:
    """Sort what is in the directory; refuse what nobody here could have put there."""
    for name, is_directory in fs.scan(directory.path):
        if not is_directory or name == REMOTE_INDEX_CACHE_DIRECTORY:
            continue
        path = f"{directory.path}/{name}"
        parsed = parse_directory_name(name)
        if parsed is None:
            raise IncompatibleDirectory(
                f"Log directory {directory.path} has a directory {name!r} that is not of the form topic-partition: "
                "move it away, or choose another directory in log.dirs."
            )
        if parsed.partition.topic == METADATA_TOPIC:
            continue
        if parsed.state is DirectoryState.CURRENT:
            directory.closed[parsed.partition] = path
        elif parsed.state is DirectoryState.DELETED:
            directory.deleted.append(path)
        else:
            directory.set_aside.append(path)


def _check_unique(directories: Sequence[LogDirectory]) -> None:
    owners: dict[TopicPartition, str] = {}
    for directory in directories:
        for partition, path in directory.closed.items():
            other = owners.setdefault(partition, path)
            if other != path:
                raise IncompatibleDirectory(
                    f"Partition {partition} is in two log directories, {other} and {path}: move one of them away."
                )
