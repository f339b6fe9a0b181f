"""What becomes of a request at the gate: the forms that dispatch and the rules have in common."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from odradek.protocol.codec import Message


class Partly(NamedTuple):
    """A request that goes on without what is refused, or whose answer is not for him who asks as a whole."""

    request: Message
    """What the handler is to answer."""
    merge: Callable[[Any], Message]
    """Makes the answer of what the handler answered."""


Outcome = Message | Partly | None
"""What becomes of a request: the answer of who may not, a part of it, or None where it goes on as it is."""
