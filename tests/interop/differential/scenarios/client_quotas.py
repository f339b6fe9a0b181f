"""DescribeClientQuotas and AlterClientQuotas, with every error that they have."""

import math
from collections.abc import Callable, Sequence

from tests.interop.differential.play import Ask, Steps, Until
from tests.support.wire import Message, served_versions

EXACT, DEFAULT, ANY = range(3)
RATE, CONSUMED, TIME, CHANGES, COMING = (
    "producer_byte_rate",
    "consumer_byte_rate",
    "request_percentage",
    "controller_mutation_rate",
    "connection_creation_rate",
)
_Entity = Sequence[tuple[str, str | None]]
_Ops = Sequence[tuple[str, float | None]]

U: _Entity = [("user", "u")]
ENTITIES: Sequence[tuple[str, _Entity]] = (
    ("a user", U),
    ("all users", [("user", None)]),
    ("a client", [("client-id", "c")]),
    ("all clients", [("client-id", None)]),
    ("both", [("user", "u"), ("client-id", "c")]),
    ("both, turned round", [("client-id", "c2"), ("user", "u")]),
    ("a user's other clients", [("user", "u"), ("client-id", None)]),
    ("all of both", [("user", None), ("client-id", None)]),
    ("strange names", [("user", "a b/%\u00e9\0"), ("client-id", "*")]),
    ("nothing", []),
    ("an unknown type", [("foo", "u")]),
    ("no type", [("", "u")]),
    ("no name", [("user", "")]),
    ("a type twice", [("user", "a"), ("user", "b")]),
    ("an address and a user", [("ip", "1.2.3.4"), ("user", "u")]),
    ("an address and a client", [("ip", "1.2.3.4"), ("client-id", "u")]),
    ("an address", [("ip", "1.2.3.4")]),
)
ADDRESSES = ("1.2.3.4", None, "::1", "[::1]", "127.1", "2130706433", "010.0.0.2", " 10.0.0.2", "300.0.0.2", "a b!", "")
NUMBERS = (0.0, -1.0, 1.5, 0.5, 1e-9, 1.0000001, 1.1, 2.0**31, 2.0**63, 2.0**64, 1e300, math.inf, -math.inf)


def client_quotas() -> Steps:
    """Set, look at, remove; everything that is refused."""
    for version in served_versions("AlterClientQuotas"):
        for label, entity in ENTITIES:
            yield _alter(label, version, (entity, [(RATE, 7.0)]))
    for address in ADDRESSES:
        yield _alter(f"address {address!r}", 1, ([("ip", address)], [(COMING, 7.0)]))
    for key in (RATE, CONSUMED, TIME, CHANGES):
        for number in NUMBERS:
            yield _alter(f"{key} {number}", 1, (U, [(key, number)]))
    for number in (*NUMBERS, 2.0**31 - 1):
        yield _alter(f"{COMING} {number}", 1, ([("ip", "1.2.3.4")], [(COMING, number)]))
    yield _alter("no number", 1, ([("user", "nan")], [(TIME, math.nan)]))
    yield _alter("no number, removed", 1, ([("user", "nan")], [(TIME, None)]))
    for key in ("", "foo", COMING):
        yield _alter(f"key {key!r}", 1, (U, [(key, 1.0)]))
        yield _alter(f"key {key!r} removed", 1, (U, [(key, None)]))
    yield from _several()
    yield from _describe()
    yield from _leave_nobody_limited()


def _several() -> Steps:
    """Requests with more than one wish."""
    yield _alter("no entries", 1)
    yield _alter("no wish", 1, (U, []))
    yield _alter("removes what is not set", 1, ([("user", "nobody")], [(RATE, None)]))
    yield _alter("a key twice", 1, ([("user", "kt")], [(RATE, 5.0), (RATE, 6.0)]))
    yield _alter("a key set and removed", 1, ([("user", "kt")], [(RATE, 5.0), (RATE, None)]))
    yield _alter("an entity twice", 1, ([("user", "et")], [(RATE, 5.0)]), ([("user", "et")], [(CONSUMED, 6.0)]))
    yield _alter("an entity twice, first bad", 1, ([("user", "eb")], [(RATE, 0.0)]), ([("user", "eb")], [(RATE, 6.0)]))
    yield _alter("good and bad", 1, ([("user", "good")], [(RATE, 5.0)]), ([("user", "bad")], [("foo", 6.0)]))
    yield _alter("good and bad key", 1, ([("user", "gb")], [(RATE, 5.0), ("foo", 6.0)]))
    yield _alter("only looked at", 1, ([("user", "looked")], [(RATE, 5.0)]), validate_only=True)
    yield _alter("only looked at, bad", 1, ([("user", "looked")], [(RATE, 0.0)]), validate_only=True)
    yield _alter("several keys", 1, ([("user", "many")], [(RATE, 5.0), (CONSUMED, 6.0), (TIME, 0.5), (CHANGES, 0.25)]))
    yield _alter("one removed", 1, ([("user", "many")], [(CONSUMED, None)]))
    many = [([("user", f"u{number}")], [(RATE, 5.0)]) for number in range(10_001)]
    yield _alter("too many", 1, *many, view=_first_entry)


