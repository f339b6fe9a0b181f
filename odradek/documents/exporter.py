"""The document of `odradek exporter`."""

from odradek.documents.document import Document

EXPORTING: Document = {
    "url": "where Prometheus gets the metrics; printed once the port is open",
}
