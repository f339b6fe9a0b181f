"""The ACLs of an image: by id as records name them, and by resource as decisions look for them.

Owns: the immutable set of ACLs, look-ups in it, and how records change it and are made of it. Must not know: who
decides by them. Pure. A change copies one level of what it touches, so that one ACL more costs the same whether there
are ten of them or a hundred thousand, but for the copy of two dictionaries.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple
from uuid import UUID

from odradek.broker.metadata.errors import CorruptMetadataError
from odradek.protocol.acls import WILDCARD, Acl, PatternType
from odradek.protocol.messages.metadata_records import AccessControlEntryRecord, RemoveAccessControlEntryRecord


class Pattern(NamedTuple):
    """What several ACLs may be about: the same kind of resource, by the same name, meant in the same way."""

    resource_type: int
    pattern_type: int
    name: str


Client = tuple[str, str]
"""Whom an ACL is for: a principal, and the host that he comes from. So few ACLs of a resource can have both in common
that a decision looks at some dozens, however many there are."""
ByClient = Mapping[Client, Mapping[Acl, UUID]]


class AclImage:
    """All ACLs at one moment."""

    __slots__ = ("_by_id", "_by_pattern", "_prefix_counts", "_prefix_lengths")

    def __init__(
        self,
        by_id: Mapping[UUID, Acl] | None = None,
        by_pattern: Mapping[Pattern, ByClient] | None = None,
        prefix_counts: Mapping[int, Mapping[int, int]] | None = None,
    ) -> None:
        """Use `AclDraft` to make one that is not empty."""
        self._by_id: Mapping[UUID, Acl] = by_id or {}
        self._by_pattern: Mapping[Pattern, ByClient] = by_pattern or {}
        self._prefix_counts: Mapping[int, Mapping[int, int]] = prefix_counts or {}
        """How many prefixes of each length there are for a type of resource."""
        self._prefix_lengths = {kind: sorted(counts, reverse=True) for kind, counts in self._prefix_counts.items()}
        """Of which lengths there are prefixes, the longest first."""

    def __len__(self) -> int:
        return len(self._by_id)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AclImage) and self._by_id == other._by_id

    __hash__ = None  # type: ignore[assignment]  # never a key

    def items(self) -> Iterator[tuple[UUID, Acl]]:
        """Return all ACLs with their ids, in the order in which they were made."""
        return iter(self._by_id.items())

    def has(self, acl: Acl) -> bool:
        """Whether there is such an ACL."""
        found = self._by_pattern.get(Pattern(acl.resource_type, acl.pattern_type, acl.resource_name))
        return found is not None and acl in found.get((acl.principal, acl.host), {})

    def covering(self, resource_type: int, name: str) -> Iterator[ByClient]:
        """Return the ACLs that are about a resource, by client: those of its name, of its prefixes from the longest
        to the shortest, and of every name."""
        by_pattern = self._by_pattern
        found = by_pattern.get(Pattern(resource_type, PatternType.LITERAL, name))
        if found is not None:
            yield found
        for length in self._prefix_lengths.get(resource_type, ()):
            if length <= len(name):
                found = by_pattern.get(Pattern(resource_type, PatternType.PREFIXED, name[:length]))
                if found is not None:
                    yield found
        if name != WILDCARD:
            found = by_pattern.get(Pattern(resource_type, PatternType.LITERAL, WILDCARD))
            if found is not None:
                yield found

    def named(self, resource_type: int, name: str) -> Iterator[tuple[UUID, Acl]]:
        """Return the ACLs of this name, literal and as a prefix, and those that cover it, with their ids."""
        patterns = [
            Pattern(resource_type, PatternType.LITERAL, name),
            Pattern(resource_type, PatternType.LITERAL, WILDCARD),
            *(
                Pattern(resource_type, PatternType.PREFIXED, name[:length])
                for length in self._prefix_lengths.get(resource_type, ())
                if length <= len(name)
            ),
        ]
        for pattern in dict.fromkeys(patterns):
            for some in self._by_pattern.get(pattern, {}).values():
                for acl, acl_id in some.items():
                    yield acl_id, acl

    def of_type(self, resource_type: int, clients: Sequence[Client]) -> Iterator[Acl]:
        """Return the ACLs of a kind of resource that are for one of the clients."""
        for pattern, by_client in self._by_pattern.items():
            if pattern.resource_type == resource_type:
                for client in clients:
                    yield from by_client.get(client, {})


NO_ACLS: Final = AclImage()


class AclDraft:
    """The ACLs of an image on their way to the next one."""

    def __init__(self, base: AclImage) -> None:
        self._base = base
        self._by_id = dict(base._by_id)
        self._by_pattern: dict[Pattern, ByClient] = dict(base._by_pattern)
        self._prefix_counts = {kind: dict(counts) for kind, counts in base._prefix_counts.items()}
        self._owned: dict[Pattern, dict[Client, Mapping[Acl, UUID]]] = {}
        """What is not shared with the base, so that it may be changed in place."""

    def apply(self, record: AccessControlEntryRecord | RemoveAccessControlEntryRecord) -> None:
        """Take in the effect of a record.

        Raises:
            CorruptMetadataError: it removes what is not there.
        """
        before = self._by_id.pop(record.id, None)
        if before is not None:
            self._change(before, None)
        if isinstance(record, AccessControlEntryRecord):
            acl = Acl(
                record.resource_type,
                record.pattern_type,
                record.resource_name,
                record.principal,
                record.host,
                record.operation,
                record.permission_type,
            )
            self._by_id[record.id] = acl
            self._change(acl, record.id)
        elif before is None:
            raise CorruptMetadataError(f"a record removes an ACL that there is not: {record.id}")

    def finish(self) -> AclImage:
        """Return the next ACLs."""
        return AclImage(self._by_id, self._by_pattern, self._prefix_counts)

    def _change(self, acl: Acl, acl_id: UUID | None) -> None:
        """Have an ACL with an id, or without one no more."""
        pattern = Pattern(acl.resource_type, acl.pattern_type, acl.resource_name)
        owned = self._owned.get(pattern)
        if owned is None:
            owned = self._owned[pattern] = dict(self._by_pattern.get(pattern, {}))
        client = (acl.principal, acl.host)
        some = dict(owned.get(client, {}))  # no more than there are operations
        if acl_id is not None:
            some[acl] = acl_id
        else:
            some.pop(acl, None)
        if some:
            owned[client] = some
        else:
            owned.pop(client, None)
        if owned and pattern not in self._by_pattern:
            self._count_prefix(pattern, 1)
        if owned:
            self._by_pattern[pattern] = owned
        elif self._by_pattern.pop(pattern, None) is not None:
            self._count_prefix(pattern, -1)

    def _count_prefix(self, pattern: Pattern, more: int) -> None:
        if pattern.pattern_type != PatternType.PREFIXED:
            return
        counts = self._prefix_counts.setdefault(pattern.resource_type, {})
        length = len(pattern.name)
        counts[length] = counts.get(length, 0) + more
        if not counts[length]:
            del counts[length]


def acl_record(acl_id: UUID, acl: Acl) -> AccessControlEntryRecord:
    """Return the record that makes an ACL."""
    return AccessControlEntryRecord(
        id=acl_id,
        resource_type=acl.resource_type,
        resource_name=acl.resource_name,
        pattern_type=acl.pattern_type,
        principal=acl.principal,
        host=acl.host,
        operation=acl.operation,
        permission_type=acl.permission_type,
    )
