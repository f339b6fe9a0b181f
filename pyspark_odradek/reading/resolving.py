"""From what the options say to offsets of partitions: asks the cluster what there is and where it begins and ends."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from pyspark_odradek.client.view import ClusterView
from pyspark_odradek.errors import OptionError, UnknownTopicError
from pyspark_odradek.offsets import EARLIEST, LATEST, Offsets, TopicPartition
from pyspark_odradek.option_values import Position
from pyspark_odradek.reading.options import ReadOptions, SubscribeOption

_NO_OFFSET: Final = -1
_SHOWN: Final = 5


def subscribed(
    cluster: ClusterView, options: ReadOptions, known: Iterable[TopicPartition] | None = ()
) -> set[TopicPartition]:
    """Return the partitions that are to be read now.

    A topic that is not there is an error unless `known` shows that it was there before: then it was deleted, and its
    partitions are missing in what is returned. None stands for knowing of all of them. Raises UnknownTopicError,
    ClusterError.
    """
    if options.subscription == SubscribeOption.PATTERN:
        pattern = options.pattern
        assert pattern is not None
        there = {name: found for name, found in cluster.topics().items() if pattern.fullmatch(name)}
    else:
        names = options.topics or tuple(options.assigned)
        there = cluster.partitions(names)
        for name in names:
            if name not in there and known is not None and not any(partition.topic == name for partition in known):
                raise UnknownTopicError(f"there is no topic {name}; create it first, or see how the option spells it")
    found = {TopicPartition(topic, partition) for topic, partitions in there.items() for partition in partitions}
    if options.subscription != SubscribeOption.ASSIGN:
        return found
    wanted = {TopicPartition(topic, partition) for topic, some in options.assigned.items() for partition in some}
    for partition in sorted(wanted - found - (wanted if known is None else set(known))):
        raise UnknownTopicError(
            f"there is no partition {partition.partition} of topic {partition.topic}, which assign names"
        )
    return wanted & found


def resolve(
    cluster: ClusterView, partitions: set[TopicPartition], position: Position, options: ReadOptions, starting: bool
) -> Offsets:
    """Return the offsets that a position means for these partitions.

    Raises:
        OptionError: the position names other partitions than are read, or no record is as late as a timestamp.
        ClusterError: the cluster cannot be asked.
    """
    name = "starting" if starting else "ending"
    if position.timestamp is not None:
        asked = dict.fromkeys(partitions, position.timestamp)
        return _at_times(cluster, asked, options.unknown_timestamp_is_latest or not starting)
    if position.timestamps:
        _check_complete(partitions, position.timestamps, f"{name}OffsetsByTimestamp")
        return _at_times(cluster, position.timestamps, options.unknown_timestamp_is_latest or not starting)
    if position.special is not None:
        return cluster.offsets(dict.fromkeys(partitions, position.special))
    _check_complete(partitions, position.offsets, f"{name}Offsets")
    special = {partition: offset for partition, offset in position.offsets.items() if offset < 0}
    return position.offsets | (cluster.offsets(special) if special else {})


def earliest(cluster: ClusterView, partitions: Iterable[TopicPartition]) -> Offsets:
    """Return where partitions begin. Raises ClusterError."""
    wanted = dict.fromkeys(partitions, EARLIEST)
    return cluster.offsets(wanted) if wanted else {}


def latest(cluster: ClusterView, partitions: Iterable[TopicPartition]) -> Offsets:
    """Return where partitions end. Raises ClusterError."""
    wanted = dict.fromkeys(partitions, LATEST)
    return cluster.offsets(wanted) if wanted else {}


def _at_times(cluster: ClusterView, times: Offsets, else_latest: bool) -> Offsets:
    found = cluster.offsets(times)
    without = sorted(partition for partition, offset in found.items() if offset == _NO_OFFSET)
    if without and not else_latest:
        raise OptionError(
            f"partition {without[0]} has no record at or after {times[without[0]]} ms; with the option"
            " startingOffsetsByTimestampStrategy=latest such a partition is read from its end"
        )
    return found | latest(cluster, without)


def _check_complete(partitions: set[TopicPartition], given: Offsets, name: str) -> None:
    if missing := sorted(partitions - given.keys()):
        raise OptionError(
            f"{name} must name all partitions that are read, {_some(missing)} missing;"
            " -2 stands for the earliest offset and -1 for the latest"
        )
    if unknown := sorted(given.keys() - partitions):
        raise OptionError(f"{name} names partitions that are not read: {_some(unknown)}")


def _some(partitions: list[TopicPartition]) -> str:
    more = f" and {len(partitions) - _SHOWN} more" if len(partitions) > _SHOWN else ""
    return ", ".join(map(str, partitions[:_SHOWN])) + more
