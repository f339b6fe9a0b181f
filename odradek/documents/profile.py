"""The documents of `odradek profile`."""

from odradek.documents.document import Document

_PROFILE: Document = {
    "name": "of the profile",
    "in_use": "whether commands use it by themselves",
    "settings{}": "values of the client settings by their names; what is secret is not shown",
}
LISTED: Document = {"profiles[]": _PROFILE}
SHOWN: Document = _PROFILE
KEPT: Document = {**_PROFILE, "file": "where it is kept"}
CHOSEN: Document = {"in_use": "name of the profile that commands use by themselves; null if none"}
DELETED: Document = {"deleted[]": "names of the profiles that are gone"}
