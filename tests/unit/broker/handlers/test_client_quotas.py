"""The handlers of quotas: what is found, what is changed, and hosts that have to be looked up."""

import asyncio

import pytest

from odradek.broker.controller.client_quotas import MAX_RECORDS
from odradek.broker.handlers import client_quotas
from odradek.broker.handlers.client_quotas import MANY, MAX_HOSTS
from odradek.broker.runtime.deferred import Deferred
from odradek.protocol.codec import decode
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasResponse,
    EntityData,
    EntryData,
    OpData,
)
from odradek.protocol.messages.describe_client_quotas import (
    ComponentData,
    DescribeClientQuotasRequest,
    DescribeClientQuotasResponse,
)
from tests.support.deferred import now
from tests.unit.broker.handlers.metadata_support import Admin, at, new_admin

RATE, COMING = "producer_byte_rate", "connection_creation_rate"


def entry(key: str = RATE, value: float | None = 5.0, **entity: str | None) -> EntryData:
    """Return a wish for one quota; `client_id` stands for client-id."""
    parts = [EntityData(entity_type=part.replace("_", "-"), entity_name=name) for part, name in entity.items()]
    return EntryData(entity=parts, ops=[OpData(key=key, value=value or 0.0, remove=value is None)])


def alter(admin: Admin, *entries: EntryData, validate_only: bool = False) -> list[int]:
    """Change quotas; return the code of each entity."""
    request = AlterClientQuotasRequest(entries=list(entries), validate_only=validate_only)
    response = now(admin.quotas.alter_client_quotas(at(1), request))
    assert isinstance(response, AlterClientQuotasResponse)
    return [one.error_code for one in response.entries]


def find(admin: Admin, *components: tuple[str, int, str | None], strict: bool = False) -> list[str] | int:
    """Return the entities that are found, in short, or the code."""
    request = DescribeClientQuotasRequest(
        components=[ComponentData(entity_type=part, match_type=kind, match=match) for part, kind, match in components],
        strict=strict,
    )
    response = admin.quotas.describe_client_quotas(at(1), request)
    assert isinstance(response, DescribeClientQuotasResponse)
    return shown(response)


def shown(response: DescribeClientQuotasResponse) -> list[str] | int:
    """Return the same of a response."""
    if response.entries is None:
        return response.error_code
    return sorted("+".join(f"{part.entity_type}={part.entity_name}" for part in one.entity) for one in response.entries)


def test_what_was_set_is_found() -> None:
    """By name, by default, by type; strictly without other types."""
    admin = new_admin()
    wishes = [entry(user="u"), entry(user=None), entry(client_id="c"), entry(user="u", client_id="c")]
    assert alter(admin, *wishes, entry(COMING, ip="::1")) == [0] * 5
    assert find(admin) == ["client-id=c", "client-id=c+user=u", "ip=::1", "user=None", "user=u"]
    assert find(admin, ("user", 0, "u")) == ["client-id=c+user=u", "user=u"]
    assert find(admin, ("user", 0, "u"), strict=True) == ["user=u"]
    assert find(admin, ("user", 1, None)) == ["user=None"]
    assert find(admin, ("user", 2, None)) == ["client-id=c+user=u", "user=None", "user=u"]
    assert find(admin, ("user", 2, None), strict=True) == ["user=None", "user=u"]
    assert find(admin, ("user", 2, None), ("client-id", 0, "c")) == ["client-id=c+user=u"]
    assert find(admin, strict=True) == []
    assert find(admin, ("user", 0, "v")) == find(admin, ("user", 0, "v"), strict=True) == []


@pytest.mark.parametrize(
    ("components", "code"),
    [
        ([("", 0, "x")], 42),
        ([("foo", 0, "x")], 35),
        ([("user", 0, None)], 42),
        ([("user", 1, "x")], 42),
        ([("user", 2, "x")], 42),
        ([("user", 3, None)], 42),
        ([("user", 0, "x"), ("user", 0, "x")], 42),
        ([("ip", 2, None), ("client-id", 2, None)], 42),
    ],
)
def test_what_cannot_be_asked_for_is_refused(components: list[tuple[str, int, str | None]], code: int) -> None:
    """With the codes of Kafka, and no entries at all."""
    assert find(new_admin(), *components) == code


