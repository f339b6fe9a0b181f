"""Both brokers, with an authorizer, the same users and the same ACLs."""

from collections.abc import Iterator

import pytest

from tests.interop.acls.world import SETTINGS, Side
from tests.support.sasl_brokers import SaslBroker

Pair = tuple[Side, Side]


@pytest.fixture(scope="package")
def sides(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    """Both brokers; everybody who comes in by PLAINTEXT is a super user."""
    directory = tmp_path_factory.mktemp("acls")
    brokers = [SaslBroker(directory / name, name == "kafka", SETTINGS) for name in ("kafka", "odradek")]
    sides: list[Side] = []
    try:
        for broker in brokers:
            broker.process.start()
        for broker in brokers:
            sides.append(Side(broker))
            sides[-1].prepare()
        kafka, odradek = sides
        yield kafka, odradek
    finally:
        for side in sides:
            side.close()
        for broker in brokers:
            broker.process.discard()
