"""Topics that were made anew under their old name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import pytest

from odradek.pipeline import source
from odradek.pipeline.batches import TopicIds
from odradek.pipeline.checkpoints import Checkpoint
from odradek.pipeline.errors import PipelineError
from odradek.pipeline.running import Run, Runner
from odradek.pipeline.sink import sink_options
from odradek.pipeline.source import check_topic_ids
from tests.unit.pipeline.memory_store import MemoryStore

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from odradek.pipeline.offset_store import JobOffsets
    from odradek.pipeline.running import Job


def test_ids_are_noted_beside_the_checkpoint() -> None:
    """What was noted last is what the next run compares with."""
    checkpoint = Checkpoint(MemoryStore(), "here/")
    assert checkpoint.topic_ids() == {}
    checkpoint.note_topic_ids({"a": "1"})
    checkpoint.note_topic_ids({"a": "1", "b": "2"})
    assert checkpoint.topic_ids() == {"a": "1", "b": "2"}


@pytest.mark.parametrize("text", [b"[]", b"{", b"\xff", b'{"a": 1}'])
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


@dataclass
class Known:
    """What a job's output, or a store of offsets, knows of ids of topics."""

    topic_ids: TopicIds


@pytest.mark.parametrize("knows", ["checkpoint", "archive", "offsets"])
def test_whoever_keeps_offsets_tells_a_topic_that_was_made_anew(knows: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A topic has another id than where the offsets are from: with --allow-data-loss alone the job goes on."""
    archive, offsets = (Known({"a": "old"} if knows == name else {}) for name in ("archive", "offsets"))
    run = Run("app", {}, "here", {}, cast("JobOffsets", offsets))
    runner = Runner(cast("SparkSession", None), MemoryStore(), cast("Job", archive), run)
    if knows == "checkpoint":
        runner._checkpoint.note_topic_ids({"a": "old"})
    monkeypatch.setattr(source, "topic_ids", lambda options: {"a": "new", "b": "2"})
    options = {"kafka.bootstrap.servers": "h:1", "subscribe": "a,b"}
    with pytest.raises(PipelineError, match="topic a was deleted and made anew since it was read"):
        runner._check_topics(source.checked(options))
    runner._check_topics(source.checked({**options, "failOnDataLoss": "false"}))
    assert runner._checkpoint.topic_ids() == {"a": "new", "b": "2"}


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
