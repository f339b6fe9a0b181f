"""What is there for as long as a `with` lasts, in tests of both kinds: with and without an event loop."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from types import TracebackType
from typing import Self


class Lifetime(ABC):
    """Starts at the beginning of a `with` or `async with`, and is closed at its end, whatever came between."""

    @abstractmethod
    def start(self) -> Self:
        """Begin, and return when it can be used."""

    @abstractmethod
    def close(self) -> None:
        """End, and leave nothing."""

    def __enter__(self) -> Self:
        try:
            return self.start()
        except BaseException:
            self.close()
            raise

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return await asyncio.to_thread(self.__enter__)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await asyncio.to_thread(self.close)
