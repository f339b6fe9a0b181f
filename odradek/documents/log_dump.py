"""The document of `odradek log dump`: fields that all kinds of files have, and the rows of each kind."""

from odradek.documents.document import Document, field_rows

_RECORD: Document = {
    "offset": "its offset",
    "timestamp": "milliseconds since 1970",
    "key_size": "bytes; null without a key",
    "value_size": "bytes; null without a value",
    "sequence?": "of its producer, -1 if it has none; in batches of magic 2",
    "is_valid?": "whether the message's own checksum is right; in messages of magic 0 and 1",
    "crc?": "that checksum; in messages of magic 0 and 1",
    "control?": {
        "": "what a control record says, instead of all that follows",
        "type": "ABORT, COMMIT, LeaderChange, SnapshotHeader, ..., or UNKNOWN",
        "data{}": "its fields, as kafka-dump-log names them",
    },
    "header_keys[]?": "names of headers; with --deep alone",
    "key{}?": 'with --print-data: as `consume --json` writes it, or decoded: `{"type", "data"}`',
    "value{}?": "with --print-data: the same",
    "headers[]?": "with --print-data: pairs `[name, value]`",
}
_BATCH: Document = {
    "": "of .log and of the metadata's .checkpoint: batches, or messages of magic 0 and 1",
    "position": "byte in the file",
    "timestamp_type": "CreateTime, LogAppendTime or NoTimestampType",
    "size": "bytes",
    "magic": "version of the format",
    "codec": "none, gzip, snappy, lz4 or zstd",
    "crc": "the checksum",
    "is_valid": "whether it is right",
    "base_offset?": "magic 2: of the first record",
    "last_offset?": "magic 2: of the last one",
    "count?": "magic 2: of records",
    "base_sequence?": "magic 2: of the first record, -1 without a producer id",
    "last_sequence?": "magic 2: of the last one",
    "producer_id?": "magic 2: -1 if there is none",
    "producer_epoch?": "magic 2: of that producer",
    "partition_leader_epoch?": "magic 2: of the leader that appended it",
    "is_transactional?": "magic 2: whether it is part of a transaction",
    "is_control?": "magic 2: whether it has control records",
    "delete_horizon_ms?": "magic 2: when compaction may remove its tombstones; null if that is not set",
    "max_timestamp?": "magic 2: the largest of its records",
    "offset?": "magic 0 and 1: of the message, of the last one if it wraps others",
    "timestamp?": "magic 0 and 1: of the message",
    "records[]?": {"": "with --deep or --print-data", **_RECORD},
    "error?": "why not all records could be read",
}
ENTRIES: dict[str, Document] = {
    "index": {"offset": "last offset of a batch", "position": "byte of the .log where the batch begins"},
    "timeindex": {"timestamp": "largest one so far", "offset": "of its record"},
    "txnindex": {
        "version": "of the entry",
        "producer_id": "whose transaction was aborted",
        "first_offset": "of the transaction",
        "last_offset": "of its marker",
        "last_stable_offset": "when it was written",
    },
    "snapshot": {
        "producer_id": "of the producer",
        "producer_epoch": "of the producer",
        "coordinator_epoch": "of the last marker, -1 if there is none",
        "current_txn_first_offset": "of the transaction that is open; null if none is",
        "last_timestamp": "of its last batch",
        "first_sequence?": "of its last batch, if that is known, as all that follow",
        "last_sequence?": "of the last record",
        "last_offset?": "of the last record",
        "offset_delta?": "last offset less the first",
        "timestamp?": "the batch's largest",
    },
    "offset-checkpoint": {"topic": "name", "partition": "number", "offset": "what the file keeps of it"},
    "leader-epoch-checkpoint": {"epoch": "of a leader", "start_offset": "of its first record"},
    "partition.metadata": {"topic_id": "of the topic"},
}
"""Rows by the kind of file; of the other kinds the file itself names the fields."""


def _rows_of_each_kind() -> str:
    kinds = {kind: ", ".join(f"{name} ({told})" for name, told in field_rows(row)) for kind, row in ENTRIES.items()}
    return "; ".join(f"of kind {kind} {fields}" for kind, fields in kinds.items())


DUMPED: Document = {
    "files[]": {
        "path": "as it was given",
        "kind?": "log, index, timeindex, txnindex, snapshot, checkpoint, offset-checkpoint, leader-epoch-checkpoint, "
        "partition.metadata, meta.properties, quorum-state or clean-shutdown; missing if it could not be opened",
        "size?": "bytes; missing if it could not be opened",
        "start_offset?": "of a .log: the offset in its name",
        "end_offset?": "of a snapshot of the metadata: the offset in its name",
        "epoch?": "of a snapshot of the metadata: the epoch in its name",
        "batches[]?": _BATCH,
        "entries[]{}?": f"of all other files: {_rows_of_each_kind()}; of other kinds what the file itself names",
        "end?": {
            "": "of logs and indexes: what is behind the last batch or entry",
            "position": "byte",
            "left": "how many bytes are behind it",
            "status": "end, cut, zeros or garbage",
            "reason": "what stands there, a sentence; empty at the end of the file",
        },
        "error?": "why the file could not be opened, or read on",
    }
}
