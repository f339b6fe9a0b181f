"""The project's controller decides as Apache Kafka's does: the same events, the same answers, the same records.

Both are started once, each with a new cluster of the same features, and asked the same over their sockets; brokers are
played by the test. First the cluster is one without eligible leader replicas (KIP-966), then one with all that Kafka
4.3 has.
"""

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor

import pytest

from odradek.broker.metadata.features import NEW_CLUSTER
from tests.interop.controllers.scenarios import BEFORE, SCENARIOS
from tests.interop.controllers.talk import Talk
from tests.interop.differential.compare import differences, summary
from tests.interop.differential.normalise import Comparable
from tests.support.cluster import FIRST_CONTROLLER, ApacheKafkaControllers
from tests.support.cluster_nodes import CONTROLLER_ID, OdradekController

pytestmark = [pytest.mark.interop, pytest.mark.xdist_group("controllers"), pytest.mark.timeout(300)]

SETTINGS = {"broker.session.timeout.ms": "4000"}
NOT_GIVEN_UP = ("share.version", "streams.version")
"""Features that a new cluster of Kafka 4.3 has, and a new one of this project has not."""

BEGINNING = "the beginning"
STAGES = {"before": BEFORE, "latest": SCENARIOS}
NAMES = [BEGINNING, *(f"{stage}: {name}" for stage, scenarios in STAGES.items() for name in scenarios)]

Steps = Mapping[str, Comparable]
Played = Mapping[str, tuple[Steps, Steps]]


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Played]:
    """All scenarios, by name: the steps of Apache Kafka's controller, and of ours."""
    kafka = ApacheKafkaControllers(tmp_path_factory.mktemp("kafka"), 1, SETTINGS)
    kafka.features = {**NEW_CLUSTER, **dict.fromkeys(NOT_GIVEN_UP, 0)}
    odradek = OdradekController(tmp_path_factory.mktemp("odradek"), SETTINGS)
    try:
        with ThreadPoolExecutor(2) as threads:
            list(threads.map(lambda start: start(), (kafka.start, odradek.start)))
            talks = (
                Talk(kafka.ports[0], FIRST_CONTROLLER, kafka.cluster_id),
                Talk(odradek.port, CONTROLLER_ID, odradek.cluster_id),
            )
            theirs, ours = threads.map(_play_all, talks)
        yield {name: (theirs[name], ours[name]) for name in theirs}
    finally:
        kafka.discard()
        odradek.discard()


def _play_all(talk: Talk) -> dict[str, Steps]:
    steps: dict[str, Steps] = {BEGINNING: talk.begin()}
    for stage, scenarios in STAGES.items():
        for name, scenario in scenarios.items():
            scenario(talk)
            steps[f"{stage}: {name}"] = talk.finish()
    talk.close()
    return steps


@pytest.mark.parametrize("name", NAMES)
def test_answers_and_records_equal_those_of_apache_kafka(played: Played, name: str) -> None:
    """Every field of every answer and every record, in order, but for ids and replicas that are chosen by chance."""
    theirs, ours = played[name]
    found = differences(theirs, ours)
    if found:
        answers = {each.answer for each in found}
        pytest.fail(f"{len(answers)} of {len(theirs)} steps differ:\n{summary(found)}", pytrace=False)
