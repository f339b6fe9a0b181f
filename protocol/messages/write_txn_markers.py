"""WriteTxnMarkers (api key 27): a coordinator has the leaders of partitions write how transactions ended.

Version notes: flexible encoding comes with v1, the transaction version with v2 (KIP-1228).
"""

from __future__ import annotations

from odradek.protocol.codec import Message, Struct, array, boolean, int8, int16, int32, int64, string


class WritableTxnMarkerTopic(Struct):
    """The partitions of a topic that a marker goes to."""

    name: str = string()
    partition_indexes: list[int] = array(int32)


class WritableTxnMarker(Struct):
    """The end of one transaction."""

    producer_id: int = int64()
    producer_epoch: int = int16()
    transaction_result: bool = boolean()
    """True: committed."""
    topics: list[WritableTxnMarkerTopic] = array(WritableTxnMarkerTopic)
    coordinator_epoch: int = int32()
    """The leader epoch of the coordinator's partition of `__transaction_state`; lower ones are fenced."""
    transaction_version: int = int8("2+", default=0)
    """0 and 1: the epoch may be that of the records; 2: it is one higher (KIP-890)."""


class WriteTxnMarkersRequest(Message, api_key=27, versions="0-2", flexible="1+"):
    """The markers to write."""

    markers: list[WritableTxnMarker] = array(WritableTxnMarker)


class WritableTxnMarkerPartitionResult(Struct):
    """The outcome for one partition."""

    partition_index: int = int32()
    error_code: int = int16()


class WritableTxnMarkerTopicResult(Struct):
    """The outcome for one topic."""

    name: str = string()
    partitions: list[WritableTxnMarkerPartitionResult] = array(WritableTxnMarkerPartitionResult)


class WritableTxnMarkerResult(Struct):
    """The outcome for one marker."""

    producer_id: int = int64()
    topics: list[WritableTxnMarkerTopicResult] = array(WritableTxnMarkerTopicResult)


class WriteTxnMarkersResponse(Message, api_key=27, versions="0-2", flexible="1+"):
    """What became of each marker."""

    markers: list[WritableTxnMarkerResult] = array(WritableTxnMarkerResult)
