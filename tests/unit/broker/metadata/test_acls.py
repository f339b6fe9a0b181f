"""The ACLs of an image: what records do to them, look-ups, and that a snapshot has them as the log did."""

from uuid import UUID

import pytest

from odradek.broker.metadata.acls import acl_record
from odradek.broker.metadata.errors import CorruptMetadataError
from odradek.broker.metadata.export import image_records
from odradek.broker.metadata.image import MetadataImage
from odradek.protocol.acls import Acl, AclOperation, AclPermission, AclResourceType, PatternType
from odradek.protocol.messages.metadata_records import AccessControlEntryRecord, RemoveAccessControlEntryRecord
from tests.unit.broker.metadata.support import image_of, record_of

A, B, C = UUID(int=0xA), UUID(int=0xB), UUID(int=0xC)


def acl(name: str, pattern: PatternType = PatternType.LITERAL, principal: str = "User:a") -> Acl:
    """Return an ACL that lets a user read a topic."""
    return Acl(AclResourceType.TOPIC, pattern, name, principal, "*", AclOperation.READ, AclPermission.ALLOW)


def records(*acls: Acl) -> list[AccessControlEntryRecord]:
    """Return records with ids from A on."""
    return [acl_record(UUID(int=0xA + index), one) for index, one in enumerate(acls)]


def test_acls_are_found_by_name_prefix_and_wildcard_the_longest_first() -> None:
    """A decision sees all that covers a resource, and nothing else."""
    acls = (acl("orders"), acl("o", PatternType.PREFIXED), acl("ord", PatternType.PREFIXED), acl("*"), acl("other"))
    image = image_of(records(*acls))
    covering = [one for by_client in image.acls.covering(2, "orders") for some in by_client.values() for one in some]
    assert covering == [acls[0], acls[2], acls[1], acls[3]]
    assert [one for by in image.acls.covering(3, "orders") for one in by] == []


def test_star_of_a_prefix_is_a_plain_character() -> None:
    """Only the literal `*` stands for every name."""
    image = image_of(records(acl("*", PatternType.PREFIXED)))
    assert list(image.acls.covering(2, "orders")) == []
    assert len(list(image.acls.covering(2, "*orders"))) == 1


def test_removed_acls_are_gone_and_the_older_image_stays() -> None:
    """An image that somebody decides by never changes under him."""
    before = image_of(records(acl("a"), acl("p", PatternType.PREFIXED)))
    after = image_of([RemoveAccessControlEntryRecord(id=A), RemoveAccessControlEntryRecord(id=B)], before)
    assert len(after.acls) == 0
    assert list(after.acls.covering(2, "a")) == list(after.acls.covering(2, "pq")) == []
    assert len(before.acls) == 2
    assert before.acls.has(acl("a"))
    assert len(list(before.acls.covering(2, "pq"))) == 1


def test_a_record_with_the_id_of_another_takes_its_place() -> None:
    """As in Kafka, whose map of ids does the same."""
    image = image_of([*records(acl("a")), *records(acl("b"))])
    assert [one for _, one in image.acls.items()] == [acl("b")]
    assert not image.acls.has(acl("a"))


def test_removal_of_what_is_not_there_is_damage() -> None:
    """Kafka refuses to load such a log, too."""
    with pytest.raises(CorruptMetadataError, match="that there is not"):
        image_of([RemoveAccessControlEntryRecord(id=C)])


def test_snapshot_has_the_records_as_the_log_had_them() -> None:
    """Byte for byte, in their order."""
    written = records(acl("ä"), acl("*", PatternType.PREFIXED, "User:*"), acl("x", principal="Group:g"))
    image = image_of(written)
    assert [one.value for one in image_records(image, 1)] == [record_of(one).value for one in written]


def test_unchanged_acls_are_shared_between_images() -> None:
    """So that who decides sees that nothing is new."""
    image = image_of(records(acl("a")))
    assert image_of([], image).acls is image.acls
    assert MetadataImage().acls is MetadataImage().acls
