"""The authorizer alone, in this process, with many ACLs: what a decision takes, the first time and from then on.

Imports our own packages: here they are what is measured.
"""

from __future__ import annotations

import gc
import time
from dataclasses import dataclass
from uuid import UUID

from benchmarks.statistics import median
from odradek.broker.authorization.access import Authorizer
from odradek.broker.authorization.standard_authorizer import StandardAuthorizer
from odradek.broker.metadata.acls import NO_ACLS, AclDraft, acl_record
from odradek.broker.runtime.context import KafkaPrincipal, RequestContext
from odradek.protocol.acls import Acl, AclOperation, AclPermission, AclResourceType, PatternType

_PASSES = 9
ANNA = KafkaPrincipal("User", "anna")


@dataclass(frozen=True, slots=True)
class Decided:
    """µs of CPU for a decision: the first one about a topic, and one that is remembered."""

    first: float
    remembered: float


def decide(acls: int) -> Decided:
    """Ask about a thousand topics of which each has an ACL of its own, among so many ACLs; medians of some passes.

    Half of the ACLs are of prefixes."""
    draft = AclDraft(NO_ACLS)
    for number in range(acls):
        pattern = PatternType.PREFIXED if number % 2 else PatternType.LITERAL
        who = "User:anna" if number % 10 == 0 else f"User:{number % 1000}"
        one = Acl(AclResourceType.TOPIC, pattern, f"topic-{number}", who, "*", AclOperation.READ, AclPermission.ALLOW)
        draft.apply(acl_record(UUID(int=number + 1), one))
    rules = StandardAuthorizer(draft.finish())
    client = RequestContext("10.0.0.7:4711", "10.0.0.7", "PLAINTEXT", "10.0.0.1", 9092, principal=ANNA)
    topics = [f"topic-{number}" for number in range(0, acls, 10)]
    gc.disable()
    first: list[float] = []
    remembered: list[float] = []
    for _ in range(_PASSES):
        access = Authorizer(rules).access_of(client)
        for noted in (first, remembered):
            began = time.process_time_ns()
            answers = [access.may(AclOperation.READ, AclResourceType.TOPIC, topic) for topic in topics]
            noted.append((time.process_time_ns() - began) / 1000 / len(topics))
            if not all(answers):
                raise ValueError("an ACL was not found")
    return Decided(median(first), median(remembered))
