"""FindCoordinator (0-6): who coordinates a consumer group or a transaction. Nobody, in this version.

Every well-formed request is answered COORDINATOR_NOT_AVAILABLE, with a sentence that says why, so that a client's log
tells what is missing. Version notes: v1 has the kind of key and a message, v4 asks for many keys at once, v6 knows
share groups.
"""

import re
from typing import Final

from broker.runtime.context import RequestContext
from protocol.errors import ErrorCode
from protocol.messages.find_coordinator import Coordinator, FindCoordinatorRequest, FindCoordinatorResponse

_GROUP, _TRANSACTION, _SHARE = range(3)
_WHAT: Final = {_GROUP: "consumer groups", _TRANSACTION: "transactions", _SHARE: "share groups"}
_SHARE_KEY = re.compile(r".+:[A-Za-z0-9_-]{22}:[0-9]+", re.DOTALL)
_FIRST_BATCHED_VERSION = 4
_FIRST_SHARE_VERSION = 6
_NO_NODE = -1


class CoordinatorHandler:
    """Answers FindCoordinator."""

    def find_coordinator(self, context: RequestContext, request: FindCoordinatorRequest) -> FindCoordinatorResponse:
        """Answer a request."""
        version = context.api_version
        if version < _FIRST_BATCHED_VERSION:
            code, message = _verdict(request.key, request.key_type, version)
            return FindCoordinatorResponse(
                error_code=code, error_message=message, node_id=_NO_NODE, host="", port=_NO_NODE
            )
        response = FindCoordinatorResponse()
        for key in request.coordinator_keys:
            code, message = _verdict(key, request.key_type, version)
            response.coordinators.append(
                Coordinator(key=key, node_id=_NO_NODE, host="", port=_NO_NODE, error_code=code, error_message=message)
            )
        return response


def _verdict(key: str, key_type: int, version: int) -> tuple[ErrorCode, str]:
    what = _WHAT.get(key_type)
    if what is None or (key_type == _SHARE and version < _FIRST_SHARE_VERSION):
        return ErrorCode.INVALID_REQUEST, f"Key type {key_type} is not one that version {version} knows."
    if key_type == _SHARE and not _SHARE_KEY.fullmatch(key):
        return ErrorCode.INVALID_REQUEST, "The key of a share coordinator is <group>:<topic id>:<partition>."
    return ErrorCode.COORDINATOR_NOT_AVAILABLE, f"This version of odradek does not serve {what} yet."
