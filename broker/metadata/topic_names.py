"""Which names a topic may have.

Kafka's rule (`Topic.validate`), and the collision of names that differ only in `.` and `_`, which are the same in
metrics.
"""

import re
from collections.abc import Iterable
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


def collision_key(name: str) -> str:
    """Return what two names must not have in common."""
    return name.replace(".", "_")


def find_collision(name: str, existing: Iterable[str]) -> str | None:
    """Return a name among `existing` that `name` collides with, other than itself."""
    if "." not in name and "_" not in name:
        return None
    key = collision_key(name)
    return next((other for other in existing if collision_key(other) == key and other != name), None)
