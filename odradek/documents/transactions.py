"""The documents of `odradek transactions`."""

from odradek.documents.document import Document

_STATE = "Ongoing, CompleteCommit, ...: Kafka's name"

LISTED: Document = {
    "transactions[]": {
        "transactional_id": "who the transactions are of",
        "coordinator": "id of the broker that looks after them",
        "producer_id": "of its producer",
        "state": _STATE,
    }
}
DESCRIBED: Document = {
    "transactions[]": {
        "transactional_id": "who the transactions are of",
        "coordinator": "id of the broker that looks after them",
        "producer_id": "of its producer",
        "producer_epoch": "epochs below it are fenced",
        "state": _STATE,
        "timeout_ms": "milliseconds after which an open transaction is aborted",
        "started_ms": "when the open transaction began, in milliseconds since 1970; null if none is open",
        "partitions[]": {
            "": "those in which the transaction has not ended yet",
            "topic": "name of the topic",
            "partition": "number of the partition",
        },
    }
}
PRODUCERS: Document = {
    "producers[]": {
        "topic": "name of the topic",
        "partition": "number of the partition",
        "producer_id": "id of a producer that the partition remembers",
        "producer_epoch": "its epoch",
        "coordinator_epoch": "of who ended its last transaction there; null if none has ended",
        "last_sequence": "number of its last record; null if that is not known",
        "last_timestamp_ms": "of its last batch, in milliseconds since 1970; null if that is not known",
        "start_offset": "where its open transaction begins; null if none is open",
    }
}
HANGING: Document = {
    "hanging[]": {
        "topic": "name of the topic",
        "partition": "number of the partition whose readers wait",
        "producer_id": "of the producer whose transaction is open",
        "producer_epoch": "its epoch",
        "coordinator_epoch": "of who ended its last transaction there; null if none has ended",
        "last_sequence": "number of its last record; null if that is not known",
        "last_timestamp_ms": "of its last batch, in milliseconds since 1970; null if that is not known",
        "start_offset": "where the transaction begins, which `abort` takes",
    }
}
ABORTED: Document = {
    "topic": "name of the topic",
    "partition": "number of the partition",
    "producer_id": "whose transaction was ended",
    "producer_epoch": "the epoch in the marker",
    "coordinator_epoch": "the coordinator's epoch in the marker",
}
TERMINATED: Document = {
    "transactional_id": "whose producer was fenced",
    "state_before": "Ongoing: a transaction was aborted; CompleteCommit and others: none was open",
    "producer_id": "of the id from now on",
    "producer_epoch": "of the id from now on; who comes with a lower one is refused",
}
