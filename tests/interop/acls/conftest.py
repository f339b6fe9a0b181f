"""Both brokers, with an authorizer, the same users and the same ACLs: of odradek a node that is alone, and one that
hands requests on to the controller of its cluster, as Apache Kafka's does."""

from collections.abc import Iterator

import pytest

from tests.interop.acls.world import SETTINGS, Side
from tests.support.ports import free_ports
from tests.support.sasl_brokers import SaslBroker

Pair = tuple[Side, Side]
Sides = tuple[Side, Side, Side]


def _in_cluster(broker: SaslBroker) -> SaslBroker:
    """Make a node a broker with the controller of its cluster in the same process."""
    (port,) = free_ports(1)
    settings = broker.process.overrides
    broker.process.overrides = {
        **settings,
        "process.roles": "broker,controller",
        "controller.listener.names": "CONTROLLER",
        "listeners": f"{settings['listeners']},CONTROLLER://127.0.0.1:{port}",
        "listener.security.protocol.map": f"{settings['listener.security.protocol.map']},CONTROLLER:PLAINTEXT",
        "controller.quorum.voters": f"1@127.0.0.1:{port}",
        **dict.fromkeys(("offsets.topic.replication.factor", "transaction.state.log.replication.factor"), "1"),
        "transaction.state.log.min.isr": "1",
    }
    return broker


@pytest.fixture(params=["alone", "in a cluster"])
def sides(all_sides: Sides, request: pytest.FixtureRequest) -> Pair:
    """Apache Kafka, and a node of odradek."""
    kafka, alone, member = all_sides
    return kafka, alone if request.param == "alone" else member


@pytest.fixture(scope="package")
def all_sides(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sides]:
    """The nodes; everybody who comes in by PLAINTEXT is a super user."""
    directory = tmp_path_factory.mktemp("acls")
    brokers = [SaslBroker(directory / name, name == "kafka", SETTINGS) for name in ("kafka", "alone", "member")]
    brokers[-1] = _in_cluster(brokers[-1])
    sides: list[Side] = []
    try:
        for broker in brokers:
            broker.process.start()
        for broker in brokers:
            sides.append(Side(broker))
            sides[-1].prepare()
        kafka, alone, member = sides
        yield kafka, alone, member
    finally:
        for side in sides:
            side.close()
        for broker in brokers:
            broker.process.discard()
