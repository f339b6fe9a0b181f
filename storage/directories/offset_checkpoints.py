"""One kind of checkpoint, kept in every log directory for the partitions in it.

Owns what was found at start, and that a file is only written when it would say something new. What a file says of
partitions that are on disk, but not open, is carried over. See `storage.checkpoints.checkpoint_file` for the form of
the files.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from threading import Lock

from odradek.storage.checkpoints.checkpoint_file import read_offset_checkpoint, write_offset_checkpoint
from odradek.storage.directories.log_dirs import LogDirectory
from odradek.storage.errors import CorruptFile
from odradek.storage.files import FileSystem
from odradek.storage.log.local_log import NoteError
from odradek.storage.names import TopicPartition

Offsets = dict[TopicPartition, int]


class OffsetFiles:
    """The checkpoint files of one name."""

    __slots__ = ("_directories", "_fs", "_lock", "_name", "_note_error", "_prepared", "_written", "offsets")

    def __init__(
        self,
        fs: FileSystem,
        name: str,
        directories: Sequence[LogDirectory],
        note_error: NoteError | None = None,
    ) -> None:
        self._fs = fs
        self._name = name
        self._note_error = note_error
        self._directories = [directory for directory in directories if directory.for_partitions]
        self._written: dict[str, Offsets] = {}
        self._prepared: dict[str, Offsets] = {}
        """What each file is to say as of the last call: a thread that is late writes that, and nothing older."""
        self._lock = Lock()
        self.offsets: Offsets = {}
        """What the files said at start; entries of partitions that are gone since are taken out."""

    def read(self) -> list[str]:
        """Read the files, and return what is wrong with them, in sentences; such a file counts as empty.

        Raises OSError.
        """
        findings = []
        for directory in self._usable:
            try:
                self.offsets.update(read_offset_checkpoint(self._fs, self._path(directory)))
            except CorruptFile as error:
                findings.append(f"taken as empty: {error}")
        return findings

    def prepare(self, offsets: Mapping[str, Offsets]) -> Callable[[], None] | None:
        """Return what writes these offsets, by the path of their directory; None if no file would change.

        The result may be run on any thread. It raises OSError.
        """
        changed: list[LogDirectory] = []
        for directory in self._usable:
            entries = self._prepared[directory.path] = self._entries(directory, offsets)
            if entries != self._written.get(directory.path):
                changed.append(directory)
        return partial(self._write, changed) if changed else None

    def prepare_unseen(self, offsets: Mapping[str, Offsets]) -> Callable[[], None]:
        """Return what writes these offsets where a file says anything else; that is found out where it is run, too.

        Takes over the offsets. The result may be run on any thread. It raises OSError.
        """
        usable = self._usable
        for directory in usable:
            self._prepared[directory.path] = self._entries(directory, offsets)
        return partial(self._write, usable, is_unseen=True)

    def forget(
        self, gone: Collection[TopicPartition], offsets: Callable[[], Mapping[str, Offsets]]
    ) -> Callable[[], None] | None:
        """Return what writes the files that speak of partitions that are gone without them; None if none does.

        `offsets` are for files of which it is not known what they say.
        """
        for partition in gone:
            self.offsets.pop(partition, None)
        changed: list[LogDirectory] = []
        for directory in self._usable:
            written, prepared = self._written.get(directory.path), self._prepared.get(directory.path)
            if written is None or prepared is None:
                self._prepared[directory.path] = self._entries(directory, offsets())
            elif any(partition in written or partition in prepared for partition in gone):
                self._prepared[directory.path] = {
                    partition: offset for partition, offset in prepared.items() if partition not in gone
                }
            else:
                continue
            changed.append(directory)
        return partial(self._write, changed) if changed else None

    def write(self, directory: LogDirectory, offsets: Mapping[str, Offsets]) -> None:
        """Write the file of one directory now, in any case. Raises OSError."""
        self._prepared[directory.path] = self._entries(directory, offsets)
        self._write([directory])

    @property
    def _usable(self) -> list[LogDirectory]:
        return [directory for directory in self._directories if not directory.failure]

    def _entries(self, directory: LogDirectory, offsets: Mapping[str, Offsets]) -> Offsets:
        closed = {partition: self.offsets[partition] for partition in directory.closed if partition in self.offsets}
        of_open = offsets.get(directory.path, {})
        return closed | of_open if closed else of_open

    def _write(self, changed: Sequence[LogDirectory], is_unseen: bool = False) -> None:
        """Write the files of these directories; one that cannot be written keeps no other from it.

        `is_unseen` says that it was not looked yet whether they are to say anything new.
        """
        problem: OSError | None = None
        with self._lock:
            for directory in changed:
                entries = self._prepared[directory.path]
                written = self._written.get(directory.path)
                if entries is written or directory.failure or (is_unseen and entries == written):
                    continue
                self._written.pop(directory.path, None)  # from now on it may say either
                try:
                    write_offset_checkpoint(self._fs, self._path(directory), entries)
                except OSError as error:
                    problem = problem or error
                    if self._note_error is not None:
                        self._note_error(directory.path, error)
                else:
                    self._written[directory.path] = entries
        if problem is not None:
            raise problem

    def _path(self, directory: LogDirectory) -> str:
        return f"{directory.path}/{self._name}"
