"""Opening the metadata log at start: read, judge, and only then write.

Owns: the order in which a directory becomes this node's source of metadata. What cannot be served is refused before
anything was changed. A new directory gets the feature levels of a new cluster, or those of Kafka's
`bootstrap.checkpoint`; a directory that Apache Kafka left is continued, with this node as leader of its partitions;
partitions that Kafka with ZooKeeper left get the metadata that their directories tell.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Final, NamedTuple
from uuid import UUID

from odradek.broker.metadata.adoption import Adoption, plan_adoption
from odradek.broker.metadata.cleaning import MetadataRetention, remove_leftovers
from odradek.broker.metadata.errors import CorruptMetadataError, UnsupportedMetadataError
from odradek.broker.metadata.features import ELIGIBLE_LEADER_REPLICAS, METADATA_VERSION, NEW_CLUSTER
from odradek.broker.metadata.finding import (
    check_metadata_is_there,
    check_same_origin,
    compacted_topics,
    is_undescribed,
    survey_directories,
)
from odradek.broker.metadata.image import MetadataImage, ResourceType
from odradek.broker.metadata.internal_topics import InternalTopic
from odradek.broker.metadata.loading import LoadedMetadata, load_metadata
from odradek.broker.metadata.log import MetadataLog
from odradek.broker.metadata.new_epochs import begin_new_epochs
from odradek.broker.metadata.quorum_state import NOBODY, QuorumState, write_quorum_state
from odradek.broker.metadata.records import MetadataRecord, make_record
from odradek.broker.metadata.replay import apply
from odradek.broker.metadata.snapshot_writing import SnapshotSchedule, SnapshotWriter
from odradek.broker.metadata.snapshots import load_bootstrap
from odradek.broker.metadata.source import stored_now
from odradek.broker.metadata.takeover import check_not_tiered, check_takeover, plan_elections
from odradek.broker.runtime.clock import Clock
from odradek.broker.runtime.logging import get_logger
from odradek.config.topic import TopicConfig
from odradek.protocol.messages.metadata_records import ConfigRecord, FeatureLevelRecord
from odradek.protocol.uuids import METADATA_TOPIC_ID, random_uuid
from odradek.storage.deletions import PendingDeletions
from odradek.storage.directories.log_dirs import LogDirectory
from odradek.storage.errors import StorageError
from odradek.storage.files import FileSystem
from odradek.storage.log.local_log import NoteError
from odradek.storage.log.log import Log
from odradek.storage.names import METADATA_TOPIC, TopicPartition, directory_name
from odradek.storage.opening.loader import Opening, open_log

FIRST_EPOCH: Final = 1
MIN_INSYNC_REPLICAS: Final = "min.insync.replicas"
_MOST_NAMED: Final = 20
"""Of topics or partitions in one log line."""
_PARTITION = TopicPartition(METADATA_TOPIC, 0)

log = get_logger("metadata")


def _nothing() -> None:
    return


class MetadataOptions(NamedTuple):
    """What of the configuration the metadata log depends on."""

    node_id: int
    topic_config: TopicConfig
    """For its segments: `metadata.log.segment.bytes` and `.ms`."""
    min_insync_replicas: str = "1"
    """Becomes the cluster's default when eligible leader replicas are first used, as in Kafka (KIP-966)."""
    clean: bool = False
    """Whether the log directory was closed in order."""
    snapshots: SnapshotSchedule = SnapshotSchedule()
    """When snapshots are written."""
    limits: MetadataRetention = MetadataRetention()
    """What of log and snapshots may stay."""
    leads_others: bool = False
    """Whether other nodes follow this log: then every start is an epoch of its own (KIP-595), and partitions may be on
    any node."""
    has_partitions: bool = True
    """Whether the node is a broker, too."""
    note_error: NoteError | None = None
    """Is told of errors of file operations."""


class FoundMetadata(NamedTuple):
    """What there is, judged: this node may serve it."""

    loaded: LoadedMetadata
    first: list[MetadataRecord]
    """What is to be written first, where there is nothing yet."""
    adoption: Adoption | None = None
    """Part of that, where partitions were there before their metadata."""
    compacted: Sequence[str] = ()
    """Topics among those that Kafka had compacted."""


def find_metadata(
    fs: FileSystem,
    log_dir: str,
    options: MetadataOptions,
    directories: Sequence[LogDirectory] = (),
    internal: Mapping[str, InternalTopic] | None = None,
    draw_id: Callable[[], UUID] = random_uuid,
) -> FoundMetadata:
    """Read the metadata in a log directory, and judge whether this node may serve it with what is in `directories`.

    Nothing is written. Raises UnsupportedMetadataError, CorruptMetadataError, CorruptFile, and OSError.
    """
    directory = f"{log_dir}/{directory_name(_PARTITION)}"
    loaded = load_metadata(fs, directory)
    loaded.quorum.check_owner(options.node_id)
    if options.has_partitions:
        check_not_tiered(loaded.image, options.node_id)
    if not options.leads_others:
        check_takeover(loaded.image, options.node_id)
    if options.clean and loaded.torn:
        raise CorruptMetadataError(
            f"{loaded.torn}, though the last stop was clean: something changed it afterwards. Restore the file from a"
            f" copy, or remove {log_dir}/.kafka_cleanshutdown to have the rest cut off"
        )
    first = _first_records(fs, log_dir, loaded.image, options)
    if not first:
        check_same_origin(fs, directories, loaded.image)
    begun, _ = apply(loaded.image, first, 0, 0)
    check_metadata_is_there(directories, directory, begun)
    if not options.has_partitions or not first or begun.topics_by_name or not is_undescribed(directories):
        return FoundMetadata(loaded, first)
    _check_not_remote(directories)
    surveys = survey_directories(fs, directories)
    adoption = plan_adoption(surveys, options.node_id, internal or {}, begun.features, draw_id)
    return FoundMetadata(loaded, first + list(adoption.records), adoption, compacted_topics(fs, directories))


