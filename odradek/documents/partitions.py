"""The documents of `odradek partitions`."""

from odradek.documents.document import Document

CLEARED = "whether throttles were taken away"

ELECTED: Document = {
    "partitions[]": {
        "": "those in which an election was needed",
        "topic": "its topic",
        "partition": "its number",
        "leader": "who leads it now; null if nobody does",
        "error": "why nobody was elected; null if somebody was",
    }
}
PLANNED: Document = {
    "version": "1, of the format, which is that of kafka-reassign-partitions",
    "partitions[]": {
        "": "those that are to have other replicas, or the same in another order",
        "topic": "its topic",
        "partition": "its number",
        "replicas[]": "brokers that are to have it, the preferred leader first",
    },
}
EXECUTED: Document = {
    "partitions[]": {
        "topic": "its topic",
        "partition": "its number",
        "before[]": "brokers that had it",
        "replicas[]": "brokers that are to have it",
        "state": "`done`, `moving`, or `otherwise`: something else came up; null if it was deleted",
    },
    "throttles_cleared": CLEARED,
}
VERIFIED: Document = {
    "partitions[]": {
        "topic": "its topic",
        "partition": "its number",
        "state": "`done`, `moving`, or `otherwise`: it has other replicas and is not on its way to these",
    },
    "throttles_cleared": CLEARED,
}
CANCELLED: Document = {
    "partitions[]": {
        "": "those that were on their way",
        "topic": "its topic",
        "partition": "its number",
        "error": "why its move was not called off; null if it was",
    },
    "throttles_cleared": CLEARED,
}
LISTED: Document = {
    "partitions[]": {
        "topic": "its topic",
        "partition": "its number",
        "replicas[]": "brokers that have it meanwhile",
        "adding[]": "those of them that are to get it",
        "removing[]": "those of them that are to be rid of it",
        "copied_bytes": "what those that are to get it have of it, together",
        "total_bytes": "what they have to get, together",
    }
}
