"""Where a job keeps its offsets beside Spark's checkpoint, whatever keeps them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from odradek.pipeline.batches import Batch, TopicIds
from pyspark_odradek.offsets import OffsetRange, Offsets


class JobOffsets(Protocol):
    """The offsets of one run of an application. Methods raise PipelineError."""

    def begin(self) -> Offsets:
        """Take over from whatever run there was, and return the next offset of each partition."""
        ...

    @property
    def topic_ids(self) -> TopicIds:
        """The ids of the topics that these offsets are of, as far as they were told; known once it has begun."""
        ...

    def commit(self, batch: Batch) -> None:
        """Store a finished batch, whole or not at all."""
        ...


@dataclass(frozen=True, slots=True)
class ApplicationProgress:
    """How far an application has come."""

    application: str
    job: str
    number: int
    """Spark's number of the last finished batch, in the run that it belongs to."""
    run: int
    finished_at_ms: int
    ranges: list[OffsetRange]
    """The last batch of each partition that had anything of it: [first, until)."""
