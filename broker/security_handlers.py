"""The handlers about who may log in, who may do what, and who may take how much: of a broker and of a controller.

Part of the composition root, as `broker_handlers` and `controller_handlers` are, and made as late.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop

    from odradek.broker.controller.controller import Controller
    from odradek.broker.handlers.acls import AclHandlers
    from odradek.broker.handlers.client_quotas import ClientQuotaHandlers
    from odradek.broker.handlers.converting import Converter
    from odradek.broker.handlers.delegation_tokens import DelegationTokenHandlers
    from odradek.broker.handlers.sasl import SaslHandlers
    from odradek.broker.handlers.scram_users import ScramUserHandlers
    from odradek.broker.metadata.source import MetadataImages
    from odradek.broker.runtime.clock import Clock
    from odradek.config.settings import BrokerSettings


class SecurityServices(Protocol):
    """What they are built from: the services of either role."""

    @property
    def loop(self) -> AbstractEventLoop: ...

    @property
    def clock(self) -> Clock: ...

    @property
    def settings(self) -> BrokerSettings: ...

    @property
    def metadata(self) -> MetadataImages: ...

    @property
    def controller(self) -> Controller | None:
        """What changes the metadata; None where requests to do so are handed on."""


class SecurityHandlers:
    """Made when they are first asked for."""

    def __init__(self, services: SecurityServices, converter: Callable[[], Converter]) -> None:
        self._services = services
        self._converter = converter

    @cached_property
    def sasl(self) -> SaslHandlers:
        """Of who says late who it is."""
        from odradek.broker.handlers.sasl import SaslHandlers

        return SaslHandlers()

    @cached_property
    def tokens(self) -> DelegationTokenHandlers:
        """Of delegation tokens."""
        from odradek.broker.controller.delegation_tokens import TokenLifetimes
        from odradek.broker.handlers.delegation_tokens import DelegationTokenHandlers
        from odradek.broker.metadata.token_secrets import secrets_of
        from odradek.protocol.uuids import random_uuid

        services, settings = self._services, self._services.settings
        return DelegationTokenHandlers(
            services.metadata,
            services.controller,
            secrets_of(settings),
            TokenLifetimes(settings.delegation_token_max_lifetime_ms, settings.delegation_token_expiry_time_ms),
            services.clock,
            random_uuid,
        )

    @cached_property
    def scram_users(self) -> ScramUserHandlers:
        """Of users of SCRAM."""
        from odradek.broker.handlers.scram_users import ScramUserHandlers

        services = self._services
        return ScramUserHandlers(services.loop, services.metadata, services.controller, self._converter)

    @cached_property
    def acls(self) -> AclHandlers:
        """Of ACLs."""
        from odradek.broker.handlers.acls import AclHandlers

        services = self._services
        is_on = services.settings.authorization.is_on
        return AclHandlers(services.loop, services.metadata, services.controller, self._converter, is_on=is_on)

    @cached_property
    def client_quotas(self) -> ClientQuotaHandlers:
        """Of quotas of clients."""
        from odradek.broker.handlers.client_quotas import ClientQuotaHandlers

        services = self._services
        return ClientQuotaHandlers(services.loop, services.metadata, services.controller, self._converter())
