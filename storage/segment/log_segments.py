"""The segments of a log in the order of their base offsets; the last one is appended to."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator

from odradek.storage.segment.segment import Segment


class Segments:
    """An ordered, never empty list of segments; each reaches up to the base offset of the next."""

    __slots__ = ("_bases", "_segments", "active")

    def __init__(self, segments: Iterable[Segment]) -> None:
        self._segments = sorted(segments, key=lambda segment: segment.base_offset)
        self._learn()

    def _learn(self) -> None:
        self._bases = [segment.base_offset for segment in self._segments]
        self.active = self._segments[-1]
        """The segment that is appended to."""

    def __len__(self) -> int:
        return len(self._segments)

    def __iter__(self) -> Iterator[Segment]:
        return iter(self._segments)

    @property
    def first(self) -> Segment:
        """The oldest segment."""
        return self._segments[0]

    def holding(self, offset: int) -> Segment:
        """Return the segment whose range has the offset; the first one for offsets before it."""
        if offset >= self.active.base_offset:
            return self.active
        return self._segments[max(0, bisect_right(self._bases, offset) - 1)]

    def since(self, offset: int) -> list[Segment]:
        """Return the segment whose range has the offset, and all after it."""
        return self._segments[max(0, bisect_right(self._bases, offset) - 1) :]

    def after(self, segment: Segment) -> Segment | None:
        """Return the next segment, or None if it is the last one."""
        index = bisect_right(self._bases, segment.base_offset)
        return self._segments[index] if index < len(self._segments) else None

    def above(self, offset: int) -> list[Segment]:
        """Return the segments that begin above `offset`, oldest first."""
        return self._segments[bisect_right(self._bases, offset) :]

    def before(self, offset: int) -> list[Segment]:
        """Return the segments that end at `offset` or before it, oldest first; never the one that is appended to."""
        return self._segments[: max(0, bisect_right(self._bases, offset) - 1)]

    def add(self, segment: Segment) -> None:
        """Put a new segment at the end, to be appended to from now on."""
        assert segment.base_offset > self.active.base_offset, "a segment must begin after the one before it"
        self._segments.append(segment)
        self._bases.append(segment.base_offset)
        self.active = segment

    def replace(self, old: Iterable[Segment], new: Iterable[Segment]) -> None:
        """Take segments out, and put others in; at least one must remain."""
        gone = {id(segment) for segment in old}
        kept = [segment for segment in self._segments if id(segment) not in gone]
        self._segments = sorted([*kept, *new], key=lambda segment: segment.base_offset)
        self._learn()

    def goes_on_after(self, base_offset: int, upto: int) -> bool:
        """Return whether what is below `upto` goes on in a later segment than the one that begins at `base_offset`."""
        return base_offset != self.active.base_offset and self.holding(upto).base_offset > base_offset
