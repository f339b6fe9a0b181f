"""A record that was read from a topic, free of the client that read it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Consumed(NamedTuple):
    """One record; `timestamp_type` is `create`, `append` or `none`, and `timestamp_ms` None with the last."""

    topic: str
    partition: int
    offset: int
    timestamp_ms: int | None
    timestamp_type: str
    key: bytes | None
    value: bytes | None
    headers: Sequence[tuple[str, bytes | None]]
