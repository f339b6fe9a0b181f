"""Which names a topic may have.

Kafka's rule (`Topic.validate`), and the collision of names that differ only in `.` and `_`, which are the same in
metrics.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Final

MAX_LENGTH: Final = 249
_LEGAL = re.compile(r"[a-zA-Z0-9._-]+", re.ASCII)


def check_name(name: str) -> str | None:
    """Return what is wrong with a topic name, in Kafka's words, or None if nothing is."""
    if not name:
        return "Topic name is invalid: the empty string is not allowed"
    if name in (".", ".."):
        return f"Topic name is invalid: '{name}' is not allowed"
    if len(name) > MAX_LENGTH:
        return f"Topic name is invalid: the length of '{name}' is longer than the max allowed length {MAX_LENGTH}"
    if not _LEGAL.fullmatch(name):
        return (
            f"Topic name is invalid: '{name}' contains one or more characters other than ASCII alphanumerics, '.', '_'"
            " and '-'"
        )
    return None


def names_by_metric(names: Iterable[str]) -> dict[str, str]:
    """Return the names that another one could collide with, each by what the two would have in common."""
    return {_metric_name(name): name for name in names if "." in name or "_" in name}


def find_collision(name: str, by_metric: Mapping[str, str]) -> str | None:
    """Return the name in `by_metric` (of `names_by_metric`) that `name` collides with, if there is one."""
    return by_metric.get(_metric_name(name))


def _metric_name(name: str) -> str:
    return name.replace(".", "_")
