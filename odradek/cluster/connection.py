"""From addresses and client settings to a cluster that answers."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeAlias

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer
from confluent_kafka.admin import AdminClient, ClusterMetadata

from odradek.cluster.client_settings import refusal
from odradek.cluster.errors import REFUSALS, not_let_in
from odradek.cluster.reaching import CONNECT_TIMEOUT_S, check_reachable, parse_addresses
from odradek.terminal.errors import CommandError, WrongUsageError

if TYPE_CHECKING:
    from odradek.cluster.broker_requests import Address, BrokerRequests

METADATA_TIMEOUT_S = 5.0
METADATA_STEP_S = 0.25
"""The first time that an answer is waited for; after that it is looked why there was none, and waited twice as long."""

Settings: TypeAlias = Mapping[str, Any]
NONE: Settings = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class ClusterClients:
    """A cluster to talk to.

    `settings` are librdkafka's, for clients of every kind. `log` takes what librdkafka logs, which is for those who ask
    for it: everything that matters arrives as an error.
    """

    bootstrap: str
    settings: Mapping[str, str]
    log: logging.Logger
    refusals: list[KafkaError] = field(default_factory=list)
    """Why brokers do not let the admin client in, as far as it was told."""
    _admin: list[AdminClient] = field(default_factory=list)
    _requests: list[BrokerRequests] = field(default_factory=list)

    @property
    def admin(self) -> AdminClient:
        """The one admin client, made when first needed."""
        if not self._admin:
            try:
                settings: dict[str, Any] = {**self.settings, "error_cb": self._on_error}
                self._admin.append(AdminClient(settings, logger=self.log))
            except (KafkaException, TypeError, ValueError) as refused:
                raise _cannot_use(refused) from refused
        return self._admin[0]

    @property
    def requests(self) -> BrokerRequests:
        """What librdkafka cannot be asked."""
        if not self._requests:
            from odradek.cluster.broker_requests import BrokerRequests  # many commands need none of it

            self._requests.append(BrokerRequests(self.settings, self._addresses))
        return self._requests[0]

    def close(self) -> None:
        """Close what librdkafka does not close by itself."""
        for requests in self._requests:
            requests.close()

    def producer(self, settings: Settings, defaults: Settings = NONE) -> Producer:
        """Return a new producer; its settings go before those of the cluster's file, its defaults after them."""
        try:
            return Producer({**defaults, **self.settings, **settings}, logger=self.log)
        except (KafkaException, TypeError, ValueError) as refused:
            raise _cannot_use(refused) from refused

    def consumer(self, settings: Settings, defaults: Settings = NONE) -> Consumer:
        """Return a new consumer; its settings go before those of the cluster's file, its defaults after them."""
        try:
            return Consumer({**defaults, **self.settings, **settings}, logger=self.log)
        except (KafkaException, TypeError, ValueError) as refused:
            raise _cannot_use(refused) from refused

    def metadata(self, timeout_s: float = METADATA_TIMEOUT_S) -> ClusterMetadata:
        """Return brokers, topics and partitions; CommandError where the cluster does not answer or let us in."""
        deadline = time.monotonic() + timeout_s
        step_s = METADATA_STEP_S
        while True:
            try:
                return self.admin.list_topics(timeout=step_s)
            except KafkaException as silent:
                self.admin.poll(0)  # calls back with what it was refused for
                if self.refusals:
                    raise CommandError(not_let_in(self.refusals[0], self.bootstrap)) from silent
                if time.monotonic() >= deadline:
                    raise CommandError(
                        f"{self.bootstrap} takes connections but does not answer as a Kafka broker within "
                        f"{timeout_s:g} seconds; is it one, and does --command-config fit its listener?"
                    ) from silent
                # A cluster of ten thousand topics takes a second to tell of them, and each time is asked anew.
                step_s = min(2 * step_s, max(METADATA_STEP_S, deadline - time.monotonic()))

    def _addresses(self) -> list[Address]:
        """Return where brokers are reached, the one that the cluster calls its controller first."""
        found = self.metadata()
        brokers = sorted(found.brokers.values(), key=lambda broker: (broker.id != found.controller_id, broker.id))
        return [(str(broker.host), broker.port) for broker in brokers]  # declared as if it had no host

    def _on_error(self, error: KafkaError) -> None:
        if error.code() in REFUSALS:
            self.refusals.append(error)


def connect(
    bootstrap: str, settings: Mapping[str, str], *, debug: bool = False, timeout_s: float = METADATA_TIMEOUT_S
) -> ClusterClients:
    """Return the cluster at these addresses, for clients with these settings, which are librdkafka's.

    It has `timeout_s` seconds to answer.

    Raises:
        WrongUsageError: the addresses or the settings cannot be understood.
        CommandError: nothing listens there, or what does is no Kafka broker that lets us in.
    """
    addresses = parse_addresses(bootstrap)
    check_reachable(addresses, min(timeout_s, CONNECT_TIMEOUT_S))
    cluster = ClusterClients(
        bootstrap, {"client.id": "odradek", **settings, "bootstrap.servers": bootstrap}, _log(debug)
    )
    cluster.metadata(timeout_s)
    return cluster


def _log(debug: bool) -> logging.Logger:
    log = logging.getLogger("odradek.librdkafka")
    log.propagate = False
    log.handlers[:] = [logging.StreamHandler() if debug else logging.NullHandler()]
    return log


def _cannot_use(refused: Exception) -> WrongUsageError:
    reason = refused.args[0].str() if isinstance(refused, KafkaException) else str(refused)
    return WrongUsageError(refusal(reason))
