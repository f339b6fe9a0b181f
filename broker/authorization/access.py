"""What one client may do, remembered until the ACLs change.

Owns: the decisions for a principal and a host, cached, and who has which. Must not know: requests, responses. All
connections of the same client share an `Access`; with other ACLs everybody gets a new one, so that nobody has to be
told. However many there are, the cache is bounded: when it is full it begins anew.
"""

from __future__ import annotations

from ipaddress import IPv6Address
from typing import Final
from uuid import UUID

from odradek.broker.authorization.standard_authorizer import StandardAuthorizer
from odradek.broker.metadata.acls import AclImage
from odradek.broker.runtime.context import KafkaPrincipal, RequestContext
from odradek.protocol.acls import OPERATIONS_OF, Decision

MOST_DECISIONS: Final = 200_000
"""Decisions that are remembered for all clients together: some 40 MB."""

_Asked = tuple[int, int, str]


class Access:
    """What a client may do."""

    __slots__ = ("_authorizer", "_decisions", "host", "principal", "rules", "transactions", "who", "writes")

    def __init__(self, authorizer: Authorizer, who: KafkaPrincipal, host: str) -> None:
        self._authorizer = authorizer
        self._decisions: dict[_Asked, Decision] = {}
        self.rules = authorizer.rules
        """What it was decided by; it is out of date when the authorizer has others."""
        self.who = who
        self.principal = str(who)
        self.host = java_text(host)
        self.writes: set[str | UUID] = set()
        """Topics that the client was seen to be allowed to write to, by name or id as its requests name them."""
        self.transactions: set[str] = set()
        """Transactional ids that it was seen to be allowed to write with."""

    def decide(self, operation: int, resource_type: int, name: str) -> Decision:
        """Return whether the client may do this, and by which rule."""
        asked = (operation, resource_type, name)
        found = self._decisions.get(asked)
        if found is None:
            found = self.rules.decide(self.principal, self.host, operation, resource_type, name)
            self._decisions[asked] = found
            self._authorizer.count_decision()
        return found

    def may(self, operation: int, resource_type: int, name: str) -> bool:
        """Return whether the client may do this."""
        found = self._decisions.get((operation, resource_type, name))
        return (self.decide(operation, resource_type, name) if found is None else found).allowed

    def note_write(self, topic: str | UUID) -> None:
        """Remember that the client may write to a topic."""
        self.writes.add(topic)
        self._authorizer.count_decision()

    def note_transaction(self, transactional_id: str) -> None:
        """Remember that the client may write with a transactional id."""
        self.transactions.add(transactional_id)
        self._authorizer.count_decision()

    def may_any(self, operation: int, resource_type: int) -> bool:
        """Return whether the client may do this to any resource of a kind."""
        asked = (operation, resource_type, "\0")  # no resource has this name
        found = self._decisions.get(asked)
        if found is None:
            found = self.rules.decide_any(self.principal, self.host, operation, resource_type)
            self._decisions[asked] = found
            self._authorizer.count_decision()
        return found.allowed

    def operations(self, resource_type: int, name: str) -> int:
        """Return what the client may do with a resource, as a set of bits (KIP-430)."""
        allowed = 0
        for operation in OPERATIONS_OF[resource_type]:
            if self.may(operation, resource_type, name):
                allowed |= 1 << operation
        return allowed


def java_text(host: str) -> str:
    """Return the text of an address as Java has it, which is what ACLs are compared with: IPv6 without `::`."""
    if ":" not in host:
        return host
    plain, percent, scope = host.partition("%")
    try:
        address = IPv6Address(plain)
    except ValueError:
        return host
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    return ":".join(f"{int(part, 16):x}" for part in address.exploded.split(":")) + percent + scope


class Authorizer:
    """Gives every client its `Access`, by the newest ACLs."""

    def __init__(self, rules: StandardAuthorizer) -> None:
        self.rules = rules
        self._accesses: dict[tuple[object, str], Access] = {}
        self._decisions = 0

    def follow(self, acls: AclImage) -> None:
        """Decide by these ACLs from now on."""
        if acls is not self.rules.acls:
            self._begin_anew(self.rules.with_acls(acls))

    def access_of(self, context: RequestContext) -> Access:
        """Return what the client of a request may do, and remember it in the context."""
        client = (context.principal, context.client_host)
        access = self._accesses.get(client)
        if access is None:
            self.count_decision()
            access = self._accesses[client] = Access(self, context.principal, context.client_host)
        context.access = access
        context.principal = access.who  # the same one: that it is not another is seen by a look from now on
        return access

    def count_decision(self) -> None:
        """Note that something more is remembered."""
        self._decisions += 1
        if self._decisions > MOST_DECISIONS:
            self._begin_anew(self.rules.with_acls(self.rules.acls))

    def _begin_anew(self, rules: StandardAuthorizer) -> None:
        self.rules = rules
        self._accesses = {}
        self._decisions = 0
