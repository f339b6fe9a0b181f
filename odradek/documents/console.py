"""The document of `odradek console`."""

from odradek.documents.document import Document

SERVING: Document = {
    "url": "where the browser goes, with the token where one was made up; printed once the port is open",
}
