"""Log directories as Apache Kafka leaves them, built on any file system: with a metadata log, and of ZooKeeper's times.

For what does not need Apache Kafka itself: refusals, and what is found in directories that no metadata describes.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple
from uuid import UUID

from odradek.broker.metadata.features import METADATA_VERSION
from odradek.broker.metadata.records import Message, make_record
from odradek.protocol.codec import encode
from odradek.protocol.messages.control_records import LeaderChangeMessage, Voter
from odradek.protocol.messages.metadata_records import FeatureLevelRecord
from odradek.protocol.records.building import BatchFields, build_batch, make_records
from odradek.protocol.records.control import ControlType, build_control_batch
from odradek.protocol.uuids import to_text
from odradek.storage.files import FileSystem
from odradek.storage.names import TopicPartition

CLUSTER_ID = "MkU3OEVBNTcwNTJENDM2Qg"
NOW_MS = 1_700_000_000_000
FIRST_SEGMENT = f"{0:020d}"


class Kept(NamedTuple):
    """What a partition of ZooKeeper's times has in its directory."""

    log: bytes
    topic_id: UUID | None = None
    epochs: Sequence[tuple[int, int]] = ()
    """Leader epochs and where they start."""
    more: Mapping[str, bytes] = {}
    """Further files."""


def make_kraft_directory(
    fs: FileSystem,
    path: str,
    messages: Iterable[Message] = (),
    *,
    node_id: int = 1,
    voters: Sequence[int] = (1,),
    level: int = 25,
) -> None:
    """Make a log directory with a metadata log, as a controller with these voters leaves it."""
    make_identity(fs, path, version=1, node_id=node_id)
    members = [Voter(voter_id=voter) for voter in voters]
    change = LeaderChangeMessage(leader_id=voters[0], voters=members, granting_voters=members)
    begin = build_control_batch([(ControlType.LEADER_CHANGE, encode(change, 0))], NOW_MS, 0, 1)
    records = [FeatureLevelRecord(name=METADATA_VERSION, feature_level=level), *messages]
    values = [(None, make_record(message).value) for message in records]
    log = bytes(begin) + bytes(build_batch(make_records(values, NOW_MS, 1), BatchFields(leader_epoch=1)))
    fs.mkdir(f"{path}/__cluster_metadata-0")
    fs.write_bytes(f"{path}/__cluster_metadata-0/{FIRST_SEGMENT}.log", log, sync=True)
    _sync(fs, path)


def make_zookeeper_directory(
    fs: FileSystem, path: str, partitions: Mapping[TopicPartition, Kept], *, broker_id: int = 0
) -> None:
    """Make a log directory as a Kafka with ZooKeeper leaves it after kill -9."""
    make_identity(fs, path, version=0, node_id=broker_id)
    for partition, kept in partitions.items():
        directory = f"{path}/{partition}"
        fs.mkdir(directory)
        fs.write_bytes(f"{directory}/{FIRST_SEGMENT}.log", kept.log, sync=True)
        if kept.topic_id is not None:
            text = f"version: 0\ntopic_id: {to_text(kept.topic_id)}"
            fs.write_bytes(f"{directory}/partition.metadata", text.encode(), sync=True)
        if kept.epochs:
            lines = "".join(f"{epoch} {start}\n" for epoch, start in kept.epochs)
            fs.write_bytes(
                f"{directory}/leader-epoch-checkpoint", f"0\n{len(kept.epochs)}\n{lines}".encode(), sync=True
            )
        for name, content in kept.more.items():
            fs.write_bytes(f"{directory}/{name}", content, sync=True)
    _sync(fs, path)


def make_identity(fs: FileSystem, path: str, *, version: int, node_id: int, cluster_id: str = CLUSTER_ID) -> None:
    """Make a log directory with the files that every Kafka leaves in one."""
    fs.mkdir(path)
    fs.write_bytes(f"{path}/.lock", b"", sync=True)
    key = "node.id" if version else "broker.id"
    text = f"#\n#Sat Nov 21 07:45:17 UTC 2026\n{key}={node_id}\nversion={version}\ncluster.id={cluster_id}\n"
    fs.write_bytes(f"{path}/meta.properties", text.encode(), sync=True)
    _sync(fs, path)


def _sync(fs: FileSystem, path: str) -> None:
    """Let nothing of it be lost in a crash."""
    for name, is_directory in fs.scan(path):
        if is_directory:
            fs.sync_dir(f"{path}/{name}")
    fs.sync_dir(path)
    fs.sync_dir(path.rpartition("/")[0] or "/")


def make_log(*values: bytes, producer_id: int = -1, epoch: int = 0, first_offset: int = 0) -> bytes:
    """Return a batch of these values, as a broker of any version since Kafka 0.11 stores it."""
    records = make_records([(b"k", value) for value in values], NOW_MS, first_offset)
    fields = BatchFields(leader_epoch=epoch)
    if producer_id >= 0:
        fields = BatchFields(leader_epoch=epoch, producer_id=producer_id, producer_epoch=0, base_sequence=0)
    return bytes(build_batch(records, fields))
