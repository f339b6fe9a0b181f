"""Apache Kafka's own Java clients of before 2.1, which Kafka 4 no longer serves, unmodified and with their defaults."""

import subprocess
from pathlib import Path

import pytest

from tests.conftest import AGAINST_APACHE_KAFKA
from tests.support.broker import BrokerProcess
from tests.support.kafka_jars import OLD_CLIENTS, ensure_client_jars

pytestmark = [
    pytest.mark.interop,
    pytest.mark.skipif(AGAINST_APACHE_KAFKA, reason="Apache Kafka 4 dropped these clients"),
]

PROGRAM = Path(__file__).parent / "clients" / "OldClient.java"
TIMEOUT_S = 60
RECORDS = 1_000
CASES = list(zip(OLD_CLIENTS, ["lz4", "gzip", "none"], strict=True))


@pytest.mark.parametrize(("version", "codec"), CASES)
def test_an_old_java_client_produces_reads_and_commits(
    broker: BrokerProcess, topic: str, version: str, codec: str
) -> None:
    """Every record once, the second half by a member that goes on where the first one committed."""
    jars = ensure_client_jars(version)
    quick = ["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto", "-Xmx128m"]
    command = ["java", *quick, "-cp", f"{jars}/*", str(PROGRAM), broker.bootstrap, topic, codec, str(RECORDS)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    assert done.returncode == 0, done.stderr
    expected = [f"{number}\tkey {number}\tvalue {number}" for number in range(2 * RECORDS)]
    assert done.stdout.splitlines() == expected
