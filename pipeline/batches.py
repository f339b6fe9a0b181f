"""Micro-batches and the offsets that they cover."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from odradek.pipeline.errors import PipelineError
from pyspark_odradek.offsets import OffsetRange, Offsets, from_checkpoint, to_checkpoint

TopicIds: TypeAlias = Mapping[str, str]
"""From the name of a topic to its id: a topic that is made anew under its name has another one."""


@dataclass(frozen=True, slots=True)
class Batch:
    """A micro-batch: Spark's number of it, and where it begins and ends in each partition."""

    number: int
    start: Offsets
    end: Offsets
    topic_ids: TopicIds = field(default_factory=dict)
    """The ids of topics that are read, as far as the cluster tells them; whoever keeps offsets keeps them, too."""

    @property
    def ranges(self) -> list[OffsetRange]:
        """The offsets of each partition that has any in it; a partition that is new begins at 0."""
        all_of = (OffsetRange(name, self.start.get(name, 0), until) for name, until in sorted(self.end.items()))
        return [each for each in all_of if each.until > each.first]


_OFFSET_LOG_VERSION: Final = "v1"


def from_offset_log(text: str, name: str) -> Offsets:
    """Return the offsets in an entry of the `offsets` directory of a checkpoint.

    Spark writes an entry before it runs the micro-batch: a line with the version of the format, a line with settings,
    and a line for each source; the jobs have one source. Raises PipelineError for anything else.
    """
    version, *rest = text.split("\n")
    if version != _OFFSET_LOG_VERSION or len(rest) != 2:
        raise PipelineError(f"{name} is not the checkpoint of one of these jobs; use another --checkpoint")
    return from_json(rest[1], name)


def from_json(text: str, name: str) -> Offsets:
    """Return offsets that `to_json` or the source wrote. Raises PipelineError for anything else."""
    try:
        return from_checkpoint(json.loads(text))
    except Exception as wrong:
        raise PipelineError(f"{name} has no offsets that can be read: {wrong}") from wrong


def to_json(offsets: Offsets) -> str:
    """Return offsets in the form of the option `startingOffsets` and of Spark's checkpoint."""
    return json.dumps(to_checkpoint(offsets))


def ids_from(found: Any) -> TopicIds:
    """Return ids of topics that were kept in JSON beside offsets, none where there are none, as in earlier times.

    Raises ValueError for what is none.
    """
    if not isinstance(found, dict) or not all(isinstance(each, str) for each in found.values()):
        raise ValueError(f"{json.dumps(found)[:80]} are no ids of topics")
    return found


def furthest(*all_of: Mapping) -> Offsets:  # type: ignore[type-arg]
    """Return the highest offset of each partition."""
    found: Offsets = {}
    for offsets in all_of:
        for partition, offset in offsets.items():
            found[partition] = max(offset, found.get(partition, 0))
    return found
