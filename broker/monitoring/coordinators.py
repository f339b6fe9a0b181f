"""Metrics of what this broker coordinates: groups with their offsets and lag, and transactions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from odradek.broker.group_services import GroupServices
from odradek.broker.partitions.table import PartitionTable
from odradek.broker.transaction_services import TransactionServices
from odradek.metrics.samples import Samples

if TYPE_CHECKING:  # made when somebody needs them
    from odradek.broker.groups.shard import GroupShard

_GROUPS = "kafka_coordinator_group_groupmetadatamanager_"
_STATES: Final = {
    "PreparingRebalance": "numgroupspreparingrebalance",
    "CompletingRebalance": "numgroupscompletingrebalance",
    "Stable": "numgroupsstable",
    "Empty": "numgroupsempty",
    "Dead": "numgroupsdead",
}
AT_ONCE: Final = 200
"""Offsets, or transactional ids, that are looked at in one step."""


class GroupCollector:
    """Goes through the groups that this broker coordinates, in small steps."""

    def __init__(self, services: GroupServices, partitions: PartitionTable) -> None:
        self._services = services
        self._partitions = partitions

    def collect(self, samples: Samples, _now_s: float) -> Iterator[None]:
        """Add the metrics of groups."""
        coordinator = self._services.made
        protocols: Counter[str] = Counter(classic=0, consumer=0)
        states: Counter[str] = Counter(dict.fromkeys(_STATES, 0))
        offsets = 0
        for shard in coordinator.shards()[0] if coordinator is not None else ():
            offsets += len(shard.offsets)
            for group_id in list(dict.fromkeys((*shard.groups, *shard.offsets.groups))):
                self._of_group(samples, shard, group_id, protocols, states)
                yield from self._lags(samples, shard, group_id)
                yield
        samples.add(f"{_GROUPS}numgroups", sum(protocols.values()))
        samples.add(f"{_GROUPS}numoffsets", offsets)
        for state, name in _STATES.items():
            samples.add(_GROUPS + name, states[state])
        samples.add_all("kafka_server_group_coordinator_metrics_group_count", protocols)

    def _of_group(
        self, samples: Samples, shard: GroupShard, group_id: str, protocols: Counter[str], states: Counter[str]
    ) -> None:
        from odradek.broker.groups.classic.group import ClassicGroup

        group = shard.groups.get(group_id)
        if group is None:
            return
        if isinstance(group, ClassicGroup):
            protocols["classic"] += 1
            states[group.state.value] += 1
            members = len(group.members)
        else:
            protocols["consumer"] += 1
            members = len(group.state.members)
        samples.add("kafka_consumergroup_members", members, group_id)

    def _lags(self, samples: Samples, shard: GroupShard, group_id: str) -> Iterator[None]:
        """Add the offsets that a group has committed, and how far it is behind where the end is known here."""
        looked_at = 0
        for topic, indexes in shard.visible.partitions_of(group_id).items():
            offsets = lags = 0
            knows_any = False
            for index in indexes:
                looked_at += 1
                if looked_at % AT_ONCE == 0:
                    yield
                committed = shard.visible.get(group_id, topic, index)
                if committed is None:
                    continue
                labels = group_id, topic, str(index)
                offsets += committed.offset
                samples.add("kafka_consumergroup_current_offset", committed.offset, *labels)
                of_topic = self._partitions.find(topic)
                partition = of_topic.open_replica(index) if of_topic is not None else None
                if partition is not None:
                    lag = max(partition.high_watermark - committed.offset, 0)
                    lags += lag
                    knows_any = True
                    samples.add("kafka_consumergroup_lag", lag, *labels)
            samples.add("kafka_consumergroup_current_offset_sum", offsets, group_id, topic)
            if knows_any:
                samples.add("kafka_consumergroup_lag_sum", lags, group_id, topic)


class TransactionCollector:
    """Counts the transactional ids that this broker coordinates."""

    def __init__(self, services: TransactionServices) -> None:
        self._services = services

    def collect(self, samples: Samples, _now_s: float) -> Iterator[None]:
        """Add how many there are in each state."""
        coordinator = self._services.made
        if coordinator is None:
            return
        states: Counter[str] = Counter()
        for shard in coordinator.shards()[0]:
            known = list(shard.transactions.values())
            for first in range(0, len(known), AT_ONCE):
                states.update(one.state.name.title().replace("_", "") for one in known[first : first + AT_ONCE])
                yield
        samples.add_all("odradek_transactional_ids", states)
