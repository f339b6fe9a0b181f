"""What the broker's settings, and the configs of a single group, say to the machines.

Must not know: the machines. Configs of a group (KIP-848) win over those of the broker, within the bounds that the
broker's set.
"""

from __future__ import annotations

from collections.abc import Mapping

from odradek.broker.groups.classic.values import ClassicGroupLimits
from odradek.broker.groups.consumer.settings import ConsumerGroupSettings
from odradek.config.settings import BrokerSettings

SESSION_TIMEOUT = "consumer.session.timeout.ms"
HEARTBEAT_INTERVAL = "consumer.heartbeat.interval.ms"
ASSIGNMENT_INTERVAL = "consumer.assignment.interval.ms"

_UPGRADES = ("upgrade", "bidirectional")
_DOWNGRADES = ("downgrade", "bidirectional")


def classic_limits(settings: BrokerSettings) -> ClassicGroupLimits:
    """Return what holds for classic groups."""
    return ClassicGroupLimits(
        min_session_timeout_ms=settings.group_min_session_timeout_ms,
        max_session_timeout_ms=settings.group_max_session_timeout_ms,
        max_size=settings.group_max_size,
        initial_rebalance_delay_ms=settings.group_initial_rebalance_delay_ms,
    )


def consumer_settings(settings: BrokerSettings) -> ConsumerGroupSettings:
    """Return what holds for groups of the consumer protocol that have no configs of their own."""
    policy = settings.group_consumer_migration_policy.lower()
    return ConsumerGroupSettings(
        max_size=settings.group_consumer_max_size,
        session_timeout_ms=settings.group_consumer_session_timeout_ms,
        heartbeat_interval_ms=settings.group_consumer_heartbeat_interval_ms,
        assignors=settings.group_consumer_assignors,
        assignment_interval_ms=settings.group_consumer_assignment_interval_ms,
        regex_refresh_interval_ms=settings.group_consumer_regex_refresh_interval_ms,
        may_upgrade=policy in _UPGRADES,
        may_downgrade=policy in _DOWNGRADES,
        max_classic_size=settings.group_max_size,
    )


def with_configs(
    common: ConsumerGroupSettings, configs: Mapping[str, str], settings: BrokerSettings
) -> ConsumerGroupSettings:
    """Return what holds for a group with configs of its own; `common` if it has none."""
    if not configs:
        return common

    def chosen(key: str, default: int, least: int, most: int) -> int:
        text = configs.get(key)
        return default if text is None else min(max(int(text), least), most)

    return common._replace(
        session_timeout_ms=chosen(
            SESSION_TIMEOUT,
            common.session_timeout_ms,
            settings.group_consumer_min_session_timeout_ms,
            settings.group_consumer_max_session_timeout_ms,
        ),
        heartbeat_interval_ms=chosen(
            HEARTBEAT_INTERVAL,
            common.heartbeat_interval_ms,
            settings.group_consumer_min_heartbeat_interval_ms,
            settings.group_consumer_max_heartbeat_interval_ms,
        ),
        assignment_interval_ms=chosen(
            ASSIGNMENT_INTERVAL,
            common.assignment_interval_ms,
            settings.group_consumer_min_assignment_interval_ms,
            settings.group_consumer_max_assignment_interval_ms,
        ),
    )
