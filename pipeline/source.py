"""Where a job's stream begins: asked of the cluster before Spark does anything, so that mistakes are told at once."""

from __future__ import annotations

from collections.abc import Mapping

from odradek.pipeline.errors import PipelineError, WrongOptionError
from pyspark_odradek.errors import OptionError, SourceError
from pyspark_odradek.offsets import Offsets
from pyspark_odradek.reading.connecting import connect
from pyspark_odradek.reading.options import ReadOptions, read_options
from pyspark_odradek.reading.resolving import earliest, latest, resolve, subscribed


def checked(options: Mapping[str, str]) -> ReadOptions:
    """Return the options of the source as it reads them. Raises WrongOptionError."""
    try:
        return read_options(options, streaming=True)
    except OptionError as wrong:
        raise WrongOptionError(str(wrong)) from wrong


def refuse_loop(options: ReadOptions, to: str | None) -> None:
    """Raise WrongOptionError where a topic that is produced to is one that is read; both are of one cluster."""
    named = to in (*options.topics, *options.assigned)
    if to is not None and (named or (options.pattern is not None and options.pattern.fullmatch(to))):
        raise WrongOptionError(f"--to {to} is a topic that is read: what goes there would be read again, for ever")


def beginning(options: ReadOptions, known: Offsets) -> Offsets:
    """Return the first offset of each partition of a new stream.

    With nothing known it is where the options say. Otherwise it is where partitions are known to have been left, and
    the earliest offset of those that have come since.

    Raises:
        PipelineError: the cluster does not answer, has no such topic, or ends before what is known.
    """
    try:
        with connect(options) as cluster:
            there = subscribed(cluster, options)
            if not any(partition in known for partition in there):
                return resolve(cluster, there, options.start, options, starting=True)
            kept = {partition: offset for partition, offset in known.items() if partition in there}
            ends = latest(cluster, kept)
            for partition, offset in sorted(kept.items()):
                if offset > ends[partition]:
                    raise PipelineError(
                        f"partition {partition} ends at offset {ends[partition]}, but {offset} was reached before: if"
                        " the topic was made anew, use another --application (and another --checkpoint)"
                    )
            return kept | earliest(cluster, there - kept.keys())
    except SourceError as failed:
        raise PipelineError(str(failed)) from failed


def topic_ids(options: ReadOptions) -> dict[str, str]:
    """Return the ids of the topics that are read now, as far as the cluster tells them. Raises PipelineError."""
    try:
        with connect(options) as cluster:
            topics = {partition.topic for partition in subscribed(cluster, options, None)}
            return {name: str(topic_id) for name, topic_id in cluster.topic_ids(topics).items()}
    except SourceError as failed:
        raise PipelineError(str(failed)) from failed


def check_topic_ids(before: Mapping[str, str], now: Mapping[str, str]) -> None:
    """Raise PipelineError where a topic is not the one that was read before, though it has its name."""
    for name, topic_id in sorted(now.items()):
        if topic_id != before.get(name, topic_id):
            raise PipelineError(
                f"topic {name} was deleted and made anew since it was read: use another --application (and another"
                " --checkpoint), or have it read on where the old one was with --allow-data-loss"
            )
