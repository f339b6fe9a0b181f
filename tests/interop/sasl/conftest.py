"""Both brokers, with SASL listeners and the same users."""

from collections.abc import Iterator

import pytest

from tests.interop.sasl.conversations import SCRAM_PASSWORD
from tests.support.sasl_brokers import MECHANISMS, SaslBroker
from tests.support.scram_users import set_scram_password

Pair = tuple[SaslBroker, SaslBroker]


@pytest.fixture(scope="package")
def brokers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    """Both brokers, with the same users."""
    directory = tmp_path_factory.mktemp("sasl")
    tokens = {"delegation.token.secret.key": "master"}
    pair = tuple(SaslBroker(directory / name, name == "kafka", tokens) for name in ("kafka", "odradek"))
    kafka, odradek = pair
    try:
        for broker in pair:
            broker.process.start()
            for mechanism in MECHANISMS[1:]:
                set_scram_password(broker.process.bootstrap, "carol", SCRAM_PASSWORD, mechanism)
        yield kafka, odradek
    finally:
        for broker in pair:
            broker.process.discard()
