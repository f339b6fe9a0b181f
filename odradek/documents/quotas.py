"""The documents of `odradek quotas`."""

from odradek.documents.document import Document

_ENTITY: Document = {
    "entity[]": {
        "": "whose quotas: one part, or a user and a client id",
        "type": "`user`, `client-id` or `ip`",
        "name": "the name; null for the default of all that have none by name",
    }
}
_VALUES: Document = {"quota": "its key", "value": "the limit: bytes, percent, partitions or connections a second"}

LISTED: Document = {"quotas[]": {**_ENTITY, "values[]": _VALUES}}
CHANGED: Document = {**_ENTITY, "values[]": {"": "all that is set for it now", **_VALUES}}
