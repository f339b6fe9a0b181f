"""Every API by every user: without rights, with some, with one too few, and with all. Apache Kafka says the same."""

import pytest

from tests.interop.acls.conftest import Pair
from tests.interop.acls.requests import CASES
from tests.interop.acls.world import PREFIX_OWNER, USERS

pytestmark = [pytest.mark.interop, pytest.mark.xdist_group("apache-kafka")]


@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case[0]).replace(" ", "-"))
def test_a_request_is_refused_where_kafka_refuses_it(
    sides: Pair, case: tuple[str, str, int, dict[str, object]]
) -> None:
    """By whomever it is asked; with the same code in the same places, and with the same operations told."""
    kafka, odradek = sides
    _, api, version, fields = case
    for user in (*USERS, PREFIX_OWNER):
        ours, theirs = (side.ask(user, api, version, fields) for side in (odradek, kafka))
        assert ours == theirs, user
