"""The committed offsets of the groups of one partition of `__consumer_offsets`.

Owns: what is stored, and offsets that wait for the end of their transaction. Records are the only thing that changes
it, live and on a restart alike. Values stay as they came out of the log until somebody asks: most are written and
replaced many times before they are read once. Must not know: members of groups, logs, requests.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Set
from itertools import chain, islice
from typing import NamedTuple

from odradek.broker.groups.records import OffsetAndMetadata, OffsetKey, decode_committed

NO_PRODUCER_ID = -1

Topics = dict[str, dict[int, bytes]]
"""Values by topic and partition."""


class _Pending(NamedTuple):
    position: int
    """Offset of the record in the log of the shard: of two for the same partition the later counts."""
    value: bytes | None
    is_outdated: bool = False
    """Whether a later record for the partition counts already, so that the end of the transaction changes nothing."""


class OffsetStore:
    """The committed offsets of the groups of one shard, pending transactional ones among them."""

    __slots__ = ("_groups", "_pending")

    def __init__(self) -> None:
        self._groups: dict[str, Topics] = {}
        self._pending: dict[int, dict[OffsetKey, _Pending]] = {}

    # records

    def apply(self, key: OffsetKey, value: bytes | None) -> None:
        """Take over a record that is not part of a transaction; None removes the offset."""
        for pending in self._pending.values():
            waiting = pending.get(key)
            if waiting is not None and value is None:
                del pending[key]
            elif waiting is not None:
                pending[key] = waiting._replace(is_outdated=True)
        self._set(key, value)

    def apply_pending(self, producer_id: int, key: OffsetKey, value: bytes | None, position: int) -> None:
        """Take over a record of an open transaction; `position` is its offset in the log."""
        self._pending.setdefault(producer_id, {})[key] = _Pending(position, value)

    def end_transaction(self, producer_id: int, committed: bool) -> None:
        """Make the offsets of a producer's open transaction count, or forget them."""
        ended = self._pending.pop(producer_id, None)
        if not ended or not committed:
            return
        for key, (position, value, is_outdated) in ended.items():
            if is_outdated:
                continue
            self._set(key, value)
            for pending in self._pending.values():
                other = pending.get(key)
                if other is not None and other.position < position:
                    pending[key] = other._replace(is_outdated=True)

    def _set(self, key: OffsetKey, value: bytes | None) -> None:
        group, topic, partition = key
        topics = self._groups.get(group)
        if value is not None:
            if topics is None:
                topics = self._groups[group] = {}
            partitions = topics.get(topic)
            if partitions is None:
                partitions = topics[topic] = {}
            partitions[partition] = value
        elif topics is not None:
            partitions = topics.get(topic)
            if partitions is not None and partitions.pop(partition, None) is not None and not partitions:
                del topics[topic]
                if not topics:
                    del self._groups[group]

    # look-ups

    def __len__(self) -> int:
        """How many offsets are stored."""
        return sum(len(partitions) for topics in self._groups.values() for partitions in topics.values())

    @property
    def groups(self) -> Iterable[str]:
        """The groups that have offsets, or some in open transactions."""
        pending = (key.group for pending in self._pending.values() for key in pending)
        return dict.fromkeys((*self._groups, *pending))

    def get(self, group: str, topic: str, partition: int) -> OffsetAndMetadata | None:
        """Return the offset of a group in a partition, None if there is none."""
        value = self.value_of(OffsetKey(group, topic, partition))
        return None if value is None else decode_committed(value)

    def value_of(self, key: OffsetKey) -> bytes | None:
        """Return an offset as it is stored, None if there is none."""
        return self._groups.get(key.group, {}).get(key.topic, {}).get(key.partition)

    def is_stored(self, group: str, topic: str, partition: int) -> bool:
        """Whether the group has an offset in the partition."""
        return partition in self._groups.get(group, {}).get(topic, {})

    def partitions_of(self, group: str) -> dict[str, dict[int, None]]:
        """Return the partitions that a group has offsets in, by topic and in order."""
        return {topic: dict.fromkeys(partitions) for topic, partitions in self._groups.get(group, {}).items()}

    def has_offsets(self, group: str) -> bool:
        """Whether anything is stored for the group, or waits for the end of a transaction."""
        return group in self._groups or self.has_pending(group)

    def is_pending(self, group: str, topic: str, partition: int) -> bool:
        """Whether an open transaction has an offset for the partition."""
        if not self._pending:
            return False
        key = OffsetKey(group, topic, partition)
        return any(key in pending for pending in self._pending.values())

    def pending_of(self, producer_id: int) -> frozenset[OffsetKey]:
        """Return whose offsets the open transaction of a producer has."""
        return frozenset(self._pending.get(producer_id, ()))

    def has_pending(self, group: str) -> bool:
        """Whether an open transaction has an offset for the group."""
        return any(key.group == group for pending in self._pending.values() for key in pending)

    # what is to be removed

    def keys_of(self, group: str) -> list[OffsetKey]:
        """Return the keys of everything that is stored or waits for the group: a group that is deleted leaves none."""
        found = {
            OffsetKey(group, topic, partition): None
            for topic, partitions in self._groups.get(group, {}).items()
            for partition in partitions
        }
        for pending in self._pending.values():
            found.update((key, None) for key in pending if key.group == group)
        return list(found)

    def expired(
        self, keys: Iterable[OffsetKey], is_expired: Callable[[str, OffsetAndMetadata], bool]
    ) -> list[OffsetKey]:
        """Return those stored under `keys` that `is_expired(topic, offset)`, without those in an open transaction."""
        return [
            key
            for key in keys
            if (value := self._groups.get(key.group, {}).get(key.topic, {}).get(key.partition)) is not None
            and is_expired(key.topic, decode_committed(value))
            and not self.is_pending(*key)
        ]

    def first_keys_of(self, group: str, most: int) -> list[OffsetKey]:
        """Return so many keys of what is stored or waits for the group."""
        stored = (
            OffsetKey(group, topic, partition)
            for topic, partitions in self._groups.get(group, {}).items()
            for partition in partitions
        )
        waiting = (key for pending in self._pending.values() for key in pending if key.group == group)
        return list(islice(dict.fromkeys(islice(chain(stored, waiting), 2 * most)), most))

    def count_of(self, group: str) -> int:
        """Return how many offsets of the group are stored."""
        return sum(map(len, self._groups.get(group, {}).values()))

    def stored_in(self, group: str, topics: Set[str]) -> list[OffsetKey]:
        """Return the offsets of a group in these topics, without those in open transactions."""
        found = self._groups.get(group, {})
        return [OffsetKey(group, topic, partition) for topic in topics & found.keys() for partition in found[topic]]

    def pending_in(self, topics: Set[str]) -> list[OffsetKey]:
        """Return the offsets in these topics that are in open transactions."""
        found = {key: None for pending in self._pending.values() for key in pending if key.topic in topics}
        return list(found)
