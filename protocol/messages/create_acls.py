"""CreateAcls (api key 30): make ACLs.

Version notes: v1 has pattern types (KIP-290), v2 is flexible, v3 knows resources of type USER (KIP-373).
"""

from __future__ import annotations

from odradek.protocol.codec import Message, Struct, array, int8, int16, int32, string


class AclCreation(Struct):
    """An ACL to be made."""

    resource_type: int = int8()
    resource_name: str = string()
    resource_pattern_type: int = int8("1+", default=3)
    principal: str = string()
    host: str = string()
    operation: int = int8()
    permission_type: int = int8()


class CreateAclsRequest(Message, api_key=30, versions="0-3", flexible="2+"):
    """The ACLs to be made."""

    creations: list[AclCreation] = array(AclCreation)


class AclCreationResult(Struct):
    """What became of one of them."""

    error_code: int = int16()
    error_message: str | None = string(nullable="0+")


class CreateAclsResponse(Message, api_key=30, versions="0-3", flexible="2+"):
    """What became of each, in the order of the request."""

    throttle_time_ms: int = int32()
    results: list[AclCreationResult] = array(AclCreationResult)
