"""The log directories of a node: whether they may be used, to whom they belong, and what is in them.

All is looked at before anything is changed, so that a directory of somebody else is left as it was: `find` locks and
reads, `make` and `identify` write, once whoever starts the node has found that it may serve what is there. Every
refusal says what to do. Knows nothing of what is inside a partition's directory. Follows Kafka's storage format, files
in a log.dir (KIP-112, KIP-631, KIP-858).
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from uuid import UUID

from odradek.storage.directories.clean_shutdown import LastStop, read_last_stop, take_last_stop, write_marker
from odradek.storage.directories.directory_lock import lock_directory
from odradek.storage.directories.failures import is_lasting
from odradek.storage.directories.meta_properties import (
    MetaProperties,
    read_meta_properties,
    settle_directories,
    write_meta_properties,
)
from odradek.storage.errors import IncompatibleDirectory, StorageError
from odradek.storage.files import FileSystem, HeldLock
from odradek.storage.names import (
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
    lock: HeldLock | None = None
    """None while the directory does not exist."""
    found: MetaProperties | None = None
    """What the directory said about itself when it was found; None: nothing."""
    meta: MetaProperties | None = None
    """What it says once it is identified."""
    for_partitions: bool = True
    """False for a directory that has the metadata log only."""
    closed: dict[TopicPartition, str] = field(default_factory=dict)
    """Path of each partition found in it whose log is not open (yet)."""
    deleted: list[str] = field(default_factory=list)
    """Paths of partitions whose removal was under way."""
    set_aside: list[str] = field(default_factory=list)
    """Paths of stray partitions, and of copies that nothing is known to be done with: left alone."""
    futures: dict[TopicPartition, list[str]] = field(default_factory=dict)
    """Paths of copies of partitions that were on their way here from another directory."""
    remote_index_cache: bool = False
    """Whether Kafka kept indexes of segments in tiered storage here."""
    failure: str = ""
    """Why nothing in it can be used any more; empty: it can. Neither read nor written then."""
    findings: list[str] = field(default_factory=list)
    """What was not as it should be, and what was done about it, in sentences."""
    last_stop: LastStop | None = None
    """What its marker of a clean stop said, where that was taken before the logs of partitions are opened."""

    def take_marker(self, fs: FileSystem) -> None:
        """Remove the marker of a clean stop, and remember what it said. Raises OSError."""
        self.last_stop = take_last_stop(fs, self.path)

    def put_marker_back(self, fs: FileSystem) -> None:
        """Let the directory say again what it said, since no log of a partition was opened. Raises OSError."""
        if self.last_stop is not None and self.last_stop.marker is not None:
            write_marker(fs, self.path, self.last_stop.marker)
        self.last_stop = None

    def broker_epoch(self, fs: FileSystem) -> int:
        """Return the epoch of the broker that stopped cleanly here, -1 where there was none. Raises OSError."""
        return (self.last_stop or read_last_stop(fs, self.path)).broker_epoch

    def settle_last_stop(self, fs: FileSystem) -> bool:
        """Return whether the last stop was clean; the marker is gone then, durably. Raises OSError."""
        last_stop, self.last_stop = self.last_stop or take_last_stop(fs, self.path), None
        return last_stop.is_clean


def find_log_directories(
    fs: FileSystem,
    paths: Sequence[str],
    node_id: int,
    draw_id: Callable[[], UUID],
    cluster_id: str | None = None,
    metadata_path: str | None = None,
) -> list[LogDirectory]:
    """Lock the log directories that are there, see what is in them, and settle what each should say about itself.

    New ones join the cluster of the others; `draw_id` gives new ids for cluster and directories. `metadata_path` is the
    directory of the metadata log, if it is not one of `paths`. One that has failed is left out where there are others,
    but for that of the metadata. Apart from lock files, nothing is written. Raises StorageError and its kinds
    DirectoryLocked, IncompatibleDirectory and CorruptFile; no lock is held then.
    """
    given = _distinct(paths)
    (vital,) = _distinct([metadata_path or given[0]])
    extra = [] if vital in given else [vital]
    directories: list[LogDirectory] = []
    try:
        for path in (*given, *extra):
            directory = LogDirectory(path, for_partitions=path in given)
            directories.append(directory)
            with nullcontext() if path == vital else _left_out(directory):
                with _explained("use", path):
                    if not fs.exists(path):
                        continue
                    directory.lock = lock_directory(fs, path)
                with _explained("read", path):
                    directory.found = read_meta_properties(fs, path)
                    _look_into(fs, directory)
        _check_unique(directories)
        usable = [directory for directory in directories if not directory.failure]
        if not any(directory.for_partitions for directory in usable):
            raise StorageError(
                f"None of the log directories can be used: {'; '.join(one.failure for one in directories)}"
            )
        found = {directory.path: directory.found for directory in usable}
        settled = settle_directories(found, node_id, draw_id, cluster_id)
        for directory in usable:
            directory.meta = settled[directory.path]
            if directory.closed and (directory.found is None or directory.found.cluster_id is None):
                directory.findings.append(
                    f"{directory.path} has partitions, but its meta.properties did not say of which cluster: it says "
                    f"{directory.meta.cluster_id} now"
                )
    except BaseException:
        release_log_directories(directories)
        raise
    return directories


def make_log_directories(fs: FileSystem, directories: Sequence[LogDirectory]) -> None:
    """Make and lock the directories that were not there. Raises StorageError and DirectoryLocked; no lock is held
    then."""
    try:
        for directory in directories:
            if directory.lock is None and not directory.failure:
                with _explained("use", directory.path):
                    _make(fs, directory.path)
                    directory.lock = lock_directory(fs, directory.path)
    except BaseException:
        release_log_directories(directories)
        raise


def identify_log_directories(fs: FileSystem, directories: Sequence[LogDirectory]) -> None:
    """Let each directory say whose it is, where it does not yet: the last step of taking it over.

    Raises StorageError; no lock is held then.
    """
    try:
        for directory in directories:
            if directory.meta is not None and directory.meta != directory.found:
                with _explained("write to", directory.path):
                    write_meta_properties(fs, directory.path, directory.meta)
                directory.found = directory.meta
    except BaseException:
        release_log_directories(directories)
        raise


def release_log_directories(directories: Iterable[LogDirectory]) -> None:
    """Give the locks back: the directories are not used after all."""
    for directory in directories:
        if directory.lock is not None:
            directory.lock.release()


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


@contextmanager
def _left_out(directory: LogDirectory) -> Iterator[None]:
    """Note of a directory that it has failed, instead of raising so."""
    try:
        yield
    except StorageError as error:
        if error.__cause__ is None or not is_lasting(error.__cause__):
            raise
        release_log_directories([directory])
        directory.lock, directory.failure = None, str(error.__cause__)
        directory.closed.clear()
        directory.deleted.clear()
        directory.set_aside.clear()
        directory.futures.clear()


def _look_into(fs: FileSystem, directory: LogDirectory) -> None:
    """Sort what is in the directory; refuse what nobody here could have put there."""
    for name, is_directory in fs.scan(directory.path):
        if not is_directory:
            continue
        if name == REMOTE_INDEX_CACHE_DIRECTORY:
            directory.remote_index_cache = True
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
        elif parsed.state is DirectoryState.FUTURE:
            directory.futures.setdefault(parsed.partition, []).append(path)
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
