"""The quotas of clients in force: followed in the metadata, and put before requests and connections.

What enforces them is imported and made when the first quota is there, or when a handler asks for it: most brokers have
none. Names of hosts in quotas are looked up on a thread.
"""

from __future__ import annotations

from asyncio import AbstractEventLoop, Future
from collections.abc import Callable, Collection, Mapping
from functools import cached_property
from typing import TYPE_CHECKING

from odradek.broker.dispatch.dispatcher import Dispatcher
from odradek.broker.metadata.client_quotas import CONNECTION_CREATION_RATE, ClientQuotas
from odradek.broker.metadata.image import ImageDelta, MetadataImage
from odradek.broker.metadata.source import MetadataImages
from odradek.broker.runtime.clock import Clock
from odradek.broker.runtime.logging import get_logger
from odradek.broker.servers.host import ServerNetwork
from odradek.config.settings import BrokerSettings
from odradek.protocol.registry import ApiKey

if TYPE_CHECKING:
    from odradek.broker.dispatch.throttling import Throttling
    from odradek.broker.quotas.addresses import ConnectionRates
    from odradek.broker.quotas.enforcement import ClientQuotaEnforcement
    from odradek.broker.quotas.rates import Windows

log = get_logger("quotas")


class ClientLimits:
    """Follows the quotas of the metadata."""

    def __init__(
        self, loop: AbstractEventLoop, settings: BrokerSettings, clock: Clock, forwarded: Collection[ApiKey] = ()
    ) -> None:
        """`forwarded` are the APIs that a controller answers."""
        self._loop = loop
        self._settings = settings
        self._clock = clock
        self._forwarded = forwarded
        self._quotas: ClientQuotas | None = None
        self._dispatcher: Dispatcher
        self._network: ServerNetwork

    @cached_property
    def enforcement(self) -> ClientQuotaEnforcement:
        """What requests ask."""
        from odradek.broker.quotas.enforcement import ClientQuotaEnforcement
        from odradek.broker.quotas.rates import Windows

        settings = self._settings
        controller = Windows(settings.controller_quota_window_num, settings.controller_quota_window_size_seconds)
        return ClientQuotaEnforcement(self._windows, controller, self._now_ms)

    @cached_property
    def _windows(self) -> Windows:
        from odradek.broker.quotas.rates import Windows

        return Windows(self._settings.quota_window_num, self._settings.quota_window_size_seconds)

    @cached_property
    def _throttling(self) -> Throttling:
        from odradek.broker.dispatch.throttling import Throttling

        return Throttling(self.enforcement, self._forwarded)

    @cached_property
    def _connection_rates(self) -> ConnectionRates:
        from odradek.broker.quotas.addresses import ConnectionRates

        return ConnectionRates(self._windows, self._now_ms)

    def begin(self, metadata: MetadataImages, dispatcher: Dispatcher, network: ServerNetwork) -> None:
        """Put the quotas of the metadata before these, from now on."""
        self._dispatcher = dispatcher
        self._network = network
        metadata.watch(self._on_metadata)
        if metadata.image.client_quotas:
            self._follow(metadata.image.client_quotas)

    def _on_metadata(self, old: MetadataImage, new: MetadataImage, _delta: ImageDelta) -> None:
        if new.client_quotas is not old.client_quotas:
            self._follow(new.client_quotas)

    def _follow(self, quotas: ClientQuotas) -> None:
        from odradek.broker.quotas.precedence import limits_of_addresses
        from odradek.broker.runtime.addresses import literal_address

        self._quotas = quotas
        self.enforcement.follow(quotas)
        self._throttling.follow()
        self._dispatcher.throttle(self._throttling if self.enforcement.is_active else None)
        limits = limits_of_addresses(quotas, CONNECTION_CREATION_RATE)
        of_others = limits.pop(None, None)
        known: dict[str, float] = {}
        hosts: dict[str, float] = {}
        for name, limit in limits.items():
            if name is not None:
                address = literal_address(name)
                (hosts if address is None else known)[address or name] = limit
        self._limit_connections(known, of_others)
        if hosts:
            self._look_up(quotas, hosts, lambda found: self._limit_connections({**found, **known}, of_others))

    def _look_up(
        self, quotas: ClientQuotas, hosts: Mapping[str, float], use: Callable[[Mapping[str, float]], None]
    ) -> None:
        """Let a thread look up hosts; `use` their addresses, unless the quotas are others by then."""
        from odradek.broker.runtime.addresses import look_up

        def addresses() -> dict[str, float]:
            found: dict[str, float] = {}
            for host, limit in hosts.items():
                address = look_up(host)
                if address is None:
                    log.warning("a quota is for a host that has no address: it limits nobody", host=host)
                else:
                    found[address] = limit
            return found

        def done(future: Future[dict[str, float]]) -> None:
            if self._quotas is quotas:
                use(future.result())

        self._loop.run_in_executor(None, addresses).add_done_callback(done)

    def _limit_connections(self, limits: Mapping[str, float], of_others: float | None) -> None:
        if not limits and of_others is None and "_connection_rates" not in self.__dict__:
            return
        rates = self._connection_rates
        rates.follow(limits, of_others)
        self._network.limit_connection_rates(rates if rates.is_active else None)

    def _now_ms(self) -> float:
        return self._clock.monotonic() * 1000
