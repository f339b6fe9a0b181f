"""One request over a connection of our own, for what librdkafka cannot ask. PLAINTEXT listeners only.

Versions are chosen by the caller, of those before the flexible ones: every broker in use has them.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from typing import TypeVar

from odradek.client.connection import BrokerConnection
from odradek.protocol.codec import Message
from odradek.protocol.registry import ApiKey

Answer = TypeVar("Answer", bound=Message)

TIMEOUT_S = 5.0
CLIENT_ID = "odradek"


def can_ask(settings: Mapping[str, str]) -> bool:
    """Tell whether a broker that clients with these settings talk to can be asked."""
    return settings.get("security.protocol", "plaintext").lower() == "plaintext"


def ask(
    host: str, port: int, api: ApiKey, version: int, request: Message, answer: type[Answer], timeout: float = TIMEOUT_S
) -> Answer:
    """Send one request to a broker and return its answer; ClientError where there is none."""
    with closing(BrokerConnection((host, port), CLIENT_ID, timeout)) as connection:
        return connection.call(api, version, request, answer)
