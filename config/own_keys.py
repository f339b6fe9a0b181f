"""Keys that the tables of Apache Kafka do not have: those that its authorizer reads for itself, and our own.

Ours begin with `odradek.`, so that none of Kafka's is ever taken for one; Kafka says that it does not know them, and
goes on. A module that reads one says what it may hold.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

USERS_FILE: Final = "odradek.sasl.users.file"
SUPER_USERS: Final = "super.users"
ALLOW_WITHOUT: Final = "allow.everyone.if.no.acl.found"
AUDIT_LOG: Final = "odradek.audit.log"
HTTP_LISTENER: Final = "odradek.http.listener"

OWN_KEYS: Mapping[str, str] = MappingProxyType(
    {
        SUPER_USERS: (
            "Principals that may do everything, whatever the ACLs say, divided by `;`: `User:admin;User:broker`. The"
            " nodes of a cluster must be among them. Read where `authorizer.class.name` is set."
        ),
        ALLOW_WITHOUT: (
            "Whether everybody may do everything to a resource that no ACL is about: `true` or `false`, which is the"
            " default. Read where `authorizer.class.name` is set."
        ),
        AUDIT_LOG: (
            "A file for the audit log: refused requests, changes by administrators and failed authentications as one"
            " JSON object per line. Without it, refusals are lines of the broker's own log (logger `odradek.audit`),"
            " and changes are not told."
        ),
        HTTP_LISTENER: (
            "Where `/metrics` (for Prometheus), `/health` and `/ready` are served over HTTP: `host:port`, such as"
            " `127.0.0.1:9404`; `:9404` is every interface. There is no password on it. Not set: nowhere. Needs"
            " `pip install 'odradek[metrics]'`."
        ),
        USERS_FILE: "File of users who may log in by PLAIN, with hashes of their passwords (`odradek users --file`).",
    }
)
"""What each is for."""
