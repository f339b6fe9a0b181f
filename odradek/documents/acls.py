"""The documents of `odradek acls`."""

from odradek.documents.document import Document

_ACL: Document = {
    "resource_type": "topic, group, cluster, transactional-id, delegation-token or user",
    "resource_name": "its name; * for every one, and the beginning of names where the pattern is prefixed",
    "pattern_type": "literal or prefixed",
    "principal": "whom it is about, as User:anna; User:* is everybody",
    "host": "from where; * is any address",
    "operation": "what it is about",
    "permission": "allow or deny",
}
LISTED: Document = {"acls[]": _ACL}
CREATED: Document = {"acls[]": _ACL}
DELETED: Document = {"acls[]": _ACL}
CHECKED: Document = {
    "allowed": "whether he may",
    "rule": "matching_acl or default_deny: what decides it",
    "acl": {"": "the ACL that decides it, null where none does", **_ACL},
}
