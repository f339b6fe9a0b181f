"""The document of `odradek pipeline progress`; the jobs write lines of progress, which docs/pipeline.md has."""

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
