"""What holds for the image whatever the records are."""

from contextlib import suppress

from hypothesis import given, settings
from hypothesis import strategies as st

from odradek.broker.metadata.batches import MetadataReplay
from odradek.broker.metadata.errors import CorruptMetadataError, MetadataError
from odradek.broker.metadata.export import image_records
from odradek.broker.metadata.image import MetadataImage, ResourceType
from odradek.broker.metadata.quorum import Quorum
from odradek.broker.metadata.records import read_record
from odradek.broker.metadata.replay import ImageBuilder, apply
from odradek.protocol.records.building import BatchFields, build_batch, make_records
from tests.property.metadata_changes import History

SEEDS = st.integers(0, 1 << 32)


def grown(seed: int, changes: int) -> History:
    """Return a history of so many batches."""
    history = History(seed)
    history.grow(changes)
    return history


@given(SEEDS, st.integers(1, 30))
def test_batches_in_one_go_give_the_same_image_as_one_by_one(seed: int, changes: int) -> None:
    """A restart, which reads everything at once, comes to the image that was served before."""
    history = grown(seed, changes)
    records = [record for batch in history.batches for record in batch]
    image, _ = apply(MetadataImage(), records, len(records), 1)
    assert image == history.image


@given(SEEDS, st.integers(1, 30))
def test_image_never_contradicts_itself(seed: int, changes: int) -> None:
    """Names and ids lead to the same topics, and configs of topics belong to topics that are there."""
    image = grown(seed, changes).image
    assert {topic.topic_id: topic for topic in image.topics_by_name.values()} == dict(image.topics_by_id)
    assert all(name == topic.name for name, topic in image.topics_by_name.items())
    assert all(topic.partitions for topic in image.topics_by_name.values())
    assert all(image.configs.values())
    configured = {resource.name for resource in image.configs if resource.type == ResourceType.TOPIC}
    assert configured <= image.topics_by_name.keys()


@given(SEEDS, st.integers(1, 30))
def test_deltas_lead_from_nothing_to_the_image(seed: int, changes: int) -> None:
    """Whoever acts on every delta serves exactly the partitions of the image, in their newest state."""
    image = MetadataImage()
    served: dict[tuple[object, int], object] = {}
    for batch in grown(seed, changes).batches:
        old = image
        image, delta = apply(image, batch, image.offset + len(batch), 1)
        for topic in delta.deleted_topics:
            assert old.topic_by_id(topic.topic_id) is topic
            served = {key: value for key, value in served.items() if key[0] != topic.topic_id}
        for topic in delta.created_topics:
            served |= {(topic.topic_id, index): value for index, value in enumerate(topic.partitions)}
        for topic, index in delta.created_partitions:
            assert (topic.topic_id, index) not in served
            served[topic.topic_id, index] = topic.partitions[index]
        for topic, index in delta.changed_partitions:
            assert served[topic.topic_id, index] != topic.partitions[index]
            served[topic.topic_id, index] = topic.partitions[index]
        for resource in delta.changed_configs:
            assert old.config(*resource) != image.config(*resource)
    expected = {
        (topic.topic_id, index): value
        for topic in image.topics_by_id.values()
        for index, value in enumerate(topic.partitions)
    }
    assert served == expected


@given(SEEDS, st.integers(1, 30))
def test_image_written_as_records_and_read_again_is_the_same(seed: int, changes: int) -> None:
    """A snapshot stands for the whole log before it."""
    image = grown(seed, changes).image
    assert apply(MetadataImage(), image_records(image, 1), image.offset, image.epoch)[0] == image


@given(SEEDS, st.integers(1, 20), st.integers(0, 4000))
def test_log_cut_anywhere_holds_the_whole_batches_before_the_cut(seed: int, changes: int, cut: int) -> None:
    """A batch is a change, all of it or nothing of it."""
    history = grown(seed, changes)
    data, ends, images = b"", [0], [MetadataImage()]
    for batch in history.batches:
        offset = images[-1].offset
        data += build_batch(make_records([(None, r.value) for r in batch], 1, offset), BatchFields(leader_epoch=1))
        ends.append(len(data))
        images.append(apply(images[-1], batch, offset + len(batch), 1)[0])
    whole = sum(end <= cut for end in ends) - 1
    builder = ImageBuilder(MetadataImage())
    replay = MetadataReplay(builder.apply, Quorum())
    assert replay.read(memoryview(data[:cut])) == ends[whole]
    assert builder.finish(replay.offset, 1)[0].topics_by_name == images[whole].topics_by_name
    assert replay.offset == images[whole].offset


@given(st.binary(max_size=80))
def test_any_bytes_are_a_record_or_a_documented_error(value: bytes) -> None:
    """Nothing that stands on a disk makes the reader fail otherwise."""
    with suppress(MetadataError):
        read_record(value, 0)


@settings(max_examples=200)
@given(SEEDS, st.lists(st.tuples(st.integers(0, 1 << 16), st.integers(0, 255)), max_size=4))
def test_flipped_bytes_in_a_log_are_noticed(seed: int, flips: list[tuple[int, int]]) -> None:
    """Reading ends before the first damaged batch; what is read is what was written."""
    history = grown(seed, 5)
    data = bytearray()
    ends = [0]
    offset = 0
    for batch in history.batches:
        data += build_batch(make_records([(None, r.value) for r in batch], 1, offset), BatchFields(leader_epoch=1))
        offset += len(batch)
        ends.append(len(data))
    original = bytes(data)
    for position, value in flips:
        data[position % len(data)] = value
    damaged = next((at for at in range(len(data)) if data[at] != original[at]), len(data))
    builder = ImageBuilder(MetadataImage())
    replay = MetadataReplay(builder.apply, Quorum(), 0)
    try:
        read = replay.read(memoryview(bytes(data)))
    except CorruptMetadataError:
        return  # the offset is outside the checksum, but must follow the one before
    assert read >= max(end for end in ends if end <= damaged)
    assert read in ends
