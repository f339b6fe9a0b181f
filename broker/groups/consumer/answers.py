"""What the machine answers: small values that handlers turn into messages of any version."""

from __future__ import annotations

from typing import NamedTuple

from odradek.broker.groups.consumer.member import Partitions
from odradek.protocol.errors import ErrorCode


class HeartbeatResult(NamedTuple):
    """The answer to a heartbeat. In a refusal only error and message say anything."""

    error: ErrorCode = ErrorCode.NONE
    message: str | None = None
    member_id: str | None = None
    member_epoch: int = 0
    heartbeat_interval_ms: int = 0
    assignment: Partitions | None = None
    """What the member is to have now; None: as before."""
