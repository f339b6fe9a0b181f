"""Which replica a consumer should read from that has said where it is (KIP-392). Pure.

Follows Kafka's `RackAwareReplicaSelector`: the leader if it is in the consumer's rack, else who is furthest among those
there; only replicas in sync that have the offset count.
"""

from odradek.broker.metadata.image import MetadataImage
from odradek.broker.replication.eligibility import is_alive
from odradek.broker.replication.leader_state import LeaderState


def nearest_replica(state: LeaderState, image: MetadataImage, rack: str, offset: int) -> int | None:
    """Return the broker to read from at an offset; None for the leader."""
    if _rack_of(image, state.node_id) == rack:
        return None
    near = [
        (progress.log_end_offset, progress.caught_up_ms, replica)
        for replica, progress in state.followers.items()
        if replica in state.isr
        and _rack_of(image, replica) == rack
        and is_alive(image, replica)
        and progress.log_start_offset <= offset <= progress.log_end_offset
    ]
    return max(near)[2] if near else None


def _rack_of(image: MetadataImage, broker_id: int) -> str | None:
    broker = image.brokers.get(broker_id)
    return broker.rack if broker is not None else None