def test_only_looked_at_is_not_done() -> None:
    """But refused where it would be."""
    admin = new_admin()
    assert alter(admin, entry(user="u"), entry("foo", user="v"), validate_only=True) == [0, 42]
    assert find(admin) == []


def test_entities_stand_once_in_the_answer() -> None:
    """Whatever the order of their parts."""
    assert alter(new_admin(), entry(user="u", client_id="c"), entry(client_id="c", user="u")) == [42]


def test_a_change_that_cannot_be_stored_is_an_error_for_all() -> None:
    """Nothing is kept."""
    admin = new_admin()
    admin.source.fail_with = KafkaError(ErrorCode.KAFKA_STORAGE_ERROR)
    assert alter(admin, entry(user="u"), entry(user="v")) == [56, 56]


async def test_hosts_are_looked_up_on_a_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """A name server may take seconds; addresses need none."""
    asked: list[str] = []

    def look_up(host: str) -> str | None:
        asked.append(host)
        return "192.0.2.1" if host == "known" else None

    monkeypatch.setattr(client_quotas, "look_up", look_up)
    admin = new_admin(loop=asyncio.get_running_loop())
    wishes = [entry(COMING, ip=host) for host in ("known", "unknown", "10.0.0.1", None, "known")]
    response = await later(admin, AlterClientQuotasRequest(entries=wishes))
    codes = {one.entity[0].entity_name: one.error_code for one in response.entries}
    assert codes == {"known": 42, "unknown": 42, "10.0.0.1": 0, None: 0}
    assert sorted(asked) == ["known", "unknown"]
    assert find(admin) == ["ip=10.0.0.1", "ip=None", "ip=known"]


async def later(admin: Admin, request: AlterClientQuotasRequest) -> AlterClientQuotasResponse:
    """Return an answer that is made on a thread."""
    outcome = admin.quotas.alter_client_quotas(at(1), request)
    assert isinstance(outcome, Deferred)
    body = await outcome
    assert isinstance(body, bytes)
    return decode(AlterClientQuotasResponse, body, 1)[0]


async def test_names_of_hosts_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of them may take the thread seconds: those beyond are as good as unknown."""
    asked: list[str] = []

    def look_up(host: str) -> str:
        asked.append(host)
        return "192.0.2.1"

    monkeypatch.setattr(client_quotas, "look_up", look_up)
    admin = new_admin(loop=asyncio.get_running_loop())
    wishes = [entry(COMING, ip=f"host-{number}") for number in range(MAX_HOSTS + 1)]
    response = await later(admin, AlterClientQuotasRequest(entries=wishes))
    assert [one.error_code for one in response.entries] == [0] * MAX_HOSTS + [42]
    assert len(asked) == MAX_HOSTS


async def test_large_requests_and_answers_are_made_on_a_thread() -> None:
    """The answer is the same."""
    admin = new_admin(loop=asyncio.get_running_loop())
    wishes = [entry(user=f"u{number}") for number in range(2 * MANY)]
    response = await later(admin, AlterClientQuotasRequest(entries=[*wishes, entry("foo", user="u")]))
    assert [one.error_code for one in response.entries] == [0] * 2 * MANY + [42]
    request = DescribeClientQuotasRequest(components=[ComponentData(entity_type="user", match_type=2, match=None)])
    outcome = admin.quotas.describe_client_quotas(at(1), request)
    assert isinstance(outcome, Deferred)
    found = shown(decode(DescribeClientQuotasResponse, await outcome, 1)[0])
    assert found == sorted(f"user=u{number}" for number in range(2 * MANY))


async def test_more_than_kafka_writes_at_once_is_refused_before_it_is_looked_at() -> None:
    """With as many answers as there were entries."""
    admin = new_admin(loop=asyncio.get_running_loop())
    response = await later(admin, AlterClientQuotasRequest(entries=[entry(user="u")] * (MAX_RECORDS + 1)))
    assert [one.error_code for one in response.entries] == [ErrorCode.POLICY_VIOLATION] * (MAX_RECORDS + 1)
    assert find(admin) == []
