"""Quotas of clients: what is written for them."""

from collections.abc import Sequence

from tests.interop.controllers.talk import Talk

_Entity = Sequence[tuple[str, str | None]]


def client_quotas(talk: Talk) -> None:
    """Set, changed, set to what they are, removed; several in one request, refused and not."""
    rate, taken, coming = "producer_byte_rate", "consumer_byte_rate", "connection_creation_rate"
    user: _Entity = [("user", "u")]
    both: _Entity = [("user", None), ("client-id", "c")]
    _alter(talk, "set", (user, rate, 5.0), (both, "request_percentage", 0.1), ([("ip", None)], coming, 7.0))
    _alter(talk, "the same again", (user, rate, 5.0), (both, "request_percentage", 0.1))
    _alter(talk, "changed", (user, rate, 6.0), (both, "controller_mutation_rate", 2.0**70))
    _alter(talk, "some refused", (user, rate, 0.0), (both, taken, 9.0), ([("ip", "1.2.3.4")], taken, 9.0))
    _alter(talk, "twice", (user, rate, 8.0), (user, rate, 9.0))
    _alter(talk, "only looked at", (user, rate, 10.0), validate_only=True)
    _alter(talk, "removed", (user, rate, None), (both, taken, None), ([("ip", None)], coming, None))
    _alter(talk, "removed again", (user, rate, None), (both, "foo", None))
    _alter(talk, "the rest", (both, "request_percentage", None), (both[::-1], "controller_mutation_rate", None))
    _alter(talk, "the last", (both, "controller_mutation_rate", None))


def _alter(talk: Talk, label: str, *wishes: tuple[_Entity, str, float | None], validate_only: bool = False) -> None:
    entries = [
        {
            "entity": [{"entity_type": kind, "entity_name": name} for kind, name in entity],
            "ops": [{"key": key, "value": value or 0.0, "remove": value is None}],
        }
        for entity, key, value in wishes
    ]
    talk.ask(label, "AlterClientQuotas", 1, entries=entries, validate_only=validate_only)
