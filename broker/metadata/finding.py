"""What stands in the log directories, for metadata that begins or goes on with them.

Owns: reading the directories of partitions that no metadata describes, and the refusals where directories and metadata
do not belong together. Must not know: what becomes of what was found. Nothing is written here.
"""

from collections.abc import Mapping, Sequence
from struct import Struct

from odradek.broker.metadata.errors import UnsupportedMetadataError
from odradek.broker.metadata.image import MetadataImage
from odradek.broker.metadata.internal_topics import TRANSACTIONS_TOPIC
from odradek.protocol.errors import KafkaError
from odradek.protocol.records.reading import iter_entry_records
from odradek.storage.checkpoints.checkpoint_file import read_offset_checkpoint
from odradek.storage.checkpoints.partition_metadata import read_topic_id
from odradek.storage.directories.log_dirs import LogDirectory
from odradek.storage.errors import CorruptFile
from odradek.storage.files import FileSystem
from odradek.storage.names import CLEANER_OFFSET_FILE, TopicPartition
from odradek.storage.opening.survey import NO_PRODUCER_ID, PartitionSurvey, segment_paths, survey_partition
from odradek.storage.segment.batch_headers import walk_headers

_LARGEST_BATCH = 64 << 20
"""Of `__transaction_state`, where a batch is some hundred bytes; a larger one is damage."""
_TRANSACTION_HEAD = Struct(">hq")
"""Version and producer id, with which the value of every transaction's record begins."""


def survey_directories(fs: FileSystem, directories: Sequence[LogDirectory]) -> dict[TopicPartition, PartitionSurvey]:
    """Look into all partitions in the log directories. Raises OSError, CorruptFile."""
    found = {}
    for partition, path in _partitions(directories).items():
        survey = survey_partition(fs, path)
        if partition.topic == TRANSACTIONS_TOPIC:
            survey = survey._replace(producer_id=max(survey.producer_id, _producer_ids_of_transactions(fs, path)))
        found[partition] = survey
    return found


def compacted_topics(fs: FileSystem, directories: Sequence[LogDirectory]) -> list[str]:
    """Return the topics that Kafka has compacted, as its cleaner wrote down."""
    topics: set[str] = set()
    for directory in directories:
        if directory.failure:
            continue
        try:
            cleaned = read_offset_checkpoint(fs, f"{directory.path}/{CLEANER_OFFSET_FILE}")
        except CorruptFile:
            continue
        topics.update(partition.topic for partition in cleaned)
    return sorted(topics)


def check_same_origin(fs: FileSystem, directories: Sequence[LogDirectory], image: MetadataImage) -> None:
    """Raise UnsupportedMetadataError where a directory of ZooKeeper's times stands beside metadata of another origin.

    If its partitions are in the metadata, they were taken over before, and the start that did so was cut short.
    """
    for directory in directories:
        if directory.found is None or directory.found.version > 0:
            continue
        for partition, path in directory.closed.items():
            topic = image.topic(partition.topic)
            known = topic is not None and partition.partition < len(topic.partitions)
            if not known or (topic and read_topic_id(fs, path) not in (None, topic.topic_id)):
                raise UnsupportedMetadataError(
                    f"log directory {directory.path} is of a Kafka with ZooKeeper, and its partition {partition} is not"
                    " in the metadata that is there already: the log directories do not belong together. Take"
                    " directories of one origin only into log.dirs"
                )


def check_metadata_is_there(directories: Sequence[LogDirectory], metadata_directory: str, image: MetadataImage) -> None:
    """Raise UnsupportedMetadataError where partitions were described by metadata, and that is gone."""
    lost = sorted(partition for partition in _partitions(directories) if image.topic(partition.topic) is None)
    owners = [found.path for found in directories if found.closed and found.found and found.found.version > 0]
    if image.topics_by_name or not lost or not owners:
        return
    raise UnsupportedMetadataError(
        f"log directory {owners[0]} has partitions ({lost[0]} is one of {len(lost)}), but the metadata that describes"
        f" them is missing: there should be a log in {metadata_directory}. Restore it, or set metadata.log.dir to where"
        " it is. If it is lost, move the meta.properties of all log directories away: topics are then found from their"
        " own directories, without their configs"
    )


def is_undescribed(directories: Sequence[LogDirectory]) -> bool:
    """Whether there are partitions, and nothing in their log directories says that metadata describes them."""
    with_partitions = [directory for directory in directories if directory.closed]
    return bool(with_partitions) and all(each.found is None or each.found.version == 0 for each in with_partitions)


def _partitions(directories: Sequence[LogDirectory]) -> Mapping[TopicPartition, str]:
    return {partition: path for directory in directories for partition, path in directory.closed.items()}


def _producer_ids_of_transactions(fs: FileSystem, directory: str) -> int:
    """Return the largest producer id that belongs to a transactional id, -1 if none does.

    Such an id is in use for as long as `transactional.id.expiration.ms`, whether or not its partitions remember it.
    """
    largest = NO_PRODUCER_ID
    for path in segment_paths(fs, directory):
        file = fs.open(path, writable=False)
        try:
            for position, header in walk_headers(file, 0, file.size()):
                if header.is_control or header.size > _LARGEST_BATCH:
                    continue
                for record in iter_entry_records(file.pread(header.size, position)):
                    if record.value and len(record.value) >= _TRANSACTION_HEAD.size:
                        largest = max(largest, _TRANSACTION_HEAD.unpack_from(record.value)[1])
        except KafkaError:
            continue  # what is damaged is dealt with when the log is opened
        finally:
            file.close()
    return largest
