"""Metrics with the names of kafka_exporter: what a client of a cluster can see of it.

`odradek serve` tells of its own share of the cluster (partitions that it leads, groups that it coordinates), so that
sums over all brokers are right; `odradek exporter` of the whole.
"""

from typing import Final

from odradek.metrics.metric import Kind, Metric

_GAUGE = Kind.GAUGE
_PARTITION = ("topic", "partition")
_GROUP = ("consumergroup", "topic", "partition")
_META, _GROUPS = "metadata", "committed offsets"

CLUSTER: Final = (
    Metric(
        "kafka_exporter_build_info",
        _GAUGE,
        ("version",),
        "The version of odradek; always 1. Dashboards look for clusters by it.",
        "package",
    ),
    Metric("kafka_brokers", _GAUGE, (), "Brokers of the cluster that clients are told of.", _META),
    Metric("kafka_broker_info", _GAUGE, ("id", "address"), "A broker, and where it is reached; always 1.", _META),
    Metric("kafka_topic_partitions", _GAUGE, ("topic",), "Partitions of the topic.", _META),
    Metric(
        "kafka_topic_partition_current_offset",
        _GAUGE,
        _PARTITION,
        "Offset behind the last record that consumers can read.",
        "partition",
    ),
    Metric(
        "kafka_topic_partition_oldest_offset", _GAUGE, _PARTITION, "First offset that consumers can read.", "partition"
    ),
    Metric("kafka_topic_partition_leader", _GAUGE, _PARTITION, "Id of the broker that leads; -1: nobody.", _META),
    Metric("kafka_topic_partition_replicas", _GAUGE, _PARTITION, "Replicas of the partition.", _META),
    Metric("kafka_topic_partition_in_sync_replica", _GAUGE, _PARTITION, "Replicas that are in sync.", _META),
    Metric(
        "kafka_topic_partition_leader_is_preferred", _GAUGE, _PARTITION, "1 if the first replica is the leader.", _META
    ),
    Metric(
        "kafka_topic_partition_under_replicated_partition",
        _GAUGE,
        _PARTITION,
        "1 if a replica of the partition is not in sync.",
        _META,
    ),
    Metric("kafka_consumergroup_members", _GAUGE, ("consumergroup",), "Members of the group.", "group coordinator"),
    Metric("kafka_consumergroup_current_offset", _GAUGE, _GROUP, "Offset that the group has committed.", _GROUPS),
    Metric(
        "kafka_consumergroup_current_offset_sum",
        _GAUGE,
        ("consumergroup", "topic"),
        "Sum of the offsets that the group has committed in the topic.",
        _GROUPS,
    ),
    Metric(
        "kafka_consumergroup_lag",
        _GAUGE,
        _GROUP,
        "Records from the committed offset to the end of the partition; not below zero. `odradek serve` tells it of"
        " partitions of which this broker has a replica.",
        _GROUPS,
    ),
    Metric(
        "kafka_consumergroup_lag_sum", _GAUGE, ("consumergroup", "topic"), "Sum of these lags in the topic.", _GROUPS
    ),
)
