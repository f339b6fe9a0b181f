"""Damaged places of a partition, named in the broker's log once each: a client asks for them again and again."""

from __future__ import annotations

from odradek.broker.runtime.logging import get_logger

DAMAGES_REPORTED = 16
"""Of one partition, at most."""

log = get_logger("storage")


class DamageReports:
    """What was told of one partition."""

    __slots__ = ("_told",)

    def __init__(self) -> None:
        self._told: frozenset[str] = frozenset()

    def report(self, topic: str, partition: int, damage: str) -> None:
        """Name a damaged place, unless that was done."""
        if damage in self._told or len(self._told) == DAMAGES_REPORTED:
            return
        self._told |= {damage}
        log.error(
            "damaged data; those who read it are answered CORRUPT_MESSAGE",
            topic=topic,
            partition=partition,
            damage=damage,
        )
