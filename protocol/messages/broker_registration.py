"""BrokerRegistration (api key 62): a broker that starts makes itself known to the controller (KIP-631).

Version notes: v1 could tell of a migration from ZooKeeper, directories come with v2 (KIP-858), the epoch before a clean
stop with v3 (KIP-966); v4 allows features whose lowest level is 0.
"""

from __future__ import annotations

from uuid import UUID

from odradek.protocol.codec import Message, Struct, array, boolean, int16, int32, int64, string, uint16, uuid


class RegistrationListener(Struct):
    """Where clients and other brokers can reach it."""

    name: str = string()
    host: str = string()
    port: int = uint16()
    security_protocol: int = int16()
    """0 PLAINTEXT, 1 SSL, 2 SASL_PLAINTEXT, 3 SASL_SSL."""


class RegistrationFeature(Struct):
    """The levels of a feature that it can run."""

    name: str = string()
    min_supported_version: int = int16()
    max_supported_version: int = int16()


class BrokerRegistrationRequest(Message, api_key=62, versions="0-4", flexible="0+"):
    """The broker."""

    broker_id: int = int32()
    cluster_id: str = string()
    incarnation_id: UUID = uuid()
    """Random for each start of the process."""
    listeners: list[RegistrationListener] = array(RegistrationListener)
    features: list[RegistrationFeature] = array(RegistrationFeature)
    rack: str | None = string(nullable="0+")
    is_migrating_zk_broker: bool = boolean("1+")
    log_dirs: list[UUID] = array(uuid, "2+")
    previous_broker_epoch: int = int64("3+", default=-1)
    """The epoch that it stopped cleanly in; -1: it did not."""


class BrokerRegistrationResponse(Message, api_key=62, versions="0-4", flexible="0+"):
    """Its epoch."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
    broker_epoch: int = int64(default=-1)
