"""Whose configs a controller changes."""

import pytest

from odradek.broker.controller.controller import Controller
from odradek.broker.controller.controller_view import registered_brokers
from odradek.broker.metadata.broker_configs import BrokerConfigs
from odradek.broker.metadata.image import ConfigResource, ResourceType
from odradek.config.alter import ConfigChange, alter
from odradek.protocol.errors import ErrorCode, KafkaError
from tests.support.deferred import now
from tests.unit.broker.controller.cluster import cluster
from tests.unit.broker.metadata.support import NODE, ONE_BROKER, RULES, MemorySource


@pytest.mark.parametrize(
    ("configures_all", "name", "code"),
    [(True, "1", None), (True, "7", 102), (True, str(NODE), None), (False, "7", 42), (True, "x", 42)],
)
def test_a_controller_keeps_the_configs_of_its_brokers_and_a_single_node_its_own(
    configures_all: bool, name: str, code: ErrorCode | None
) -> None:
    """Those that have registered, and the controller; a broker that is alone refuses that of another."""
    source = MemorySource(cluster())
    brokers = registered_brokers if configures_all else ONE_BROKER
    configs = BrokerConfigs(source, NODE, {})
    controller = Controller(source, RULES, configs, brokers, configures_all=configures_all)
    resource = ConfigResource(ResourceType.BROKER, name)
    changes = [ConfigChange("log.cleaner.threads", 0, "2")]
    (refused,) = now(controller.alter_configs([(resource, lambda target, current: alter(target, current, changes))]))
    assert (refused.code if isinstance(refused, KafkaError) else None) == code
    assert source.image.config(*resource) == ({} if code else {"log.cleaner.threads": "2"})
