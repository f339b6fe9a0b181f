"""odradek exporter: what it tells of a cluster is what its broker tells itself."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from odradek.metrics.table_cluster import CLUSTER
from tests.conftest import AGAINST_APACHE_KAFKA
from tests.integration.cli import Cli
from tests.integration.test_metrics import Monitored, consume, produce
from tests.support.broker import REPOSITORY
from tests.support.scraped import Scraped, get, scrape
from tests.support.waiting import eventually

pytestmark = pytest.mark.skipif(AGAINST_APACHE_KAFKA, reason="it is compared with the pages of odradek")

NAMES = {one.name for one in CLUSTER}


@contextmanager
def exporter(bootstrap: str, *options: str) -> Iterator[str]:
    """Run the command on a free port, and give its address."""
    command = [sys.executable, "-P", "-m", "odradek", "exporter", "--json", "--listen", "127.0.0.1:0", "-b", bootstrap]
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    with subprocess.Popen([*command, *options], stdout=subprocess.PIPE, env=environment) as process:
        assert process.stdout is not None
        try:
            url = json.loads(b"".join(iter(process.stdout.readline, b"}\n")) + b"}")["url"]
            yield url.removeprefix("http://").removesuffix("/metrics")
        finally:
            process.terminate()
            assert process.wait(60) == 0


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Monitored]:
    """A broker with topics and groups."""
    process = Monitored(tmp_path_factory.mktemp("exported"), num_partitions="3")
    process.start()
    produce(process.bootstrap, "orders", 90)
    produce(process.bootstrap, "other", 30)
    consume(process.bootstrap, "orders", "billing", 40)
    consume(process.bootstrap, "other", "shipping", 30)
    yield process
    process.stop()


def of_cluster(page: Scraped) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    """Return the values with names of kafka_exporter."""
    return {key: value for key, value in page.values.items() if key[0] in NAMES}


def test_tells_what_the_broker_tells(broker: Monitored) -> None:
    """All of it, and nothing else."""
    with exporter(broker.bootstrap) as address:
        told = scrape(address)
        own = scrape(broker.http)
    assert told.names - NAMES <= {name for name in told.names if name.startswith("process_")}
    assert of_cluster(told) == of_cluster(own)
    assert told.value("kafka_consumergroup_current_offset_sum", consumergroup="billing", topic="orders") == 40
    assert told.value("kafka_consumergroup_lag_sum", consumergroup="shipping", topic="other") == 0


def test_only_what_is_asked_for_is_told(broker: Monitored) -> None:
    """By expressions that a whole name has to match."""
    with exporter(broker.bootstrap, "--topics", "or.*", "--groups", "bill|shipping") as address:
        told = scrape(address)
    labels = {label for _, labels in told.values for label in labels}
    assert {value for label, value in labels if label == "topic"} <= {"orders", "other"}
    assert told.value("kafka_topic_partitions", topic="orders") == 3
    assert {value for label, value in labels if label == "consumergroup"} == {"shipping"}


def test_broker_that_is_away_is_said_and_comes_back(broker: Monitored, tmp_path: Path) -> None:
    """Prometheus sees that it failed; the command goes on."""
    process = Monitored(tmp_path)
    process.start()
    try:
        with exporter(process.bootstrap) as address:
            assert scrape(address).value("kafka_brokers") == 1
            process.stop()
            assert get(address, "/metrics")[0] == 503
            process.start()
            eventually(lambda: get(address, "/metrics")[0] == 200, "the exporter to reach the broker again")
    finally:
        process.discard()


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (("--listen", "nowhere"), "expected host:port"),
        (("--groups", "("), "--groups (: missing )"),
        (("--listen", "192.0.2.1:1"), "--listen 192.0.2.1:1: "),
    ],
)
def test_arguments_that_cannot_be_used_are_refused(cli: Cli, options: tuple[str, ...], reason: str) -> None:
    """In one sentence."""
    failed = cli("exporter", *options)
    assert failed.code != 0
    assert reason in failed.error
