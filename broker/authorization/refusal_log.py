"""What was refused, in the audit log, in the words of Kafka's `kafka.authorizer.logger`."""

from __future__ import annotations

from odradek.broker.authorization.asking import Asking
from odradek.broker.runtime import audit
from odradek.protocol.acls import AclOperation, AclResourceType, Decision, name_of

_TYPES = {
    AclResourceType.TOPIC: "Topic",
    AclResourceType.GROUP: "Group",
    AclResourceType.CLUSTER: "Cluster",
    AclResourceType.TRANSACTIONAL_ID: "TransactionalId",
    AclResourceType.DELEGATION_TOKEN: "DelegationToken",
    AclResourceType.USER: "User",
}


class RefusalLog:
    """Tells the audit log."""

    def refused(self, asking: Asking, operation: int, resource_type: int, name: str, decision: Decision) -> None:
        """Note that a client may not do something that it asked for."""
        audit.refused(
            asking.access.principal,
            asking.access.host,
            asking.api.name,
            name_of(AclOperation, operation),
            f"{_TYPES[AclResourceType(resource_type)]}:LITERAL:{name}",
            decision.rule,
        )
