"""A page of the console: its place in the bar on top, and its routes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from starlette.routing import Route

from odradek.console.settings import ConsoleSettings


@dataclass(frozen=True, slots=True)
class ConsolePage:
    """`path` is where its first view is; `is_offered` says whether a console with these settings has it."""

    title: str
    path: str
    routes: Sequence[Route]
    is_offered: Callable[[ConsoleSettings], bool] = lambda _: True
