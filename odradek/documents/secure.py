"""The documents of `odradek secure`."""

from odradek.documents.document import Document

SECURED: Document = {
    "directory": "where the files are",
    "bootstrap_server": "the address under which clients connect",
    "names[]": "a host or an address that the broker's certificate is for",
    "administrator": "the user who may do everything",
    "files[]": {
        "file": "its path",
        "is_secret": "whether only its owner may read it",
        "purpose": "what it is for",
    },
}

SIGNED: Document = {
    "file": "where key and certificate are, one after the other",
    "subject": "the name in the certificate",
    "names[]": "a host or an address that it is for",
    "replaced": "whether there was such a file before",
}

CHECKED: Document = {
    "findings[]": {
        "danger": "open: whoever reaches the port or the machine can do it; weak: it takes more than that",
        "subject": "a listener, a key or a file",
        "problem": "what can be done that should not be",
        "remedy": "what closes it",
    },
}
