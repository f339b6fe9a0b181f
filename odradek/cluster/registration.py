"""The registration of a broker with its controllers: taking one back (UnregisterBroker)."""

from __future__ import annotations

from odradek.cluster.broker_requests import BrokerRequests, check
from odradek.protocol.messages.unregister_broker import UnregisterBrokerRequest, UnregisterBrokerResponse


def unregister_broker(requests: BrokerRequests, broker_id: int) -> None:
    """Have the controllers forget a broker; CommandError where they do not."""
    what = f"broker {broker_id}"
    answer = requests.ask(UnregisterBrokerRequest(broker_id=broker_id), UnregisterBrokerResponse, what)
    check(answer.error_code, answer.error_message, what)
