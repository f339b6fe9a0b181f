"""What configs say to consumer groups."""

from __future__ import annotations

from typing import NamedTuple


class ConsumerGroupSettings(NamedTuple):
    """The configs `group.consumer.*`; times in milliseconds, defaults those of Kafka 4.3 but for one."""

    max_size: int = 2_147_483_647
    session_timeout_ms: int = 45_000
    heartbeat_interval_ms: int = 5_000
    assignors: tuple[str, ...] = ("uniform", "range")
    """The first is that of groups whose members do not care."""
    assignment_interval_ms: int = 0
    """Time between two assignments of a group; Kafka's default is 1000, which a second member waits for."""
    regex_refresh_interval_ms: int = 600_000
    may_upgrade: bool = True
    """Whether a classic group with members may become a consumer group, and"""
    may_downgrade: bool = True
    """the other way round: group.consumer.migration.policy."""
    max_classic_size: int = 2_147_483_647
    """group.max.size, which a group must meet to become classic again."""
