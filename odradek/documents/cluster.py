"""The documents of `odradek cluster`."""

from odradek.documents.document import Document
from odradek.documents.log_dirs import DIRECTORY

LOCAL_NODE: Document = {
    "node": "its id",
    "role": "`controller` or `broker`",
    "port": "where it is reached, on 127.0.0.1",
    "rack": "the rack of a broker; null if it has none",
    "process": "the id of its process; null if it does not run",
    "log": "the file with what it says",
}
QUORUM_MEMBER: Document = {
    "node": "its id",
    "log_end_offset": "where its metadata log ends; null if the leader has not heard of it yet",
    "lag": "metadata records that it is behind the leader; null if the leader has not heard of it yet",
    "last_fetch_ms": "when it fetched last, in milliseconds since 1970; null if that is not told",
    "last_caught_up_ms": "when it was not behind last, in milliseconds since 1970; null if that is not told",
    "listeners[]": "where a voter is reached, as NAME://HOST:PORT; empty if that is not told",
}
INFO: Document = {
    "cluster_id": "of the cluster",
    "controller": "the active controller; where no quorum is told, the broker that stands in for it; null if none",
    "voters[]": "ids of the controllers; empty where no quorum is told",
    "features[]": {
        "": "those that brokers know, as metadata.version",
        "name": "its name",
        "level": "the level that the cluster runs; 0 if it is off",
        "supported{}": "lowest and highest level that all brokers can run; null where there is none",
    },
    "brokers[]": {
        "broker": "its id",
        "host": "where it is reached",
        "port": "where it is reached",
        "rack": "null if it has none",
        "fenced": "true for one that the controller does not hear of",
        "features{}": "lowest and highest level that it can run, by the names of features",
        "requests{}": "lowest and highest version that it serves, by the names of requests",
        "problem": "why it does not tell what it can do; null if it does, or is fenced",
    },
}
STATUS: Document = {
    "cluster_id": "of the cluster",
    "controller": "the active controller; where no quorum is told, the broker that stands in for it; null if none",
    "quorum": {
        "": "who keeps the metadata; null where brokers do not tell it",
        "leader": "the active controller; null while there is none",
        "epoch": "grows with each election of a controller",
        "high_watermark": "up to where metadata records are safe",
        "voters[]": QUORUM_MEMBER,
        "observers[]": QUORUM_MEMBER,
    },
    "brokers[]": {
        "broker": "its id",
        "host": "where it is reached",
        "port": "where it is reached",
        "rack": "null if it has none",
        "fenced": "true for one that the controller does not hear of: it leads nothing",
        "leaders": "partitions that it leads",
        "replicas": "partitions that it has a replica of",
        "in_sync": "those of its replicas that are in the ISR",
        "lag": "records that its followers are behind their leaders, together; null if not known of one of them",
        "directories[]": DIRECTORY,
        "problem": "why it does not tell of its replicas; null if it does, or is fenced",
    },
    "partitions": {
        "total": "how many there are",
        "under_replicated": "of which a replica is not in sync, but for those that a reassignment is adding",
        "under_min_isr": "with fewer replicas in sync than min.insync.replicas: acks=all is refused",
        "offline": "without a leader",
        "reassigning": "on their way to other replicas",
    },
    "troubled[]": {
        "": "partitions of the kinds above, but for those that are just reassigned",
        "topic": "its topic",
        "partition": "its number",
        "leader": "null if none",
        "replicas[]": "ids of brokers",
        "isr[]": "those of them that are in sync",
        "offline_replicas[]": "those whose broker is away, or whose directory has failed",
        "min_isr": "min.insync.replicas of the topic; null if that is not told",
        "under_replicated": "see partitions",
        "under_min_isr": "see partitions",
        "offline": "see partitions",
    },
    "followers[]": {
        "": "followers that are out of the ISR, or have records to fetch",
        "topic": "its topic",
        "partition": "its number",
        "broker": "the broker that it is on",
        "lag": "records that it is behind its leader; null if one of both does not answer",
        "in_sync": "whether it is in the ISR",
    },
    "nodes[]": {"": "the nodes of --directory; null without it", **LOCAL_NODE},
}
STARTED: Document = {
    "bootstrap": "where clients reach the cluster",
    "directory": "where its nodes keep their files",
    "nodes[]": LOCAL_NODE,
}
DRAINED: Document = {
    "broker": "the broker",
    "dry_run": "whether nothing was changed",
    "partitions[]": {
        "": "those that had a replica on it",
        "topic": "its topic",
        "partition": "its number",
        "before[]": "brokers that had it",
        "replicas[]": "brokers that have it now, or will once it has moved",
    },
}
UNREGISTERED: Document = {"broker": "the broker"}
CHANGED: Document = {"nodes[]": "ids of the nodes that were started, stopped or killed"}