def _leave_nobody_limited() -> Steps:
    """Other scenarios are clients without a name of their own."""
    everybody: Sequence[_Entity] = ([("user", None)], [("client-id", None)], [("user", None), ("client-id", None)])
    yield _alter("no limits for all", 1, *((entity, [(RATE, None)]) for entity in everybody))
    yield _alter("no limits for addresses", 1, ([("ip", None)], [(COMING, None)]))
    wanted = {"components": [_component("ip", DEFAULT, None)], "strict": True}
    yield Until("DescribeClientQuotas", 1, wanted, lambda answer: not answer["entries"])


def _describe() -> Steps:
    """All that can be asked for, once the last change is there."""
    yield _alter("the last", 1, ([("client-id", "last")], [(RATE, 1.0)]))
    wanted = {"components": [_component("client-id", EXACT, "last")], "strict": True}
    yield Until("DescribeClientQuotas", 1, wanted, lambda answer: bool(answer["entries"]))
    any_user, any_client = _component("user", ANY, None), _component("client-id", ANY, None)
    filters: Sequence[tuple[str, list[Message]]] = (
        ("all", []),
        ("any user", [any_user]),
        ("any of both", [any_user, any_client]),
        ("any address", [_component("ip", ANY, None)]),
        ("an address", [_component("ip", EXACT, "1.2.3.4")]),
        ("a user", [_component("user", EXACT, "u")]),
        ("nobody", [_component("user", EXACT, "nobody")]),
        ("no name", [_component("user", EXACT, "")]),
        ("the default", [_component("user", DEFAULT, None)]),
        ("a user and any client", [_component("user", EXACT, "u"), any_client]),
        ("any user and a client", [any_user, _component("client-id", EXACT, "c")]),
        ("both defaults", [_component("user", DEFAULT, None), _component("client-id", DEFAULT, None)]),
        ("exactly null", [_component("user", EXACT, None)]),
        ("the default by name", [_component("user", DEFAULT, "x")]),
        ("any by name", [_component("user", ANY, "x")]),
        ("match 3", [_component("user", 3, None)]),
        ("match -1", [_component("user", -1, "x")]),
        ("an unknown type", [_component("foo", EXACT, "x")]),
        ("no type", [_component("", EXACT, "x")]),
        ("a type twice", [_component("user", EXACT, "x"), any_user]),
        ("an address and a user", [_component("ip", EXACT, "x"), any_user]),
    )
    for version in served_versions("DescribeClientQuotas"):
        for strict in (False, True):
            for label, components in filters:
                label = f"{label}, strict" if strict else label
                yield Ask(label, "DescribeClientQuotas", version, {"components": components, "strict": strict})


def _component(kind: str, match_type: int, match: str | None) -> Message:
    return {"entity_type": kind, "match_type": match_type, "match": match}


def _alter(
    label: str,
    version: int,
    *entries: tuple[_Entity, _Ops],
    validate_only: bool = False,
    view: Callable[[Message], Message] = dict,
) -> Ask:
    fields = {
        "entries": [
            {
                "entity": [{"entity_type": kind, "entity_name": name} for kind, name in entity],
                "ops": [{"key": key, "value": value or 0.0, "remove": value is None} for key, value in ops],
            }
            for entity, ops in entries
        ],
        "validate_only": validate_only,
    }
    return Ask(label, "AlterClientQuotas", version, fields, view)


def _first_entry(answer: Message) -> Message:
    """What all entries say, without whose they are."""
    codes = {one["error_code"] for one in answer["entries"]}
    return {"entries": len(answer["entries"]), "error_code": codes.pop() if len(codes) == 1 else -1}
