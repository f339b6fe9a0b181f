"""A clock that stands still until a test moves it."""


class ManualClock:
    """A Clock whose readings change only through `advance` and `set_wall`."""

    __slots__ = ("_monotonic", "_now_ms")

    def __init__(self, now_ms: int = 1_700_000_000_000) -> None:
        self._now_ms = now_ms
        self._monotonic = 1000.0

    def now_ms(self) -> int:
        """Return the wall time set so far, milliseconds since 1970 UTC."""
        return self._now_ms

    def monotonic(self) -> float:
        """Return the monotonic time reached so far, in seconds."""
        return self._monotonic

    def advance(self, seconds: float) -> None:
        """Let time pass on both clocks."""
        self._now_ms += round(seconds * 1000)
        self._monotonic += seconds

    def set_wall(self, now_ms: int) -> None:
        """Set the wall clock alone, as an operator or NTP does; monotonic time is not touched."""
        self._now_ms = now_ms
