"""FindCoordinator, before there are coordinators."""

import pytest

from broker.handlers.coordinator import CoordinatorHandler
from protocol.errors import ErrorCode
from protocol.messages.find_coordinator import FindCoordinatorRequest
from tests.unit.broker.handlers.metadata_support import at


@pytest.mark.parametrize(("key_type", "what"), [(0, "consumer groups"), (1, "transactions")])
def test_no_coordinator_is_available_and_the_message_says_why(key_type: int, what: str) -> None:
    """In the form with one key and in the form with many."""
    one = CoordinatorHandler().find_coordinator(at(3), FindCoordinatorRequest(key="k", key_type=key_type))
    assert (one.error_code, one.node_id, one.host, one.port) == (ErrorCode.COORDINATOR_NOT_AVAILABLE, -1, "", -1)
    assert what in (one.error_message or "")
    many = CoordinatorHandler().find_coordinator(
        at(4), FindCoordinatorRequest(coordinator_keys=["a", "b"], key_type=key_type)
    )
    assert [(c.key, c.error_code, c.node_id) for c in many.coordinators] == [
        ("a", ErrorCode.COORDINATOR_NOT_AVAILABLE, -1),
        ("b", ErrorCode.COORDINATOR_NOT_AVAILABLE, -1),
    ]


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
    (coordinator,) = CoordinatorHandler().find_coordinator(at(version), request).coordinators
    assert coordinator.error_code == code
