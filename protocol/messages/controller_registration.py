"""ControllerRegistration (api key 70): a controller that starts makes itself known to the active one (KIP-919)."""

from __future__ import annotations

from uuid import UUID

from odradek.protocol.codec import Message, Struct, array, boolean, int16, int32, string, uint16, uuid


class ControllerRegistrationListener(Struct):
    """Where it can be reached."""

    name: str = string()
    host: str = string()
    port: int = uint16()
    security_protocol: int = int16()


class ControllerRegistrationFeature(Struct):
    """The levels of a feature that it can run."""

    name: str = string()
    min_supported_version: int = int16()
    max_supported_version: int = int16()


class ControllerRegistrationRequest(Message, api_key=70, versions="0", flexible="0+"):
    """The controller."""

    controller_id: int = int32()
    incarnation_id: UUID = uuid()
    """Random for each start of the process."""
    zk_migration_ready: bool = boolean()
    listeners: list[ControllerRegistrationListener] = array(ControllerRegistrationListener)
    features: list[ControllerRegistrationFeature] = array(ControllerRegistrationFeature)


class ControllerRegistrationResponse(Message, api_key=70, versions="0", flexible="0+"):
    """Whether it is known now."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
    error_message: str | None = string(nullable="0+")
