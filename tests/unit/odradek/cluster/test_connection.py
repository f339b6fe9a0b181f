"""Asking a cluster for its metadata."""

import logging
from typing import cast

import pytest
from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient, ClusterMetadata

from odradek.cluster.connection import METADATA_STEP_S, ClusterClients
from odradek.terminal.errors import CommandError


class SlowAdmin:
    """Answers only those who wait long enough, as a cluster of very many topics."""

    def __init__(self, needs_s: float) -> None:
        self.needs_s = needs_s
        self.waits: list[float] = []

    def list_topics(self, timeout: float) -> ClusterMetadata:
        self.waits.append(timeout)
        if timeout < self.needs_s:
            raise KafkaException(KafkaError(KafkaError._TRANSPORT))
        return ClusterMetadata()

    def poll(self, _: float) -> int:
        return 0


def _cluster(admin: SlowAdmin) -> ClusterClients:
    cluster = ClusterClients("127.0.0.1:1", {}, logging.getLogger("test"))
    cluster._admin.append(cast(AdminClient, admin))
    return cluster


def test_a_cluster_that_needs_its_time_is_waited_for() -> None:
    """Each time that there is no answer, the next one is waited for twice as long."""
    admin = SlowAdmin(1.0)
    _cluster(admin).metadata(60.0)
    assert admin.waits == [METADATA_STEP_S, 0.5, 1.0]


def test_nobody_is_waited_for_longer_than_was_said() -> None:
    """What does not answer at all is given up after the time, and no wait is longer than what is left of it."""
    admin = SlowAdmin(1000.0)
    with pytest.raises(CommandError, match="does not answer as a Kafka broker within 0"):
        _cluster(admin).metadata(0.0)
    assert admin.waits == [METADATA_STEP_S]
    with pytest.raises(CommandError, match=r"within 0\.001 seconds"):
        _cluster(admin).metadata(0.001)
    assert max(admin.waits) == METADATA_STEP_S
