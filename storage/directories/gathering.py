"""What a checkpoint is to say, collected from a hundred thousand logs a few at a time, while others are served.

Logs come, go and are cut meanwhile. Of such a log what was collected holds no longer: a recovery point above its end
would let a crash pass off what comes there as checked. So whatever befalls a log is told (`touch`), and it is looked at
again at the end. Must not know: what the offsets are, files.
"""

from collections.abc import Callable, Generator, Iterable, Mapping

from odradek.storage.directories.offset_checkpoints import OffsetFiles, Offsets
from odradek.storage.log.log import Log
from odradek.storage.names import TopicPartition

Steps = Generator[None, None, Callable[[], None] | None]
"""Yields after each log, and returns what writes the checkpoint, to be run on a thread."""

OffsetOf = Callable[[Log], int | None]


class Gatherings:
    """Those that are under way."""

    def __init__(self, by_directory: Mapping[str, Mapping[TopicPartition, Log]]) -> None:
        """`by_directory` has the open logs, and changes."""
        self._by_directory = by_directory
        self._touched: list[set[TopicPartition]] = []

    def touch(self, partition: TopicPartition) -> None:
        """Tell that a log is another one now, gone, or cut."""
        for touched in self._touched:
            touched.add(partition)

    def gather(
        self, files: OffsetFiles, offset_of: OffsetOf, offset_of_touched: OffsetOf, first: Iterable[object] = ()
    ) -> Steps:
        """Collect an offset of every log that has one; what `offset_of` depends on is made in the steps `first`."""
        touched: set[TopicPartition] = set()
        self._touched.append(touched)
        try:
            for _ in first:
                yield
            offsets: dict[str, Offsets] = {}
            for path, logs in self._by_directory.items():
                found = offsets[path] = {}
                for partition, log in zip(list(logs), list(logs.values()), strict=True):
                    offset = offset_of(log)
                    if offset is not None:
                        found[partition] = offset
                    yield
        finally:
            self._touched = [other for other in self._touched if other is not touched]
        for path, logs in self._by_directory.items():
            for partition in touched:
                offsets[path].pop(partition, None)
                changed = logs.get(partition)
                offset = None if changed is None else offset_of_touched(changed)
                if offset is not None:
                    offsets[path][partition] = offset
        return files.prepare_unseen(offsets)
