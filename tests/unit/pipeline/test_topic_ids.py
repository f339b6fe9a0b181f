"""Topics that were made anew under their old name."""

import pytest

from odradek.pipeline.checkpoints import Checkpoint
from odradek.pipeline.errors import PipelineError
from odradek.pipeline.sink import sink_options
from odradek.pipeline.source import check_topic_ids
from tests.unit.pipeline.memory_store import MemoryStore


def test_ids_are_noted_beside_the_checkpoint() -> None:
    """What was noted last is what the next run compares with."""
    checkpoint = Checkpoint(MemoryStore(), "here/")
    assert checkpoint.topic_ids() == {}
    checkpoint.note_topic_ids({"a": "1"})
    checkpoint.note_topic_ids({"a": "1", "b": "2"})
    assert checkpoint.topic_ids() == {"a": "1", "b": "2"}


@pytest.mark.parametrize("text", [b"[]", b"{", b"\xff"])
def test_a_damaged_note_is_told(text: bytes) -> None:
    """It is not taken for no note."""
    store = MemoryStore()
    store.create("here/odradek-topics.json", text)
    with pytest.raises(PipelineError, match=r"here/odradek-topics.json has no ids"):
        Checkpoint(store, "here").topic_ids()


def test_a_topic_with_another_id_is_refused() -> None:
    """Topics that are new, or gone, are no mistake; one that has another id is."""
    check_topic_ids({"a": "1", "gone": "2"}, {"a": "1", "new": "3"})
    with pytest.raises(PipelineError, match="topic a was deleted and made anew since it was read"):
        check_topic_ids({"a": "1"}, {"a": "2"})


def test_a_producer_is_not_given_what_is_a_readers() -> None:
    """One file of settings for both sides of a job is no mistake; what is the producer's own stays."""
    shared = {"bootstrap.servers": "h", "isolation.level": "read_committed", "retry.backoff.ms": "5"}
    assert sink_options(shared, {"acks": "1", "group.id": "g"}, "t") == {
        "kafka.bootstrap.servers": "h",
        "kafka.retry.backoff.ms": "5",
        "kafka.acks": "1",
        "kafka.group.id": "g",
        "topic": "t",
    }
