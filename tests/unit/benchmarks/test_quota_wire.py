"""The request that sets quotas, which benchmarks write by hand, is what the broker's own codec reads."""

import pytest

from benchmarks import wire
from odradek.protocol.codec import decode, encode
from odradek.protocol.errors import ErrorCode
from odradek.protocol.headers import decode_request_header
from odradek.protocol.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasResponse,
    EntryResult,
)


def test_quotas_of_a_user_are_set_and_removed() -> None:
    """A value is set, None removes the quota."""
    frame = wire.set_quotas("anna", {"producer_byte_rate": 1e12, "request_percentage": None})[4:]
    header, begin = decode_request_header(memoryview(frame))
    request, end = decode(AlterClientQuotasRequest, memoryview(frame), header.api_version, begin)
    assert end == len(frame)
    assert not request.validate_only
    (entry,) = request.entries
    assert [(one.entity_type, one.entity_name) for one in entry.entity] == [("user", "anna")]
    assert [(op.key, op.value, op.remove) for op in entry.ops] == [
        ("producer_byte_rate", 1e12, False),
        ("request_percentage", 0.0, True),
    ]


@pytest.mark.parametrize("code", [ErrorCode.NONE, ErrorCode.INVALID_REQUEST])
def test_a_quota_that_was_not_set_ends_the_run(code: ErrorCode) -> None:
    """With the code of the entry."""
    entry = EntryResult(error_code=code)
    answer = memoryview(bytes(4) + encode(AlterClientQuotasResponse(entries=[entry]), 0))
    if code:
        with pytest.raises(wire.WireError, match=f"error code {int(code)}"):
            wire.check_quotas(answer)
    else:
        wire.check_quotas(answer)
