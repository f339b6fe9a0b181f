"""Where answers say how long to wait."""

from collections.abc import Callable
from typing import Any

import pytest

from odradek.broker.quotas.telling import told_throttle_ms, with_throttle
from odradek.protocol.codec import Message
from odradek.protocol.messages.api_versions import ApiVersion, ApiVersionsResponse
from odradek.protocol.messages.create_topics import CreateTopicsResponse
from odradek.protocol.messages.metadata import MetadataResponse
from odradek.protocol.messages.produce import NodeEndpoint, ProduceResponse
from odradek.protocol.registry import API, Api, ApiKey, decode, encode

RESPONSES: dict[ApiKey, Callable[[], Message]] = {
    ApiKey.METADATA: lambda: MetadataResponse(controller_id=5),
    ApiKey.CREATE_TOPICS: CreateTopicsResponse,
    ApiKey.API_VERSIONS: lambda: ApiVersionsResponse(api_keys=[ApiVersion(api_key=1, min_version=2, max_version=3)]),
    ApiKey.PRODUCE: lambda: ProduceResponse(node_endpoints=[NodeEndpoint(node_id=1, host="h", port=9, rack=None)]),
}


def read(api: Api, answer: bytes, version: int, start: int) -> tuple[Any, int]:
    """Return an answer, and where it ends."""
    return decode(api.response, answer, version, start)


@pytest.mark.parametrize(
    ("key", "version"), [(key, version) for key in RESPONSES for version in range(API[key].served.last + 1)]
)
def test_every_version_says_it_if_it_has_a_place_for_it(key: ApiKey, version: int) -> None:
    """And nothing else of the answer changes."""
    api = API[key]
    head = b"head\0" if api.is_flexible(version) and key != ApiKey.API_VERSIONS else b"head"
    answer = head + encode(RESPONSES[key](), version)
    told = with_throttle(answer, api, version, 4711)
    assert isinstance(told, bytes)
    assert told.startswith(head)
    response, end = read(api, told, version, len(head))
    assert end == len(told)
    expected, _ = read(api, answer, version, len(head))
    if len(told) and expected.throttle_time_ms != response.throttle_time_ms:
        assert response.throttle_time_ms == 4711
        expected.throttle_time_ms = 4711
    else:
        assert told == answer, "there is no place for it"
    assert response == expected
    if key in (ApiKey.METADATA, ApiKey.CREATE_TOPICS):
        assert told_throttle_ms(told, api, version) == response.throttle_time_ms


def test_no_answer_stays_none() -> None:
    """Produce without acks."""
    assert with_throttle(None, API[ApiKey.PRODUCE], 9, 5) is None


def test_longer_than_there_is_a_number_for_is_told_as_the_longest() -> None:
    """A quota of a byte a second is that soon."""
    told = with_throttle(b"head" + encode(MetadataResponse(), 3), API[ApiKey.METADATA], 3, 1 << 40)
    assert told_throttle_ms(told, API[ApiKey.METADATA], 3) == 2**31 - 1
