"""The columns of the data sources: those of Spark's own `kafka` source, with the same names and types."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

COLUMNS = "key BINARY, value BINARY, topic STRING, partition INT, offset BIGINT, timestamp TIMESTAMP, timestampType INT"
NO_TIME, CREATE_TIME, LOG_APPEND_TIME = -1, 0, 1
"""What the column timestampType has, as Kafka's Java client numbers them."""
MAX_TIME_MS = (2**63 - 1) // 1000
"""The latest and, negative, the earliest time that the column timestamp can have; any other is null."""
HEADERS_COLUMN = "headers ARRAY<STRUCT<key: STRING, value: BINARY>>"


def ddl(include_headers: bool) -> str:
    """Return the schema as Spark's DDL."""
    return f"{COLUMNS}, {HEADERS_COLUMN}" if include_headers else COLUMNS


def simple_string(include_headers: bool) -> str:
    """Return the schema as Spark's `simpleString` has it."""
    fields = ",".join(f"{name}:{kind.lower()}" for name, kind in map(str.split, COLUMNS.split(", ")))
    headers = ",headers:array<struct<key:string,value:binary>>" if include_headers else ""
    return f"struct<{fields}{headers}>"


def arrow_schema(include_headers: bool) -> pa.Schema:
    """Return the Arrow schema that Spark expects for `ddl`, which must be met exactly."""
    import pyarrow as pa

    fields = [
        pa.field("key", pa.binary()),
        pa.field("value", pa.binary()),
        pa.field("topic", pa.string()),
        pa.field("partition", pa.int32()),
        pa.field("offset", pa.int64()),
        pa.field("timestamp", pa.timestamp("us", tz="UTC")),
        pa.field("timestampType", pa.int32()),
    ]
    if include_headers:
        fields.append(pa.field("headers", headers_type()))
    return pa.schema(fields)


def headers_type() -> pa.DataType:
    """Return the Arrow type of the headers column."""
    import pyarrow as pa

    return pa.list_(pa.field("element", pa.struct([pa.field("key", pa.string()), pa.field("value", pa.binary())])))
