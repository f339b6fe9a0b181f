"""The document of `odradek format`."""

from odradek.documents.document import Document

FORMATTED: Document = {
    "cluster_id": "the cluster that the directories belong to",
    "node_id": "the node that they belong to",
    "directories[]": {
        "directory": "its path",
        "directory_id": "its own id",
        "is_new": "whether it had no identity before",
    },
}
