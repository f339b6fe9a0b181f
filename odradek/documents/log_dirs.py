"""The documents of log directories."""

from odradek.documents.document import Document

DIRECTORY: Document = {
    "path": "a log directory",
    "error": "Kafka's name of what is wrong with it; null if nothing is",
    "replicas": "how many it has",
    "size_bytes": "of the replicas in it",
    "total_bytes": "of its volume; null where that is not told",
    "usable_bytes": "what is free of it; null where that is not told",
    "cordoned": "whether it gets no new replicas",
}
LOG_DIRS: Document = {
    "brokers[]": {
        "broker": "its id",
        "directories[]": {
            **DIRECTORY,
            "partitions[]": {
                "": "the replicas in it; with --topic those of these topics, which alone are counted above then",
                "topic": "its topic",
                "partition": "its number",
                "size_bytes": "of its log",
            },
            "coming[]": {
                "": "replicas that are on their way to it from another directory of the broker",
                "topic": "its topic",
                "partition": "its number",
            },
        },
        "problem": "why it does not tell; null if it does",
    },
}
