"""Quotas of clients in the image, and their way into a snapshot."""

from odradek.broker.metadata.export import image_records
from odradek.broker.metadata.image import MetadataImage
from odradek.broker.metadata.replay import apply
from odradek.protocol.messages.metadata_records import ClientQuotaRecord, EntityData
from tests.unit.broker.metadata.support import image_of, record_of


def quota(key: str, value: float | None, **entity: str | None) -> ClientQuotaRecord:
    """Return the record that sets, or with None removes, a quota; `client_id` stands for client-id."""
    return ClientQuotaRecord(
        entity=[EntityData(entity_type=part.replace("_", "-"), entity_name=name) for part, name in entity.items()],
        key=key,
        value=value or 0.0,
        remove=value is None,
    )


USER_U = frozenset({("user", "u")})


def values(image: MetadataImage) -> dict[object, dict[str, float]]:
    """Return what is set, by entity."""
    return {entity: dict(one.values) for entity, one in image.client_quotas.items()}


def test_quotas_are_set_changed_and_removed() -> None:
    """An entity without a quota is none."""
    image = image_of([quota("a", 1.0, user="u"), quota("b", 2.0, user="u"), quota("a", 3.0, user=None)])
    assert values(image) == {USER_U: {"a": 1.0, "b": 2.0}, frozenset({("user", None)}): {"a": 3.0}}
    changed = image_of([quota("a", 9.0, user="u"), quota("b", None, user="u"), quota("a", None, user=None)], image)
    assert values(changed) == {USER_U: {"a": 9.0}}
    assert values(image)[USER_U] == {"a": 1.0, "b": 2.0}, "an image that somebody holds never changes"
    assert values(image_of([quota("a", None, user="u")], changed)) == {}


def test_an_entity_is_the_same_whatever_the_order_of_its_parts() -> None:
    """Kafka's is a map, too; the order in which it came first is kept for the records."""
    image = image_of([quota("a", 1.0, user="u", client_id="c"), quota("b", 2.0, client_id="c", user="u")])
    assert values(image) == {frozenset({("user", "u"), ("client-id", "c")}): {"a": 1.0, "b": 2.0}}
    (one,) = image.client_quotas.values()
    assert one.parts == (("user", "u"), ("client-id", "c"))


def test_removing_what_is_not_there_changes_nothing() -> None:
    """A snapshot may be newer than the record."""
    assert values(image_of([quota("a", None, user="u")])) == {}


def test_quotas_are_shared_with_the_image_before_where_no_record_is_about_them() -> None:
    """Who limits clients by them looks whether it is the same object."""
    image = image_of([quota("a", 1.0, user="u")])
    assert image_of([], image).client_quotas is image.client_quotas


def test_a_snapshot_has_the_records_byte_for_byte() -> None:
    """Order of the parts, and every value, as they came."""
    records = [
        record_of(one)
        for one in (
            quota("producer_byte_rate", 0.1 + 0.2, client_id="c", user=None),
            quota("request_percentage", 1e300, client_id="c", user=None),
            quota("k", 2.0**63, user="\u00e9\0", client_id=None),
            quota("connection_creation_rate", 7.0, ip="127.1"),
        )
    ]
    image = apply(MetadataImage(), records, 4, 1)[0]
    assert [one.value for one in image_records(image, 1)] == [one.value for one in records]
