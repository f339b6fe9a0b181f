"""What the tests of the quorum share: a leader of one voter on files in memory."""

from uuid import UUID

from odradek.broker.metadata.log import MetadataLog
from odradek.broker.metadata.opening import MetadataOptions, open_metadata_log
from odradek.broker.metadata.snapshot_writing import SnapshotSchedule
from odradek.broker.metadata.source import stored_now
from odradek.broker.raft.leader import QuorumLeader
from odradek.broker.runtime.context import RequestContext
from odradek.config.topic import kafka_defaults
from tests.support.clock import ManualClock
from tests.support.memory_files import MemoryFiles
from tests.unit.broker.metadata.support import record_of, topic_records

NODE = 3000
CLUSTER = "4L6g3nShT-eMCtK--X86sw"
DIRECTORY_ID = UUID(int=0xD)


def open_leading(files: MemoryFiles, snapshots: SnapshotSchedule | None = None) -> MetadataLog:
    """Open the metadata log as the controller of others."""
    options = MetadataOptions(NODE, kafka_defaults(), leads_others=True, snapshots=snapshots or SnapshotSchedule())
    return open_metadata_log(files, "/data", options, ManualClock())


def new_files() -> MemoryFiles:
    """Return an empty log directory."""
    files = MemoryFiles()
    files.mkdir("/data")
    files.sync_dir("/")
    return files


def add_topic(log: MetadataLog, number: int) -> None:
    """Propose a topic."""
    records = [record_of(message) for message in topic_records(f"t{number}", UUID(int=100 + number))]
    stored_now(log.propose(records, log.image))


def leader_of(log: MetadataLog) -> QuorumLeader:
    """Return what the leader with that log knows."""
    return QuorumLeader(NODE, DIRECTORY_ID, CLUSTER, log.epoch, lambda _: ("c.example", 9093))


def context(version: int) -> RequestContext:
    """Return who asks."""
    return RequestContext("127.0.0.1:1", "127.0.0.1", "CONTROLLER", "127.0.0.1", 9093, api_version=version)
