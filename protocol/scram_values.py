"""The mechanisms of SCRAM, and what a server keeps of a password: the values alone.

Apart from `scram`, so that whoever only keeps credentials (every broker, in its metadata) starts without the hashes.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final, NamedTuple

MIN_ITERATIONS: Final = 4096
MAX_ITERATIONS: Final = 16384
"""What Kafka takes for a credential that is kept: fewer are guessed too fast, more hold up whoever logs in."""


class ScramMechanism(IntEnum):
    """The mechanisms, with the numbers that requests and metadata records have for them."""

    SCRAM_SHA_256 = 1
    SCRAM_SHA_512 = 2

    @property
    def sasl_name(self) -> str:
        """The name by which it is asked for: "SCRAM-SHA-256"."""
        return self.name.replace("_", "-")

    @property
    def hash_name(self) -> str:
        """The hash, as hashlib calls it."""
        return "sha256" if self is ScramMechanism.SCRAM_SHA_256 else "sha512"


MECHANISM_BY_NAME: Final = {one.sasl_name: one for one in ScramMechanism}
"""By the name that SASL has for it."""


class ScramCredential(NamedTuple):
    """What a server keeps: enough to check a proof, too little to make one."""

    salt: bytes
    stored_key: bytes
    server_key: bytes
    iterations: int

    def __repr__(self) -> str:
        return f"<SCRAM credential of {self.iterations} iterations>"
