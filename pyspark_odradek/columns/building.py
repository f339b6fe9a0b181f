"""Arrow record batches, made from the batches of one partition.

With the compiled loops of `kernels` where there is much to do, record by record where there is little (compiled code
must first be loaded) or where entries are of Kafka's older formats. Both ways give the same columns; a test holds them
equal.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from odradek.protocol.records.batch import CURRENT_MAGIC
from pyspark_odradek.columns import plain
from pyspark_odradek.columns.body import Body
from pyspark_odradek.offsets import OffsetRange

if TYPE_CHECKING:
    import pyarrow as pa

LITTLE_BYTES = 64 * 1024
"""Up to this much is read record by record."""


def build(wanted: OffsetRange, bodies: Sequence[Body], include_headers: bool) -> Iterator[pa.RecordBatch]:
    """Yield the wanted records of these batches as one Arrow record batch, or several where there are very many rows.

    One may have no rows.

    Raises:
        InvalidRecord: a batch does not consist of the records that its header declares.
    """
    size = sum(len(body.records) for body in bodies)
    if size <= LITTLE_BYTES or any(body.header.magic != CURRENT_MAGIC for body in bodies):
        yield plain.columns(wanted, bodies, include_headers)
        return
    from pyspark_odradek.columns import compiled  # half a second, for numba

    yield from compiled.columns(wanted, bodies, include_headers)
