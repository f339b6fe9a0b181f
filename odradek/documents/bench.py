"""The documents of `odradek bench`."""

from odradek.documents.document import Document

_FIGURES: Document = {
    "mean": "arithmetic",
    "p50": "half of them were as fast",
    "p95": "95 in 100",
    "p99": "99 in 100",
    "p99.9": "999 in 1000",
    "max": "the slowest",
}
REPORT: Document = {
    "topic": "where to, or from where",
    "records": "how many were acknowledged, or read",
    "bytes": "of their values",
    "failed": "how many were refused or not acknowledged",
    "seconds": "how long it took",
    "records_per_second": "on the whole",
    "bytes_per_second": "on the whole",
    "latency_ms": {"": "in milliseconds; null if nothing could be measured", **_FIGURES},
    "transactions": {
        "": "null if there were none",
        "committed": "how many",
        "commit_ms": {
            "": "from asking for a commit to its answer, in milliseconds; null if nothing was committed",
            **_FIGURES,
        },
    },
}
