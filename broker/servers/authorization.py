"""The gate of a role, made of the settings: imported only where there is an authorizer or an audit log.

A broker and the controller of the same process have one each: their rules differ, and they see the metadata at
different moments.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from odradek.broker.authorization.access import Authorizer
from odradek.broker.authorization.asking import World
from odradek.broker.authorization.reading import Readers
from odradek.broker.authorization.refusal_log import RefusalLog
from odradek.broker.authorization.rules import CONTROLLER_RULES, RULES, Rule
from odradek.broker.authorization.standard_authorizer import StandardAuthorizer
from odradek.broker.dispatch.dispatcher import RequestGate
from odradek.broker.dispatch.gate import ChangesGate, Gate, everybody
from odradek.broker.metadata.source import MetadataImages
from odradek.broker.runtime.audit import configure_audit
from odradek.config.settings import BrokerSettings
from odradek.protocol.registry import ApiKey


class Authorization(NamedTuple):
    """What asks who may."""

    gate: RequestGate
    authorizing: Gate | None
    """The part of it that authorises; None where everybody may do everything."""
    readers: Readers | None
    """What the handler of Fetch asks; likewise."""


def authorization_of_broker(settings: BrokerSettings, metadata: MetadataImages) -> Authorization:
    """Return the gate of a broker's listeners.

    Raises:
        OSError: the audit log cannot be opened.
    """
    world = World(lambda: metadata.image, settings.auto_create_topics_enable)
    return _authorization(settings, metadata, RULES, world)


def authorization_of_controller(settings: BrokerSettings, metadata: MetadataImages) -> Authorization:
    """Return the gate of a controller's listeners; raises what that of a broker does."""
    return _authorization(settings, metadata, CONTROLLER_RULES, World(lambda: metadata.image))


def _authorization(
    settings: BrokerSettings, metadata: MetadataImages, rules: Mapping[ApiKey, Rule], world: World
) -> Authorization:
    wanted = settings.authorization
    audit = configure_audit(wanted.audit_log)
    authorizing = readers = None
    gate: RequestGate | None = None
    if wanted.is_on:
        decides = StandardAuthorizer(metadata.image.acls, wanted.super_users, allow_without=wanted.allow_without)
        authorizer = Authorizer(decides)
        metadata.watch(lambda _old, new, _delta: authorizer.follow(new.acls))
        refusals = RefusalLog()
        gate = authorizing = Gate(authorizer, rules, world, refusals)
        readers = Readers(authorizer, world, refusals)
    if audit.has_file or gate is None:
        behind, may_write = (everybody, None) if gate is None else (gate.admit, gate.may_write)
        gate = ChangesGate(behind, world.image, may_write)
    return Authorization(gate, authorizing, readers)
