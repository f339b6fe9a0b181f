"""The documents of `odradek records`."""

from odradek.documents.document import Document

DELETED: Document = {
    "dry_run": "whether nothing was changed",
    "partitions[]": {
        "topic": "name of the topic",
        "partition": "number of the partition",
        "before": "offset of the first record until now",
        "after": "offset of the first record that is left; where nothing is, that of the next one",
    },
}
COPIED: Document = {
    "topic": "where from",
    "to": "name of the topic that they went to",
    "records": "how many were acknowledged",
    "bytes": "of their values",
    "failed": "how many were not acknowledged",
    "seconds": "how long it took",
}
