"""The documents of `odradek topics`."""

from odradek.documents.document import Document

LISTED: Document = {
    "topics[]": {
        "name": "its name",
        "partitions": "how many it has",
        "replication_factor": "the most replicas that a partition has",
        "internal": "whether Kafka keeps it for itself",
        "topic_id": "its id, as Kafka's own tools show it",
    }
}
CREATED: Document = {"topics[]": {"name": "its name", "created": "false where it was there before"}}
DESCRIBED: Document = {
    "topics[]": {
        "name": "its name",
        "topic_id": "its id, as Kafka's own tools show it",
        "internal": "whether Kafka keeps it for itself",
        "configs{}": "values of the configs that are set on it, by their names",
        "partitions[]": {
            "partition": "its number",
            "leader": "id of the broker that leads it; null if none does",
            "replicas[]": "ids of brokers",
            "isr[]": "those of them that are in sync",
            "beginning": "offset of the first record; null without a leader",
            "end": "offset that the next record gets; null without a leader",
            "size_bytes": "of the leader's files; null where nobody tells it",
        },
    }
}
ALTERED: Document = {
    "name": "of the topic",
    "partitions": "how many there are to be; null if that was not asked for",
    "set{}": "values that were set, by their names",
    "deleted[]": "names of configs that were taken back",
}
DELETED: Document = {"deleted[]": "names of the topics that are gone"}
