"""describe_cluster"""

from __future__ import annotations

from protocol.codec import Message, Struct, array, boolean, int8, int16, int32, string
from protocol.codec.fields import MIN_INT32


class DescribeClusterRequest(Message, api_key=60, versions="0-2", flexible="0+"):
    include_cluster_authorized_operations: bool = boolean()
    endpoint_type: int = int8("1+", default=1)
    include_fenced_brokers: bool = boolean("2+")


class DescribeClusterBroker(Struct):
    broker_id: int = int32()
    host: str = string()
    port: int = int32()
    rack: str | None = string(nullable="0+", default=None)
    is_fenced: bool = boolean("2+")


class DescribeClusterResponse(Message, api_key=60, versions="0-2", flexible="0+"):
    throttle_time_ms: int = int32()
    error_code: int = int16()
    error_message: str | None = string(nullable="0+", default=None)
    endpoint_type: int = int8("1+", default=1)
    cluster_id: str = string()
    controller_id: int = int32(default=-1)
    brokers: list[DescribeClusterBroker] = array(DescribeClusterBroker)
    cluster_authorized_operations: int = int32(default=MIN_INT32)
