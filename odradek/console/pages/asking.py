"""What a cluster may refuse to tell: an answer, or the sentence in its place, so that a page shows the rest."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from odradek.terminal.errors import CommandError

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Told(Generic[T]):
    """An answer, or why there is none."""

    value: T | None
    problem: str = ""


def told(ask: Callable[[], T]) -> Told[T]:
    """Ask, and take a refusal for an answer."""
    try:
        return Told(ask())
    except CommandError as refused:
        return Told(None, str(refused))
