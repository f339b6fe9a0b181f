"""The documents of `odradek pipeline progress` and `upkeep`; the lines that jobs write are in docs/pipeline.md."""

from odradek.documents.document import Document

PROGRESS: Document = {
    "applications[]": {
        "": "one for each name under which a job has finished a micro-batch",
        "application": "its name",
        "job": "archive, wordcount or relay",
        "batch": "number of the last micro-batch that is finished",
        "run": "one higher with each start of the job",
        "finished_at_ms": "when that was, in milliseconds since 1970",
        "partitions[]": {
            "topic": "what it reads",
            "partition": "and which one of it",
            "from": "first offset of the last micro-batch that had any of it",
            "until": "offset that it goes on with",
        },
    }
}

UPKEEP: Document = {
    "removed": "number of files that were removed because their days were too old",
    "compacted": "number of small files that were put together",
    "written": "number of files that they became",
}
