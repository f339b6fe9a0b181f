"""The documents of `odradek tokens`."""

from odradek.documents.document import Document

_TOKEN: Document = {
    "id": "what a client logs in with as its name",
    "owner": "as whom it does, such as User:anna",
    "requester": "who asked for it",
    "renewers[]": "who may renew it, beside both",
    "issued_ms": "when it was made, in milliseconds since 1970",
    "expires_ms": "until when it is valid",
    "max_ms": "until when it can be renewed",
}
LISTED: Document = {"tokens[]": _TOKEN}
CREATED: Document = {**_TOKEN, "password": "what a client logs in with; it is not told again by this command"}
CHANGED: Document = {"expires_ms": "until when the token is valid now"}
