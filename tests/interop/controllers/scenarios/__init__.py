"""What is asked of both controllers, in this order; each begins without brokers and topics."""

from collections.abc import Callable, Mapping

from tests.interop.controllers.scenarios import brokers, partitions, quotas, topics
from tests.interop.controllers.talk import Talk

SCENARIOS: Mapping[str, Callable[[Talk], None]] = {
    scenario.__name__: scenario
    for scenario in (
        brokers.registrations,
        brokers.heartbeats,
        brokers.directories,
        brokers.cordons,
        brokers.stops,
        brokers.forgetting,
        brokers.producer_ids,
        brokers.controllers,
        partitions.isr,
        partitions.eligible_leaders,
        partitions.elections,
        partitions.reassignments,
        topics.creation,
        topics.configs,
        topics.unclean_by_config,
        topics.features,
        quotas.client_quotas,
        brokers.silence,
    )
}
BEFORE: Mapping[str, Callable[[Talk], None]] = {
    scenario.__name__: scenario
    for scenario in (
        topics.without_eligible_leaders,
        brokers.directories,
        brokers.stops,
        brokers.forgetting,
        partitions.isr,
        partitions.eligible_leaders,
        partitions.elections,
        partitions.reassignments,
        topics.upgrades,
    )
}
"""What is asked before, of a cluster that Kafka 4.0 can open, and without eligible leader replicas."""
