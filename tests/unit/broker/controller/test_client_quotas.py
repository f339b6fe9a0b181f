"""Which quotas may be set, and the records that they become."""

import math

import pytest

from odradek.broker.controller.client_quotas import MAX_RECORDS, QuotaAlteration, plan_quotas
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.metadata_records import ClientQuotaRecord
from tests.unit.broker.metadata.support import image_of
from tests.unit.broker.metadata.test_client_quotas import quota

RATE = "producer_byte_rate"
NOTHING = image_of([]).client_quotas


def plan(*wishes: QuotaAlteration, before: object = None) -> tuple[list[ClientQuotaRecord], list[str | None]]:
    """Return the records, and the sentence for each entity."""
    quotas = NOTHING if before is None else before
    planned = plan_quotas(quotas, wishes, {"nowhere"})  # type: ignore[arg-type]
    messages = [one.message for one in planned.records]
    assert all(isinstance(one, ClientQuotaRecord) for one in messages)
    refusals = planned.refusals.values()
    assert all(one is None or one.code is ErrorCode.INVALID_REQUEST for one in refusals)
    return messages, [None if one is None else one.message for one in refusals]  # type: ignore[return-value]


def wish(key: str = RATE, value: float | None = 7.0, **entity: str | None) -> QuotaAlteration:
    """Return a wish for one quota; `client_id` stands for client-id."""
    return QuotaAlteration({part.replace("_", "-"): name for part, name in entity.items()}, [(key, value)])


def test_only_what_changes_is_written() -> None:
    """A value that is there already, or is to be removed and is not there, takes no record."""
    before = image_of([quota(RATE, 7.0, user="u"), quota("consumer_byte_rate", 5.0, user="u")]).client_quotas
    ops = [(RATE, 7.0), ("consumer_byte_rate", None), ("request_percentage", None), ("controller_mutation_rate", 1.5)]
    records, told = plan(QuotaAlteration({"user": "u"}, ops), before=before)
    assert records == [quota("consumer_byte_rate", None, user="u"), quota("controller_mutation_rate", 1.5, user="u")]
    assert told == [None]


def test_parts_are_written_in_the_order_of_kafka() -> None:
    """Client id first, whatever the order of the request."""
    records, _ = plan(wish(user=None, client_id="c"))
    assert records == [quota(RATE, 7.0, client_id="c", user=None)]


@pytest.mark.parametrize(
    ("alteration", "told"),
    [
        (wish(), "Invalid empty client quota entity"),
        (wish(foo="u"), "Unhandled client quota entity type: foo"),
        (wish(user=""), "Empty user not supported"),
        (
            wish(ip="1.2.3.4", user="u"),
            "Invalid quota entity combination, IP entity shouldnot be combined with User or ClientId",
        ),
        (wish("connection_creation_rate", ip="nowhere"), "nowhere is not a valid IP or resolvable host."),
        (wish(ip="1.2.3.4"), f"Invalid configuration key {RATE}"),
        (wish("connection_creation_rate", user="u"), "Invalid configuration key connection_creation_rate"),
        (wish("foo", user="u"), "Invalid configuration key foo"),
        (wish(RATE, 0.0, user="u"), f"Quota {RATE} must be greater than 0"),
        (wish(RATE, -1.0, user="u"), f"Quota {RATE} must be greater than 0"),
        (wish(RATE, -math.inf, user="u"), f"Quota {RATE} must be greater than 0"),
        (wish(RATE, 1.5, user="u"), f"{RATE} cannot be a fractional value."),
        (wish(RATE, 2.0**64, user="u"), f"Proposed value for {RATE} is too large for a LONG."),
        (wish(RATE, math.inf, user="u"), f"Proposed value for {RATE} is too large for a LONG."),
        (
            wish("connection_creation_rate", 2.0**31, ip="1.2.3.4"),
            "Proposed value for connection_creation_rate is too large for an INT.",
        ),
        (wish("request_percentage", math.nan, user="u"), "Quota request_percentage must be a number"),
    ],
    ids=str,
)
def test_what_cannot_be_is_refused_with_the_sentence_of_kafka(alteration: QuotaAlteration, told: str) -> None:
    """Nothing is written for such an entity; a quota that is no number is taken by Kafka, and limits nothing there."""
    assert plan(alteration) == ([], [told])


@pytest.mark.parametrize(
    ("key", "value"),
    [(RATE, 2.0**63), (RATE, 1e-9), (RATE, 1.0000001), ("request_percentage", math.inf), ("request_percentage", 0.01)],
)
def test_strange_values_that_kafka_takes_are_taken(key: str, value: float) -> None:
    """The largest, and those that are nearly whole."""
    assert plan(wish(key, value, user="u")) == ([quota(key, value, user="u")], [None])


def test_removing_a_key_that_there_is_not_is_no_error() -> None:
    """As in Kafka, which looks at keys only where there is a value."""
    assert plan(wish("foo", None, user="u")) == ([], [None])


def test_an_entity_that_comes_again_is_an_error_but_done_as_it_came_first() -> None:
    """Kafka's answer has one entry for it, with the error."""
    told = "Ignoring duplicate entity ClientQuotaEntity(entries={client-id=null, user=u})"
    records, answers = plan(wish(user="u", client_id=None), wish(value=8.0, client_id=None, user="u"), wish(user="v"))
    assert records == [quota(RATE, 7.0, client_id=None, user="u"), quota(RATE, 7.0, user="v")]
    assert answers == [told, None]


def test_a_key_that_comes_twice_is_an_error_and_nothing_is_done() -> None:
    """With the same sentence."""
    twice = QuotaAlteration({"user": "u"}, [(RATE, 5.0), (RATE, None)])
    assert plan(twice) == ([], ["Ignoring duplicate entity ClientQuotaEntity(entries={user=u})"])


def test_an_entity_is_refused_as_a_whole() -> None:
    """A good key beside a bad one is not set."""
    both = QuotaAlteration({"user": "u"}, [(RATE, 5.0), ("foo", 1.0)])
    assert plan(both, wish(user="v")) == ([quota(RATE, 7.0, user="v")], ["Invalid configuration key foo", None])


def test_a_request_that_is_too_large_is_refused_as_a_whole() -> None:
    """Kafka writes at most 10,000 records for a request of a user."""
    many = [wish(user=f"u{number}") for number in range(MAX_RECORDS + 1)]
    assert len(plan(*many[:-1])[0]) == MAX_RECORDS
    with pytest.raises(KafkaError) as raised:
        plan(*many)
    assert raised.value.code is ErrorCode.POLICY_VIOLATION
