"""How log directories of brokers are shown: rows for people, documents for programs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from odradek.cluster.log_dirs import LogDirFacts
from odradek.terminal.human import size_text

DIRECTORY_COLUMNS: Final[Sequence[str]] = (
    ">BROKER",
    "DIRECTORY",
    "STATE",
    ">REPLICAS",
    ">SIZE",
    ">FREE",
    ">OF",
)


def directory_rows(broker: int, directories: Iterable[LogDirFacts]) -> list[list[object]]:
    """Return a row for each directory of a broker."""
    return [
        [
            broker,
            each.path,
            _state(each),
            len(each.sizes),
            size_text(sum(each.sizes.values())),
            None if each.usable_bytes is None else size_text(each.usable_bytes),
            None if each.total_bytes is None else size_text(each.total_bytes),
        ]
        for each in directories
    ]


def directory_json(each: LogDirFacts) -> dict[str, object]:
    """Return the document of a directory."""
    return {
        "path": each.path,
        "error": each.error,
        "replicas": len(each.sizes),
        "size_bytes": sum(each.sizes.values()),
        "total_bytes": each.total_bytes,
        "usable_bytes": each.usable_bytes,
        "cordoned": each.is_cordoned,
    }


def _state(each: LogDirFacts) -> str:
    if each.error is not None:
        return each.error
    return "full" if each.is_full else "cordoned" if each.is_cordoned else "up"
