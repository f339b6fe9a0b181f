"""FindCoordinator: this broker for groups, nobody yet for transactions and share groups."""

from dataclasses import dataclass

import pytest

from broker.handlers.coordinator import CoordinatorHandler
from broker.handlers.node import ThisNode
from protocol.errors import ErrorCode, KafkaError
from protocol.messages.find_coordinator import FindCoordinatorRequest
from tests.unit.broker.handlers.metadata_support import at

NODE = ThisNode(7, "cluster", None, lambda context: (context.local_host, context.local_port))


@dataclass
class Groups:
    """Stands for the group coordinator: makes its topic, or cannot."""

    trouble: KafkaError | None = None
    prepared: int = 0

    def prepare(self) -> None:
        self.prepared += 1
        if self.trouble is not None:
            raise self.trouble


def handler(groups: Groups | None = None) -> CoordinatorHandler:
    return CoordinatorHandler(NODE, groups or Groups())


@pytest.mark.parametrize("key_type", [1, 2])
def test_what_is_not_served_has_no_coordinator_and_the_message_says_why(key_type: int) -> None:
    """A client's log then tells what is missing."""
    request = FindCoordinatorRequest(coordinator_keys=["g:AAAAAAAAAAAAAAAAAAAAAQ:0"], key_type=key_type)
    (found,) = handler().find_coordinator(at(6), request).coordinators
    assert (found.error_code, found.node_id) == (ErrorCode.COORDINATOR_NOT_AVAILABLE, -1)
    assert "does not serve" in (found.error_message or "")


def test_this_broker_coordinates_groups_at_the_address_the_client_came_to() -> None:
    """In the form with one key and in the form with many; the topic of offsets is made on the way."""
    groups = Groups()
    one = handler(groups).find_coordinator(at(3), FindCoordinatorRequest(key="g"))
    assert (one.error_code, one.node_id, one.host, one.port) == (ErrorCode.NONE, 7, "192.0.2.1", 9092)
    many = handler(groups).find_coordinator(at(4), FindCoordinatorRequest(coordinator_keys=["a", "b"]))
    assert [(c.key, c.error_code, c.node_id) for c in many.coordinators] == [("a", 0, 7), ("b", 0, 7)]
    assert groups.prepared > 0


def test_groups_whose_topic_cannot_be_made_have_no_coordinator() -> None:
    """The reason goes to the client, which tries again."""
    groups = Groups(KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE, "the disk is full"))
    found = handler(groups).find_coordinator(at(3), FindCoordinatorRequest(key="g"))
    assert (found.error_code, found.error_message) == (ErrorCode.COORDINATOR_NOT_AVAILABLE, "the disk is full")


@pytest.mark.parametrize(
    ("version", "key_type", "key", "code"),
    [
        (4, 7, "g", ErrorCode.INVALID_REQUEST),
        (5, 2, "g:AAAAAAAAAAAAAAAAAAAAAQ:0", ErrorCode.INVALID_REQUEST),
        (6, 2, "g", ErrorCode.INVALID_REQUEST),
        (6, 2, "g:AAAAAAAAAAAAAAAAAAAAAQ:0", ErrorCode.COORDINATOR_NOT_AVAILABLE),
    ],
)
def test_kinds_of_keys_are_those_of_the_version(version: int, key_type: int, key: str, code: ErrorCode) -> None:
    """Share groups came with version 6, and their keys name a partition."""
    request = FindCoordinatorRequest(coordinator_keys=[key], key_type=key_type)
    (coordinator,) = handler().find_coordinator(at(version), request).coordinators
    assert coordinator.error_code == code
