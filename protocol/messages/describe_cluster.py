"""DescribeCluster (api key 60): the cluster id, its controller and its brokers (KIP-700).

Version notes: the kind of endpoint comes with v1 (KIP-919), fenced brokers with v2 (KIP-1073). Flexible in all.
"""

from __future__ import annotations

from odradek.protocol.codec import Message, Struct, array, boolean, int8, int16, int32, string
from odradek.protocol.codec.fields import MIN_INT32


class DescribeClusterRequest(Message, api_key=60, versions="0-2", flexible="0+"):
    """What to say about the cluster."""

    include_cluster_authorized_operations: bool = boolean()
    endpoint_type: int = int8("1+", default=1)
    """1 brokers, 2 controllers."""
    include_fenced_brokers: bool = boolean("2+")


class DescribeClusterBroker(Struct):
    """A broker and where it can be reached."""

    broker_id: int = int32()
    host: str = string()
    port: int = int32()
    rack: str | None = string(nullable="0+", default=None)
    is_fenced: bool = boolean("2+")


class DescribeClusterResponse(Message, api_key=60, versions="0-2", flexible="0+"):
    """The cluster."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
    error_message: str | None = string(nullable="0+", default=None)
    endpoint_type: int = int8("1+", default=1)
    cluster_id: str = string()
    controller_id: int = int32(default=-1)
    brokers: list[DescribeClusterBroker] = array(DescribeClusterBroker)
    cluster_authorized_operations: int = int32(default=MIN_INT32)
