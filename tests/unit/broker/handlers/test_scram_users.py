"""DescribeUserScramCredentials and AlterUserScramCredentials."""

import asyncio
from asyncio import AbstractEventLoop

import pytest

from odradek.broker.controller.controller import Controller
from odradek.broker.controller.scram import MAX_CHANGES
from odradek.broker.handlers.converting import Converter
from odradek.broker.handlers.scram_users import ScramUserHandlers
from odradek.broker.metadata.broker_configs import BrokerConfigs
from odradek.broker.metadata.scram import ScramKey
from odradek.broker.runtime.deferred import Deferred
from odradek.broker.runtime.request_memory import RequestMemory
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from odradek.protocol.messages.describe_user_scram_credentials import DescribeUserScramCredentialsRequest, UserName
from odradek.protocol.messages.metadata_records import RemoveUserScramCredentialRecord, UserScramCredentialRecord
from odradek.protocol.registry import decode
from odradek.protocol.scram import ScramMechanism, credential_of
from tests.support.deferred import now
from tests.support.manual_loop import ManualLoop
from tests.unit.broker.handlers.metadata_support import at
from tests.unit.broker.metadata.support import NODE, ONE_BROKER, RULES, MemorySource

SHA_256, SHA_512 = 1, 2


def upsertion(name: str, mechanism: int = SHA_256, iterations: int = 4096) -> ScramCredentialUpsertion:
    """Return a change that sets a credential."""
    return ScramCredentialUpsertion(
        name=name, mechanism=mechanism, iterations=iterations, salt=b"salt", salted_password=b"password"
    )


class World:
    """A node with two users."""

    def __init__(self, loop: AbstractEventLoop | None = None) -> None:
        loop = loop or ManualLoop()
        self.source = MemorySource()
        controller = Controller(self.source, RULES, BrokerConfigs(self.source, NODE, {}), ONE_BROKER)
        self.handlers = ScramUserHandlers(
            loop, self.source, controller, lambda: Converter(loop, RequestMemory(1 << 30, loop.call_soon))
        )
        self.alter(upsertion("a"), upsertion("b", SHA_512, 8192))

    def alter(self, *changes: ScramCredentialUpsertion | ScramCredentialDeletion) -> dict[str, int]:
        """Return the code of each user."""
        request = AlterUserScramCredentialsRequest(
            deletions=[one for one in changes if isinstance(one, ScramCredentialDeletion)],
            upsertions=[one for one in changes if isinstance(one, ScramCredentialUpsertion)],
        )
        answer = now(self.handlers.alter(at(0), request))
        assert isinstance(answer, AlterUserScramCredentialsResponse)
        return {one.user: one.error_code for one in answer.results}

    def describe(self, *names: str) -> dict[str, tuple[int, list[tuple[int, int]]]]:
        """Return code, mechanisms and iterations of each user."""
        request = DescribeUserScramCredentialsRequest(users=[UserName(name=name) for name in names] or None)
        return {
            one.user: (one.error_code, [(info.mechanism, info.iterations) for info in one.credential_infos])
            for one in self.handlers.describe(at(0), request).results
        }


def test_a_credential_is_kept_without_the_password() -> None:
    """What a server needs to check a proof is in the record, and in the image."""
    world = World()
    (record, _) = world.source.batches[0]
    made = credential_of(ScramMechanism.SCRAM_SHA_256, b"password", b"salt", 4096)
    assert isinstance(record.message, UserScramCredentialRecord)
    assert b"password" not in record.value
    assert world.source.image.scram_credentials[ScramKey("a", SHA_256)] == made


