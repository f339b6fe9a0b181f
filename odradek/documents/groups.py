"""The documents of `odradek groups`."""

from odradek.documents.document import Document

LISTED: Document = {
    "groups[]": {
        "group": "its name",
        "state": "EMPTY, STABLE, ...: Kafka's name",
        "type": "CLASSIC or CONSUMER: the protocol that its members speak",
        "lag": "how many offsets it is behind in all; null without --lag",
    }
}
WATCHED: Document = {
    "": "One document a line, for each group at each time.",
    "time": "milliseconds since 1970",
    "group": "its name",
    "state": "EMPTY, STABLE, ...: Kafka's name",
    "members": "how many it has",
    "lag": "how many offsets it is behind in all",
    "consumed_per_second": "offsets by which it has come further since the time before; null the first time",
    "produced_per_second": "offsets that were added meanwhile to the partitions that it reads; null the first time",
    "caught_up_in_seconds": "when there is no lag any more if it goes on like that; null if never or not known",
}
FORGOTTEN: Document = {
    "group": "its name",
    "offsets[]": {
        "topic": "name of the topic",
        "partition": "number of the partition",
        "before": "the offset that was committed",
    },
}
DESCRIBED: Document = {
    "groups[]": {
        "group": "its name",
        "state": "EMPTY, STABLE, ...: Kafka's name",
        "type": "CLASSIC or CONSUMER: the protocol that its members speak",
        "assignor": "what shares the partitions out; empty without members",
        "coordinator": "id of the broker that looks after it",
        "lag": "how many offsets it is behind in all",
        "members[]": {
            "member_id": "as the coordinator calls it",
            "instance_id": "of a static member; null for others",
            "client_id": "as it calls itself",
            "host": "where it is",
            "partitions[]": {"topic": "what it reads", "partition": "and which one of it"},
        },
        "offsets[]": {
            "": "a row for each partition that it has committed or reads",
            "topic": "name of the topic",
            "partition": "number of the partition",
            "committed": "where it goes on; null if nothing is committed",
            "end": "offset that the next record gets; null if that is not known",
            "lag": "end less committed, never below 0; null if one of them is",
            "member_id": "of who reads it; null if nobody does",
        },
    }
}
RESET: Document = {
    "group": "its name",
    "dry_run": "whether nothing was changed",
    "offsets[]": {
        "topic": "name of the topic",
        "partition": "number of the partition",
        "before": "the offset that was committed; null if there was none",
        "after": "the new one",
    },
}
DELETED: Document = {"deleted[]": "names of the groups that are gone"}
IMPORTED: Document = {
    "dry_run": "whether nothing was changed",
    "offsets[]": {
        "": "a row for each offset in ZooKeeper",
        "group": "whose it is",
        "topic": "name of the topic",
        "partition": "number of the partition",
        "stored": "the offset that ZooKeeper has",
        "before": "what the group had committed in the cluster; null if nothing",
        "after": "what it goes on with; null if the cluster has no such partition",
    },
}
TRANSLATED: Document = {
    "dry_run": "whether nothing was changed",
    "offsets[]": {
        "": "a row for each offset that the group has committed where it reads now",
        "group": "whose it is",
        "topic": "name of the topic",
        "partition": "number of the partition, here and in the copy",
        "committed": "the offset that the group has committed here",
        "copy": "name of the topic that is the copy",
        "before": "what the group had committed there; null if nothing",
        "after": "what it goes on with there; null if there is no such partition",
    },
}
