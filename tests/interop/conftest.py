"""An Apache Kafka that tests share which are in one worker and need no settings of their own."""

from collections.abc import Iterator

import pytest

from tests.support.broker import ApacheKafkaProcess


@pytest.fixture(scope="session")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApacheKafkaProcess]:
    """A running Apache Kafka; each test has topics of its own."""
    process = ApacheKafkaProcess(tmp_path_factory.mktemp("kafka"))
    try:
        process.start()
        yield process
    finally:
        process.discard()
