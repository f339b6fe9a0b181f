"""The document of `odradek wait`."""

from odradek.documents.document import Document

SERVING: Document = {
    "brokers": "how many are there",
    "seconds": "how long it was waited for",
}
