"""Opening the metadata log at start: read, judge, and only then write.

Owns: the order in which a directory becomes this node's source of metadata. What cannot be served is refused before
anything was changed. A new directory gets the feature levels of a new cluster, or those of Kafka's
`bootstrap.checkpoint`; a directory that Apache Kafka left is continued, with this node as leader of its partitions.
"""

from typing import Final, NamedTuple

from broker.metadata.errors import CorruptMetadataError
from broker.metadata.features import ELIGIBLE_LEADER_REPLICAS, METADATA_VERSION, NEW_CLUSTER
from broker.metadata.image import MetadataImage, ResourceType
from broker.metadata.loading import LoadedMetadata, load_metadata
from broker.metadata.log import MetadataLog
from broker.metadata.records import MetadataRecord, make_record
from broker.metadata.replay import apply
from broker.metadata.snapshot_writing import SnapshotWriter
from broker.metadata.snapshots import load_bootstrap
from broker.metadata.takeover import check_takeover, plan_elections
from broker.runtime.clock import Clock
from broker.runtime.logging import get_logger
from config.topic import TopicConfig
from protocol.messages.metadata_records import ConfigRecord, FeatureLevelRecord
from protocol.uuids import METADATA_TOPIC_ID
from storage.deletion import PendingDeletions
from storage.files import FileSystem
from storage.loader import Opening, open_log
from storage.log import Log
from storage.names import METADATA_TOPIC, TopicPartition, directory_name

FIRST_EPOCH: Final = 1
MIN_INSYNC_REPLICAS: Final = "min.insync.replicas"
_PARTITION = TopicPartition(METADATA_TOPIC, 0)

log = get_logger("metadata")


class MetadataOptions(NamedTuple):
    """What of the configuration the metadata log depends on."""

    node_id: int
    topic_config: TopicConfig
    """For its segments: `metadata.log.segment.bytes` and `.ms`."""
    min_insync_replicas: str = "1"
    """Becomes the cluster's default when eligible leader replicas are first used, as in Kafka (KIP-966)."""
    clean: bool = False
    """Whether the log directory was closed in order."""
    snapshot_bytes: int = 20 * 1024 * 1024
    """`metadata.log.max.record.bytes.between.snapshots`."""


def open_metadata_log(fs: FileSystem, log_dir: str, options: MetadataOptions, clock: Clock) -> MetadataLog:
    """Open the metadata log in a log directory, or begin one.

    Raises UnsupportedMetadataError and CorruptMetadataError with nothing changed, StorageError and OSError if the disk
    fails.
    """
    directory = f"{log_dir}/{directory_name(_PARTITION)}"
    loaded = load_metadata(fs, directory)
    loaded.quorum.check_owner(options.node_id)
    check_takeover(loaded.image, options.node_id)
    first = _first_records(fs, log_dir, loaded.image, options)
    is_new = loaded.log_end_offset is None and loaded.image.offset == 0
    metadata = MetadataLog(
        _open(fs, directory, loaded, options, clock.now_ms()),
        loaded.image,
        max(loaded.epoch, FIRST_EPOCH),
        clock,
        SnapshotWriter(
            fs,
            directory,
            loaded.quorum,
            options.node_id,
            limit=options.snapshot_bytes,
            behind=loaded.bytes_behind_snapshot,
        ),
    )
    if is_new:
        metadata.begin_epoch(options.node_id)
    metadata.propose(first, metadata.image)
    elections = plan_elections(metadata.image, options.node_id)
    if elections:
        log.info("took over the leadership of partitions", partitions=len(elections))
    metadata.propose(elections, metadata.image)
    return metadata


def _open(fs: FileSystem, directory: str, loaded: LoadedMetadata, options: MetadataOptions, now_ms: int) -> Log:
    opening = Opening(
        partition=_PARTITION,
        directory=directory,
        config=options.topic_config,
        now_ms=now_ms,
        clean=options.clean,
        recovery_point=loaded.log_end_offset or 0,
        log_start_offset=loaded.log_start_offset,
        topic_id=METADATA_TOPIC_ID,
    )
    opened, findings = open_log(fs, opening, PendingDeletions(fs))
    for finding in findings:
        log.warning("metadata log repaired", finding=finding)
    if opened.log_end_offset < loaded.image.offset:
        # The snapshot is newer than the log, or there is no log: it goes on where the snapshot ends.
        opened.truncate_fully(loaded.image.offset, now_ms)
    if opened.log_end_offset != loaded.image.offset:
        raise CorruptMetadataError(
            f"{directory} can be read up to offset {loaded.image.offset}, but its log ends at"
            f" {opened.log_end_offset}: it was damaged after it had been closed. Remove the marker .kafka_cleanshutdown"
            " beside it to have it repaired"
        )
    return opened


def _first_records(
    fs: FileSystem, log_dir: str, image: MetadataImage, options: MetadataOptions
) -> list[MetadataRecord]:
    """Return what metadata without feature levels, that is without anything, begins with.

    Raises UnsupportedMetadataError for a bootstrap file of a newer Kafka.
    """
    if image.feature(METADATA_VERSION):
        return []
    records = load_bootstrap(fs, log_dir) or [
        make_record(FeatureLevelRecord(name=name, feature_level=level)) for name, level in NEW_CLUSTER.items()
    ]
    begun, _ = apply(image, records, 0, 0)
    if begun.feature(ELIGIBLE_LEADER_REPLICAS) and MIN_INSYNC_REPLICAS not in begun.config(ResourceType.BROKER, ""):
        default = ConfigRecord(
            resource_type=ResourceType.BROKER, name=MIN_INSYNC_REPLICAS, value=options.min_insync_replicas
        )
        records.append(make_record(default))
    return records