def open_metadata_log(
    fs: FileSystem,
    log_dir: str,
    options: MetadataOptions,
    clock: Clock,
    found: FoundMetadata | None = None,
    before_writing: Callable[[], None] = _nothing,
) -> MetadataLog:
    """Open the metadata log in a log directory, or begin one, with what was found there (or is now).

    `before_writing` is called before the first record is written, and once it is sure that the directory is served: the
    stop before this start is no clean one any more then, should the power fail. Raises what `find_metadata` does with
    nothing changed, StorageError and OSError if the disk fails.
    """
    directory = f"{log_dir}/{directory_name(_PARTITION)}"
    if found is None:
        found = find_metadata(fs, log_dir, options)
    loaded = found.loaded
    for finding in loaded.findings:
        log.warning("metadata snapshot passed over", finding=finding)
    is_new = loaded.log_end_offset is None and loaded.image.offset == 0
    now_ms = clock.now_ms()
    records = open_records(fs, directory, loaded, options, now_ms)
    before_writing()
    remove_leftovers(fs, records)
    snapshots = SnapshotWriter(fs, directory, loaded.quorum, options.node_id, options.snapshots, now_ms)
    snapshots.begin(loaded.snapshot, loaded.bytes_behind_snapshot)
    epoch = _elect(fs, directory, loaded, options) if options.leads_others else max(loaded.epoch, FIRST_EPOCH)
    metadata = MetadataLog(records, loaded.image, epoch, clock, snapshots, options.limits)
    if is_new or options.leads_others:
        metadata.begin_epoch(options.node_id)
    stored_now(metadata.propose(found.first, metadata.image))
    if found.adoption is not None:
        _log_adoption(found.adoption, found.compacted)
    if options.leads_others:
        if options.has_partitions and options.node_id not in metadata.image.brokers:
            # A registration begins new epochs where records may have been lost; for the first one nobody knows that
            # the broker was away, since a node that is alone does not register.
            begin_new_epochs(metadata, options.node_id, intact=())
        return metadata
    elections = plan_elections(metadata.image, options.node_id)
    if elections:
        log.info("took over the leadership of partitions", partitions=len(elections))
    stored_now(metadata.propose(elections, metadata.image))
    return metadata


def _elect(fs: FileSystem, directory: str, loaded: LoadedMetadata, options: MetadataOptions) -> int:
    """Vote for this node, the only voter, in a new epoch, and return that; raise OSError.

    The vote is on the disk before the node counts as elected, and that before anything is written in the epoch.
    """
    epoch = loaded.epoch + 1
    candidate = QuorumState(leader_epoch=epoch, voted_id=options.node_id, voters=(options.node_id,))
    write_quorum_state(fs, directory, candidate)
    write_quorum_state(fs, directory, candidate._replace(leader_id=options.node_id, voted_id=NOBODY))
    return epoch


def _check_not_remote(directories: Sequence[LogDirectory]) -> None:
    for directory in directories:
        if directory.remote_index_cache:
            raise UnsupportedMetadataError(
                f"log directory {directory.path} has indexes of tiered storage (remote-log-index-cache): a part of the"
                " data may be there, which this version of odradek does not read. Bring it back with the Apache Kafka"
                " that wrote it; if nothing is there any more, remove that directory"
            )


def _log_adoption(adoption: Adoption, compacted: Sequence[str]) -> None:
    """Say once what was taken over, and what nobody can know any more."""
    about = {
        "compacted_before": _named(compacted),
        "without_leader": _named(adoption.leaderless),
        "begun_empty": _named(adoption.begun),
    }
    log.warning(
        "took over partitions without metadata, as a Kafka with ZooKeeper leaves them: the configs of their topics are"
        " not known, so nothing is deleted or compacted in them until you set retention.ms, retention.bytes or"
        " cleanup.policy; a Kafka with ZooKeeper cannot use the directories any more",
        topics=adoption.topics,
        partitions=adoption.partitions,
        **{key: text for key, text in about.items() if text},
    )


def _named(things: Sequence[object]) -> str:
    more = f" and {len(things) - _MOST_NAMED} more" if len(things) > _MOST_NAMED else ""
    return ",".join(map(str, things[:_MOST_NAMED])) + more


def open_records(fs: FileSystem, directory: str, loaded: LoadedMetadata, options: MetadataOptions, now_ms: int) -> Log:
    """Open the log that was read, or one that begins where the snapshot ends.

    Raises CorruptMetadataError, StorageError.
    """
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
    opened, findings = open_log(fs, opening, PendingDeletions(fs), note_error=options.note_error)
    for finding in findings:
        log.warning("metadata log repaired", finding=finding)
    if opened.local.sync_problem:
        with suppress(StorageError):  # then the metadata can be read, and not changed
            opened.flush()
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
