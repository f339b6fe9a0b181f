"""Metadata (api key 3): the brokers of the cluster, and the partitions of topics and their leaders.

Version notes: all topics are asked for by an empty list in v0 and by null since v1; racks and the controller come
with v1, the cluster id with v2, throttle time with v3, the choice to create topics with v4, offline replicas with v5,
leader epochs with v7 (KIP-320), authorized operations with v8 (KIP-430), flexible encoding with v9, topic ids in
answers with v10 and in questions with v12 (KIP-516); the cluster's authorized operations end with v10; a top-level
error comes with v13 (KIP-1102).
"""

from __future__ import annotations

from uuid import UUID

from odradek.protocol.codec import Message, Struct, array, boolean, int16, int32, string, uuid
from odradek.protocol.codec.fields import MIN_INT32


class MetadataRequestTopic(Struct):
    """One topic, by name or by id."""

    topic_id: UUID = uuid("10+")
    name: str | None = string(nullable="10+")


class MetadataRequest(Message, api_key=3, versions="0-13", flexible="9+"):
    """The topics to describe."""

    topics: list[MetadataRequestTopic] | None = array(MetadataRequestTopic, nullable="1+")
    """All topics: null; in v0 an empty list."""
    allow_auto_topic_creation: bool = boolean("4+", default=True)
    include_cluster_authorized_operations: bool = boolean("8-10")
    include_topic_authorized_operations: bool = boolean("8+")


class MetadataResponseBroker(Struct):
    """A broker and where it can be reached."""

    node_id: int = int32()
    host: str = string()
    port: int = int32()
    rack: str | None = string("1+", nullable="1+", default=None)


class MetadataResponsePartition(Struct):
    """A partition and its replicas."""

    error_code: int = int16()
    partition_index: int = int32()
    leader_id: int = int32()
    leader_epoch: int = int32("7+", default=-1)
    replica_nodes: list[int] = array(int32)
    isr_nodes: list[int] = array(int32)
    offline_replicas: list[int] = array(int32, "5+")


class MetadataResponseTopic(Struct):
    """A topic, or why it cannot be described."""

    error_code: int = int16()
    name: str | None = string(nullable="12+")
    topic_id: UUID = uuid("10+")
    is_internal: bool = boolean("1+")
    partitions: list[MetadataResponsePartition] = array(MetadataResponsePartition)
    topic_authorized_operations: int = int32("8+", default=MIN_INT32)


class MetadataResponse(Message, api_key=3, versions="0-13", flexible="9+"):
    """The cluster as the broker knows it."""

    throttle_time_ms: int = int32("3+")
    brokers: list[MetadataResponseBroker] = array(MetadataResponseBroker)
    cluster_id: str | None = string("2+", nullable="2+", default=None)
    controller_id: int = int32("1+", default=-1)
    topics: list[MetadataResponseTopic] = array(MetadataResponseTopic)
    cluster_authorized_operations: int = int32("8-10", default=MIN_INT32)
    error_code: int = int16("13+")
