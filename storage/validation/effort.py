"""How much work checking may cost before it has to be done elsewhere: a small batch can stand for very much.

The broker checks batches between two turns of its event loop, and gives those of one request an `Effort` together.
Where that is used up, `TakesLonger` is raised before the work is begun, nothing is changed, and the caller checks the
batch again without such a bound, on a thread. Units are steps of about a tenth of a microsecond, rounded up.
"""

from typing import Final

BYTES_TO_A_STEP_OF_CHECKSUM: Final = 256
BYTES_TO_A_STEP_OF_DECOMPRESSION: Final = 32
SMALL_BATCH: Final = 4096
"""Bytes of a batch whose checksum is not worth counting: a microsecond."""
LEAST_DECOMPRESSED: Final = 64 * 1024
"""Where less may be decompressed than this, it is not tried."""
STEPS_TO_FRAME_A_RECORD: Final = 1
STEPS_TO_LOOK_AT_A_RECORD: Final = 6
STEPS_TO_LOOK_AT_A_HEADER: Final = 5
STEPS_TO_WRITE_A_RECORD: Final = 15


class TakesLonger(Exception):  # noqa: N818 - no fault of anybody
    """The effort that was allowed does not suffice for the batch; nothing was changed."""


class Effort:
    """What is left of the work that may be done now."""

    __slots__ = ("steps",)

    def __init__(self, steps: int) -> None:
        self.steps = steps

    def spend(self, steps: int) -> None:
        """Take `steps` for work that follows; raise TakesLonger where they are not left, and take nothing."""
        if steps > self.steps:
            raise TakesLonger
        self.steps -= steps
