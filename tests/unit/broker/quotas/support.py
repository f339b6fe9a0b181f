"""What the tests of quotas share."""

from odradek.broker.quotas.enforcement import ClientQuotaEnforcement
from odradek.broker.quotas.rates import Windows
from odradek.protocol.messages.metadata_records import ClientQuotaRecord
from tests.support.clock import ManualClock
from tests.unit.broker.metadata.support import image_of


def enforcing(clock: ManualClock, *quotas: ClientQuotaRecord) -> ClientQuotaEnforcement:
    """Return what enforces these quotas, with Kafka's windows."""
    enforcement = ClientQuotaEnforcement(Windows(), Windows(), lambda: clock.monotonic() * 1000)
    enforcement.follow(image_of(quotas).client_quotas)
    return enforcement
