"""Small files of a log directory: what is written comes back, and no content breaks a reader."""

from collections.abc import Callable
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from odradek.protocol.uuids import ZERO_UUID
from odradek.storage.checkpoints.checkpoint_file import read_offset_checkpoint, write_offset_checkpoint
from odradek.storage.checkpoints.partition_metadata import read_topic_id, write_topic_id
from odradek.storage.directories.clean_shutdown import read_last_stop, write_clean_shutdown
from odradek.storage.directories.meta_properties import (
    MetaProperties,
    format_properties,
    parse_properties,
    read_meta_properties,
    write_meta_properties,
)
from odradek.storage.errors import StorageError
from odradek.storage.files import FileSystem
from odradek.storage.names import (
    DirectoryState,
    TopicPartition,
    directory_name,
    file_name,
    marked_directory_name,
    parse_directory_name,
    parse_file_name,
)
from tests.support.memory_files import MemoryFiles

offsets = st.integers(0, (1 << 63) - 1)
node_ids = st.integers(0, (1 << 31) - 1)
topics = st.text("abcXYZ019._-", min_size=1, max_size=249)
partitions = st.builds(TopicPartition, topics, st.integers(0, (1 << 31) - 1))
uuids = st.uuids().filter(lambda value: value != ZERO_UUID)
hostile = st.binary(max_size=200) | st.text('0123456789 -\n\r\tabcversion:=_id#\\u{}[]",.', max_size=120).map(
    str.encode
)


@given(st.dictionaries(partitions, offsets, max_size=20))
def test_offset_checkpoint_comes_back(entries: dict[TopicPartition, int]) -> None:
    """Any partitions and offsets survive a power failure."""
    fs = MemoryFiles()
    write_offset_checkpoint(fs, "/checkpoint", entries)
    assert read_offset_checkpoint(fs.crash(kept=0.0), "/checkpoint") == entries


@given(uuids)
def test_topic_id_comes_back(topic_id: UUID) -> None:
    """Any id is read as it was written."""
    fs = MemoryFiles()
    write_topic_id(fs, "", topic_id)
    assert read_topic_id(fs.crash(kept=0.0), "") == topic_id


@given(st.integers(-1, (1 << 63) - 1))
def test_broker_epoch_comes_back(epoch: int) -> None:
    """Any epoch is read as it was written; -1 is unknown both ways."""
    fs = MemoryFiles()
    write_clean_shutdown(fs, "", epoch)
    assert read_last_stop(fs, "").broker_epoch == epoch


@given(st.text(min_size=1, max_size=30), node_ids, st.none() | uuids, st.sampled_from([0, 1]))
def test_meta_properties_come_back(cluster_id: str, node_id: int, directory_id: UUID | None, version: int) -> None:
    """Any cluster id, however odd its characters, is read as it was written."""
    fs = MemoryFiles()
    meta = MetaProperties(cluster_id, node_id, directory_id, version)
    write_meta_properties(fs, "", meta)
    assert read_meta_properties(fs.crash(kept=0.0), "") == meta


@given(st.dictionaries(st.text(min_size=1, max_size=10), st.text(max_size=10), max_size=5))
def test_properties_are_read_like_the_library_reads_them(properties: dict[str, str]) -> None:
    """Whether lines are plain or not, our short way and the library's long one agree."""
    import javaproperties

    text = format_properties(properties)
    assert parse_properties(text) == javaproperties.loads(text) == properties


@given(st.text("ab=:# !\\\n\t", max_size=30))
def test_odd_properties_are_read_like_the_library_reads_them(text: str) -> None:
    """Where the text is not ours, the library has the say."""
    import javaproperties

    assert parse_properties(text) == javaproperties.loads(text)


@given(hostile)
def test_no_content_breaks_a_reader(content: bytes) -> None:
    """Every reader answers, or raises a StorageError."""
    readers: dict[str, Callable[[FileSystem, str], object]] = {
        "/checkpoint": lambda fs, _: read_offset_checkpoint(fs, "/checkpoint"),
        "/partition.metadata": read_topic_id,
        "/meta.properties": read_meta_properties,
        "/.kafka_cleanshutdown": read_last_stop,
    }
    for path, reader in readers.items():
        fs = MemoryFiles()
        fs.write_bytes(path, content)
        try:
            reader(fs, "")
        except StorageError:
            continue


@given(partitions, st.sampled_from(DirectoryState), st.uuids())
def test_directory_names_come_back(partition: TopicPartition, state: DirectoryState, unique: UUID) -> None:
    """A name gives back its partition and state, unless the topic had to be cut short."""
    if state is DirectoryState.CURRENT:
        name = directory_name(partition)
        if name.endswith(("-delete", "-future", "-stray")):
            return
    else:
        name = marked_directory_name(partition, state, unique.hex)
    parsed = parse_directory_name(name)
    assert parsed is not None
    assert parsed.state is state
    assert parsed.partition.partition == partition.partition
    assert partition.topic.startswith(parsed.partition.topic)
    if len(name) < 255:
        assert parsed.partition == partition


@given(st.text(max_size=60))
def test_any_name_can_be_taken_apart(name: str) -> None:
    """Names come from a disk: what is not ours is None, and what is ours is written the same again."""
    parsed = parse_directory_name(name)
    if parsed is not None and parsed.state is DirectoryState.CURRENT:
        assert directory_name(parsed.partition) == name
    parse_file_name(name)


@given(offsets, st.sampled_from([".log", ".index", ".timeindex", ".txnindex", ".snapshot"]))
def test_file_names_come_back(offset: int, suffix: str) -> None:
    """A name gives back its offset and suffix, and names sort like offsets."""
    assert parse_file_name(file_name(offset, suffix)) == (offset, suffix, "")
    assert (file_name(offset, suffix) < file_name(12345, suffix)) == (offset < 12345)
