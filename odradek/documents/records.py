"""The documents of `odradek produce` and `odradek consume`."""

from odradek.documents.document import Document

BYTES = 'a string if it is UTF-8, else `{"base64": "..."}`; null if there is none'

PRODUCED: Document = {
    "": "The summary; nothing of it is written where the command could not begin.",
    "topic": "where to",
    "records": "how many were acknowledged",
    "bytes": "of their values",
    "failed": "how many were not acknowledged",
    "failed_lines[]": "their numbers, from 1, as pairs `[first, last]`",
    "seconds": "how long it took",
    "partitions[]": {
        "partition": "its number",
        "records": "how many went there",
        "first_offset": "the smallest of theirs; null with --acks 0",
        "last_offset": "the largest; null with --acks 0",
    },
}
CONSUMED: Document = {
    "": "One document a line, for each record.",
    "topic": "where it is",
    "partition": "number of the partition",
    "offset": "its place there",
    "timestamp": "milliseconds since 1970; null if there is none",
    "timestamp_type": "create, append or none",
    "key{}": f"{BYTES}; with --registry what it is by its schema",
    "value{}": f"{BYTES}; with --registry what it is by its schema",
    "headers[]": "pairs `[name, value]`, values as above",
}
