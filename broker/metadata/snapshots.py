"""Snapshots of the metadata: files that stand for the log up to an offset.

Owns: their names, and reading the newest that is whole. `<end offset, 20 digits>-<epoch, 10 digits>.checkpoint` is a
header, batches of records that rebuild the image, and a footer (KIP-630). Kafka writes it aside under `.part`, so
what has the final name is whole unless the disk failed; `bootstrap.checkpoint` has the same form and begins a new
log.
"""

import re
from typing import Final, NamedTuple

from broker.metadata.batches import Replay
from broker.metadata.errors import CorruptMetadataError
from broker.metadata.image import MetadataImage
from broker.metadata.quorum import Quorum
from broker.metadata.records import MetadataRecord
from broker.metadata.replay import ImageBuilder
from storage.files import FileSystem

BOOTSTRAP_FILE: Final = "bootstrap.checkpoint"
_NAME = re.compile(r"(\d{20})-(\d{10})\.checkpoint", re.ASCII)


class SnapshotName(NamedTuple):
    """What a snapshot stands for; the larger one is the newer."""

    end_offset: int
    epoch: int

    def __str__(self) -> str:
        return f"{self.end_offset:020d}-{self.epoch:010d}.checkpoint"


class LoadedSnapshot(NamedTuple):
    """An image read from a file, and what the file says of the quorum."""

    image: MetadataImage
    quorum: Quorum


def list_snapshots(fs: FileSystem, directory: str) -> list[SnapshotName]:
    """Return the snapshots in the metadata log's directory, the newest first."""
    found = (_NAME.fullmatch(name) for name in fs.listdir(directory))
    return sorted((SnapshotName(int(match[1]), int(match[2])) for match in found if match), reverse=True)


def load_newest(fs: FileSystem, directory: str) -> LoadedSnapshot:
    """Return what the newest whole snapshot holds, an empty image if there is none.

    A damaged one is passed over: what it stood for may still be in the log, and if not, the gap is found there.
    """
    for name in list_snapshots(fs, directory):
        builder, quorum = ImageBuilder(MetadataImage()), Quorum()
        if _read_whole(fs, f"{directory}/{name}", Replay(builder.apply, quorum)):
            image, _ = builder.finish(name.end_offset, name.epoch)
            return LoadedSnapshot(image, quorum)
    return LoadedSnapshot(MetadataImage(), Quorum())


def load_bootstrap(fs: FileSystem, log_dir: str) -> list[MetadataRecord] | None:
    """Return the records in the `bootstrap.checkpoint` of a log directory, None if there is none.

    Raises CorruptMetadataError if it is damaged.
    """
    path = f"{log_dir}/{BOOTSTRAP_FILE}"
    if not fs.exists(path):
        return None
    records: list[MetadataRecord] = []
    if not _read_whole(fs, path, Replay(records.append, Quorum())):
        raise CorruptMetadataError(f"{path} is damaged: remove it, and new metadata begins with the defaults")
    return records


def _read_whole(fs: FileSystem, path: str, replay: Replay) -> bool:
    """Read a snapshot file; return whether it was whole."""
    data = memoryview(fs.read_bytes(path))
    return replay.read(data) == len(data) and replay.has_footer
