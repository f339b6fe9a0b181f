"""Making topics for tests, without a Kafka client."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Final
from uuid import uuid4

from odradek.client.connection import BrokerConnection
from odradek.client.login import login_of, uses_tls
from odradek.client.tls import tls_context
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from odradek.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse

CLIENT_ID: Final = "odradek-testing"
TIMEOUT_S: Final = 30.0
PAUSE_S: Final = 0.01


def fresh_name() -> str:
    """Return a name that no topic has."""
    return f"test-{uuid4().hex[:12]}"


def create_topic(
    address: tuple[str, int],
    name: str,
    partitions: int,
    configs: Mapping[str, str],
    client: Mapping[str, str] | None = None,
) -> None:
    """Make a topic, and wait until all of its partitions have leaders; `client` are settings by librdkafka's names.

    Raises:
        RuntimeError: the broker refuses it; the message says why.
        odradek.client.errors.ClientError: it does not answer.
    """
    settings = client or {}
    tls = tls_context(settings) if uses_tls(settings) else None
    connection = BrokerConnection(address, CLIENT_ID, TIMEOUT_S, tls, login_of(settings))
    try:
        topic = CreatableTopic(
            name=name,
            num_partitions=partitions,
            replication_factor=-1,
            configs=[CreatableTopicConfig(name=key, value=value) for key, value in configs.items()],
        )
        [result] = connection.ask(CreateTopicsRequest(topics=[topic]), CreateTopicsResponse).topics
        if result.error_code:
            code = ErrorCode(result.error_code).name
            raise RuntimeError(f"topic {name} cannot be made: {result.error_message or code} ({code})")
        deadline = time.monotonic() + TIMEOUT_S
        while not _has_leaders(connection, name, partitions):
            if time.monotonic() > deadline:
                raise RuntimeError(f"topic {name} has no leaders after {TIMEOUT_S:g} s")
            time.sleep(PAUSE_S)
    finally:
        connection.close()


def _has_leaders(connection: BrokerConnection, name: str, partitions: int) -> bool:
    request = MetadataRequest(topics=[MetadataRequestTopic(name=name)], allow_auto_topic_creation=False)
    [topic] = connection.ask(request, MetadataResponse).topics
    led = [one for one in topic.partitions if one.leader_id >= 0 and not one.error_code]
    return not topic.error_code and len(led) == partitions
