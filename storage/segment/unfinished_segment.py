"""Segments whose files do not have their last names: compaction writes them, or could not rename them."""

from odradek.storage.names import CLEANED_SUFFIX, SWAP_SUFFIX
from odradek.storage.segment.segment import SEGMENT_SUFFIXES, Segment


class CleanedSegment(Segment):
    """A segment that is being written: its files have the suffix `.cleaned`."""

    __slots__ = ()

    def path(self, suffix: str) -> str:
        """Return the path of the segment's file with that suffix."""
        return super().path(suffix) + CLEANED_SUFFIX

    def discard(self) -> None:
        """Remove the files."""
        self.close()
        for suffix in SEGMENT_SUFFIXES:
            self.fs.unlink(self.path(suffix))


class SwapSegment(Segment):
    """A segment whose files still have the suffix `.swap`, since they could not be renamed."""

    __slots__ = ()

    def path(self, suffix: str) -> str:
        """Return the path of the segment's file with that suffix."""
        return super().path(suffix) + SWAP_SUFFIX
