"""What a broker says of itself when it registers: identity, listeners, features, directories.

Source: KIP-631, KIP-858, KIP-966; `BrokerRegistrationRequest` of version 4.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple
from uuid import UUID

from odradek.broker.metadata.features import SUPPORTED
from odradek.protocol.messages.broker_registration import (
    BrokerRegistrationRequest,
    RegistrationFeature,
    RegistrationListener,
)

SECURITY_PROTOCOLS: Final = {"PLAINTEXT": 0, "SSL": 1, "SASL_PLAINTEXT": 2, "SASL_SSL": 3}
_LOWEST: Final = {"metadata.version": 7}


class AdvertisedListener(NamedTuple):
    """Where a listener is reached."""

    name: str
    host: str
    port: int
    protocol: str
    """A key of SECURITY_PROTOCOLS."""


def registration_of(
    node_id: int,
    cluster_id: str,
    incarnation_id: UUID,
    listeners: Sequence[AdvertisedListener],
    rack: str | None,
    directory_ids: Sequence[UUID],
    previous_epoch: int,
) -> BrokerRegistrationRequest:
    """Return the request; `previous_epoch` is that of the last clean stop, -1 if there was none."""
    return BrokerRegistrationRequest(
        broker_id=node_id,
        cluster_id=cluster_id,
        incarnation_id=incarnation_id,
        listeners=[
            RegistrationListener(
                name=one.name, host=one.host, port=one.port, security_protocol=SECURITY_PROTOCOLS[one.protocol]
            )
            for one in listeners
        ],
        features=[
            RegistrationFeature(name=name, min_supported_version=_LOWEST.get(name, 0), max_supported_version=newest)
            for name, newest in sorted(SUPPORTED.items())
        ],
        rack=rack,
        log_dirs=sorted(directory_ids, key=lambda one: one.bytes),
        previous_broker_epoch=previous_epoch,
    )
