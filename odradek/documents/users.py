"""The documents of `odradek users`."""

from odradek.documents.document import Document

LISTED: Document = {
    "users[]": {
        "name": "of the user",
        "mechanisms[]": {"mechanism": "by which he may log in", "iterations": "of the hash that is kept"},
    }
}
CHANGED: Document = {"name": "of the user", "mechanisms[]": "by which he may log in with the password"}
DELETED: Document = {"name": "of the user", "mechanisms[]": "by which he may not log in any more"}
