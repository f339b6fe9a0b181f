"""Which limit counts."""

import pytest

from odradek.broker.metadata.client_quotas import ClientQuotas
from odradek.broker.quotas.precedence import Limit, limits_of_addresses, quotas_of_client
from tests.unit.broker.metadata.support import image_of
from tests.unit.broker.metadata.test_client_quotas import quota

RATE = "producer_byte_rate"
ORDER: list[tuple[dict[str, str | None], tuple[str, str]]] = [
    ({"user": "u", "client_id": "c"}, ("u", "c")),
    ({"user": "u", "client_id": None}, ("u", "c")),
    ({"user": "u"}, ("u", "")),
    ({"user": None, "client_id": "c"}, ("u", "c")),
    ({"user": None, "client_id": None}, ("u", "c")),
    ({"user": None}, ("u", "")),
    ({"client_id": "c"}, ("", "c")),
    ({"client_id": None}, ("", "c")),
]
"""What counts first, with those who share it."""


def quotas(*entities: dict[str, str | None]) -> ClientQuotas:
    """Return quotas of these entities, the first of them 1, the second 2 ..."""
    return image_of([quota(RATE, float(at), **entity) for at, entity in enumerate(entities, 1)]).client_quotas


@pytest.mark.parametrize("first", range(len(ORDER)))
def test_what_is_set_more_exactly_counts_first(first: int) -> None:
    """In the order of Kafka; and its level says who shares the limit."""
    found = quotas_of_client(quotas(*(entity for entity, _ in ORDER[first:])), "u", "c")
    assert found.find(RATE) == Limit(ORDER[first][1], 1.0)
    assert found.find("consumer_byte_rate") is None


def test_each_key_has_a_limit_of_its_own() -> None:
    """A user's limit of one key does not hide that of a client id of another."""
    both = image_of([quota("a", 1.0, user="u"), quota("b", 2.0, client_id="c")]).client_quotas
    found = quotas_of_client(both, "u", "c")
    assert (found.find("a"), found.find("b")) == (Limit(("u", ""), 1.0), Limit(("", "c"), 2.0))


def test_others_are_not_limited() -> None:
    """Neither by what is set for somebody else, nor by what is set for addresses."""
    others = image_of([quota(RATE, 1.0, user="v"), quota(RATE, 1.0, client_id="d"), quota(RATE, 1.0, ip=None)])
    assert quotas_of_client(others.client_quotas, "u", "c").find(RATE) is None


def test_a_client_without_an_id_has_the_limit_of_any() -> None:
    """It is one more client id."""
    assert quotas_of_client(quotas({"client_id": None}), "u", "").find(RATE) == Limit(("", ""), 1.0)


def test_limits_of_addresses_are_found_by_name() -> None:
    """None is the default."""
    key = "connection_creation_rate"
    image = image_of([quota(key, 5.0, ip="::1"), quota(key, 6.0, ip=None), quota(RATE, 7.0, user="u")])
    assert limits_of_addresses(image.client_quotas, key) == {"::1": 5.0, None: 6.0}
