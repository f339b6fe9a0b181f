"""The documents of `odradek log verify`, `stat` and `explain`."""

from odradek.documents.document import Document
from odradek.documents.records import BYTES

VERIFIED: Document = {
    "directory": "what was checked",
    "ok": "whether nothing is wrong",
    "broker_running": "whether a broker has it open",
    "clean_shutdown": "whether the broker was stopped in order; null where that cannot be told",
    "errors": "how many findings are errors",
    "findings[]": {
        "severity": "error, or note for what can be right after a crash or in a compacted topic",
        "path": "the file",
        "position": "byte in it; null where there is no telling",
        "offset": "of the batch or record; null where there is no telling",
        "reason": "what is wrong, a sentence",
    },
    "rebuilt[]": "paths of indexes that --repair made anew",
    "not_rebuilt[]": {"path": "an index that --repair left", "reason": "why"},
    "partitions[]": {
        "directory": "its path",
        "segments": "how many",
        "batches": "how many",
        "size": "bytes of its segments",
        "start_offset": "of the first record",
        "end_offset": "after the last one",
    },
}
STATISTICS: Document = {
    "": "Of a log directory `topics`, of one partition the other fields.",
    "directory": "what was looked at",
    "size": "bytes: of all files of a log directory, of the segments of a partition",
    "topics[]?": {
        "topic": "name",
        "size": "bytes of all its files",
        "partitions[]": {
            "partition": "its number",
            "directory": "its path",
            "segments": "how many",
            "start_offset": "of the first record",
            "end_offset": "after the last one; null where it cannot be read",
            "data_bytes": "of segments",
            "index_bytes": "of indexes",
            "other_bytes": "of all else",
        },
    },
    "index_bytes?": "of indexes",
    "batches?": "how many",
    "records?": "how many",
    "start_offset?": "of the first record",
    "end_offset?": "after the last one",
    "segments[]?": {
        "base_offset": "in its name",
        "next_offset": "after the last one",
        "size": "bytes",
        "batches": "how many",
        "records": "how many",
        "first_timestamp": "largest one of the first batch",
        "max_timestamp": "largest one of all",
        "codecs{}": "how many batches, by their compression",
        "compression_ratio": "how much larger the records are without it; null where nothing is compressed",
        "sampled_batches": "how many were decompressed to tell",
        "index_bytes": "of its indexes",
        "offset_index_entries": "how many",
        "time_index_entries": "how many",
        "bytes_per_index_entry": "of data, to an entry of the offset index; null without entries",
        "aborted_transactions": "how many",
        "problem": "why it could not be read to its end; null if it could",
    },
}

_HEADER: Document = {
    "position": "byte in the segment",
    "size": "bytes",
    "base_offset": "of the first record",
    "last_offset": "of the last one",
    "max_timestamp": "the largest of its records",
    "count": "of records",
    "codec": "none, gzip, snappy, lz4 or zstd",
}


def _search(what: str, entry: Document) -> Document:
    return {
        "": f"{what}; null if it was not searched",
        "entries": "how many there are",
        "probes[]": {
            "slot": "which one was looked at, from 0",
            "low": "first slot that was still possible",
            "high": "last one",
            **entry,
            "is_at_most": "whether it is at or before what is sought",
        },
        "slot": "of what was found, -1 if all are beyond it",
        "entry": {"": "what was found, with the fields of a probe's entry; null if nothing was", **entry},
    }


EXPLAINED: Document = {
    "": "Steps that were not reached, or are not part of the lookup, are null.",
    "directory": "of the partition",
    "offset": "what was sought; null with --timestamp",
    "timestamp": "what was sought; null with --offset",
    "segments": "how many there are",
    "segment": "base offset of the one that was chosen, or null",
    "segment_size": "its bytes",
    "segment_search": _search("the names of the segments", {"base_offset": "in the name"}),
    "segment_times[]": {
        "": "with --timestamp, segments from the oldest on; else null",
        "base_offset": "in its name",
        "largest_timestamp": "as the last entry of its time index says; null if that is empty",
        "is_late_enough": "whether it was chosen",
    },
    "time_index_search": _search(
        "the time index", {"timestamp": "of the entry", "offset": "of a record with that timestamp"}
    ),
    "start_offset": "from which offset on a time is looked for, or null",
    "offset_index_search": _search("the offset index", {"offset": "of the entry", "position": "byte in the segment"}),
    "position": "byte from which on batch headers are read, or null",
    "scan": {
        "": "the way over them, or null",
        "start": "byte where it began",
        "stepped_over": "how many batches end before what is sought",
        "batches[]": {"": "the first and the last few of them", **_HEADER},
        "found": "byte where the batch begins; null if there is none",
    },
    "batch": {"": "the batch that was found, or null", **_HEADER, "is_valid": "whether its checksum is right"},
    "record": {
        "": "the record that was found, or null",
        "offset": "its offset",
        "number": "which one of its batch, from 0",
        "timestamp": "milliseconds since 1970",
        "key{}": BYTES,
        "value{}": BYTES,
    },
    "steps[]": {
        "step": "segment, time index, offset index, scan or batch",
        "bytes_read": "by it",
        "nanoseconds": "it took",
    },
    "bytes_read": "by all of them",
    "nanoseconds": "that all of them took",
    "problem": "why there is no record, a sentence; null if there is one",
}