def test_all_users_are_told_or_those_that_are_asked_for() -> None:
    """Null and none mean all; who is unknown or named twice has a code of his own."""
    world = World()
    known = {"a": (0, [(1, 4096)]), "b": (0, [(2, 8192)])}
    assert world.describe() == known
    assert world.handlers.describe(at(0), DescribeUserScramCredentialsRequest(users=[])).results
    assert world.describe("b") == {"b": known["b"]}
    assert world.describe("a", "x", "b", "b") == {"a": known["a"], "x": (91, []), "b": (92, [])}


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (upsertion("c", iterations=4095), ErrorCode.UNACCEPTABLE_CREDENTIAL),
        (upsertion("c", iterations=16385), ErrorCode.UNACCEPTABLE_CREDENTIAL),
        (upsertion("c", iterations=1_000_000), ErrorCode.UNACCEPTABLE_CREDENTIAL),
        (upsertion(""), ErrorCode.UNACCEPTABLE_CREDENTIAL),
        (upsertion("c", mechanism=0), ErrorCode.UNSUPPORTED_SASL_MECHANISM),
        (upsertion("c", mechanism=3), ErrorCode.UNSUPPORTED_SASL_MECHANISM),
        (ScramCredentialDeletion(name="c", mechanism=SHA_256), ErrorCode.RESOURCE_NOT_FOUND),
        (ScramCredentialDeletion(name="a", mechanism=SHA_512), ErrorCode.RESOURCE_NOT_FOUND),
        (ScramCredentialDeletion(name="a", mechanism=9), ErrorCode.UNSUPPORTED_SASL_MECHANISM),
    ],
)
def test_what_cannot_be_done_is_refused_and_the_rest_is_done(
    change: ScramCredentialUpsertion | ScramCredentialDeletion, code: ErrorCode
) -> None:
    """User by user, in one change."""
    world = World()
    assert world.alter(change, upsertion("good")) == {change.name: code, "good": 0}
    assert len(world.source.batches[-1]) == 1
    assert world.describe("good") == {"good": (0, [(1, 4096)])}


@pytest.mark.parametrize(
    "second", [upsertion("a", SHA_512), upsertion("a"), ScramCredentialDeletion(name="a", mechanism=SHA_256)]
)
def test_a_user_who_is_named_twice_stays_as_he_is(second: ScramCredentialUpsertion | ScramCredentialDeletion) -> None:
    """Also with two mechanisms, and with a deletion."""
    world = World()
    before = world.source.image.scram_credentials[ScramKey("a", SHA_256)]
    codes = world.alter(upsertion("a", iterations=5000), second, upsertion("c"))
    assert codes == {"a": ErrorCode.DUPLICATE_RESOURCE, "c": 0}
    assert world.source.image.scram_credentials[ScramKey("a", SHA_256)] == before


def test_a_credential_goes() -> None:
    """With Kafka's record."""
    world = World()
    assert world.alter(ScramCredentialDeletion(name="a", mechanism=SHA_256)) == {"a": 0}
    (record,) = world.source.batches[-1]
    assert isinstance(record.message, RemoveUserScramCredentialRecord)
    assert list(world.describe()) == ["b"]


def test_where_nothing_can_be_stored_every_user_is_told() -> None:
    """The disk refuses: nobody is to believe that he has a password."""
    world = World()
    world.source.fail_with = KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, "no space")
    assert world.alter(upsertion("a"), upsertion("c")) == {
        "a": ErrorCode.KAFKA_STORAGE_ERROR,
        "c": ErrorCode.KAFKA_STORAGE_ERROR,
    }


async def test_a_request_changes_so_many_users_at_most() -> None:
    """Nothing of a larger one is done; it is refused on a thread, user by user, while others are served."""
    world = World(asyncio.get_running_loop())
    request = AlterUserScramCredentialsRequest(
        deletions=[ScramCredentialDeletion(name=f"u{number}", mechanism=SHA_256) for number in range(MAX_CHANGES)],
        upsertions=[upsertion("u0"), upsertion("v")],
    )
    refused = world.handlers.alter(at(0), request)
    assert isinstance(refused, Deferred)
    response, _ = decode(AlterUserScramCredentialsResponse, await refused, 0, 0)
    assert {one.error_code for one in response.results} == {ErrorCode.POLICY_VIOLATION}
    assert len(response.results) == MAX_CHANGES + 1
    assert len(world.describe()) == 2
