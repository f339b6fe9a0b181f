"""The records of one batch, before they are columns."""

from __future__ import annotations

from typing import NamedTuple

from odradek.protocol.records.batch import BatchHeader
from odradek.protocol.records.checksum import Buffer


class Body(NamedTuple):
    """The records of a batch, and the header that says how to read them."""

    header: BatchHeader
    records: Buffer
    """Uncompressed, without the header; of an entry of V0 or V1 the whole entry as it is."""
