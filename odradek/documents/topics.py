"""The documents of `odradek topics`."""

from odradek.documents.document import Document

LISTED: Document = {
    "topics[]": {
        "name": "its name",
        "partitions": "how many it has",
        "replication_factor": "the most replicas that a partition has",
        "internal": "whether Kafka keeps it for itself",
        "topic_id": "its id, as Kafka's own tools show it",
        "offsets": "how many lie between the beginnings and the ends of its partitions; null without --sizes",
        "size_bytes": "of the files of its leaders; null without --sizes, or where nobody tells it",
    },
    "totals": {
        "topics": "how many are listed",
        "partitions": "how many they have together",
        "offsets": "of all of them; null without --sizes",
        "size_bytes": "of all of them; null without --sizes",
    },
}
OFFSETS: Document = {
    "partitions[]": {
        "topic": "name of the topic",
        "partition": "number of the partition",
        "beginning": "offset of the first record",
        "end": "offset that the next record gets",
        "at": "the offset that --at is there; null without it",
    }
}
CREATED: Document = {"topics[]": {"name": "its name", "created": "false where it was there before"}}
DESCRIBED: Document = {
    "topics[]": {
        "name": "its name",
        "topic_id": "its id, as Kafka's own tools show it",
        "internal": "whether Kafka keeps it for itself",
        "configs{}": "values of the configs that are set on it, by their names",
        "offsets": "how many lie between the beginnings and the ends of its partitions",
        "size_bytes": "of the files of its leaders; null where nobody tells it",
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
