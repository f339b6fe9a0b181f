"""odradek partitions, as far as a single broker goes."""

import json
from pathlib import Path

from tests.integration.cli import Cli


def test_a_plan_for_a_single_broker_is_what_there_is(cli: Cli, topic: str, tmp_path: Path) -> None:
    """There is nothing to move, and a plan that says so is carried out at once."""
    cli("topics", "create", topic)
    assert cli("partitions", "reassign", "plan", topic, "--json").json == {"version": 1, "partitions": []}
    planned = cli("partitions", "reassign", "plan", topic)
    assert (planned.code, planned.output, planned.error) == (0, b"", "the partitions are spread evenly already\n")
    path = tmp_path / "plan.json"
    path.write_text(json.dumps({"version": 1, "partitions": [{"topic": topic, "partition": 0, "replicas": [1]}]}))
    executed = cli("partitions", "reassign", "execute", str(path), "--json").json
    assert executed["partitions"] == [{"topic": topic, "partition": 0, "before": [1], "replicas": [1], "state": "done"}]
    assert cli("partitions", "reassign", "verify", str(path), "--json").json == {
        "partitions": [{"topic": topic, "partition": 0, "state": "done"}],
        "throttles_cleared": True,
    }
    assert cli("partitions", "reassign", "list", "--json").json == {"partitions": []}
    assert cli("partitions", "reassign", "cancel").error == "nothing is on its way\n"


def test_more_replicas_than_brokers_cannot_be_planned(cli: Cli, topic: str) -> None:
    """The sentence says which partition has too few."""
    cli("topics", "create", topic)
    refused = cli("partitions", "reassign", "plan", topic, "--replication-factor", "2")
    assert (refused.code, refused.error) == (
        1,
        f"odradek: partition 0 of {topic} is to have 2 replicas, and there are too few brokers for them\n",
    )


def test_who_leads_already_needs_no_election(cli: Cli, topic: str) -> None:
    """It is no error, and says so."""
    cli("topics", "create", topic)
    elected = cli("partitions", "elect", "--preferred", "--topic", topic)
    assert (elected.code, elected.error) == (0, "no election was needed\n")


def test_elections_have_to_be_asked_for_exactly(cli: Cli) -> None:
    """What may lose records is not done everywhere by accident."""
    for arguments in ([], ["--preferred", "--unclean"], ["--unclean"], ["--preferred", "--all", "--topic", "t"]):
        assert cli("partitions", "elect", *arguments).code == 2


def test_the_only_broker_cannot_be_drained(cli: Cli, topic: str) -> None:
    """There is nobody to take over; and a broker that runs is not unregistered by accident."""
    cli("topics", "create", topic)
    assert "too few brokers" in cli("cluster", "drain", "1").error
    assert cli("cluster", "drain", "7").error == "odradek: there is no broker 7; the cluster has 1\n"
    assert cli("cluster", "unregister", "1").error == "odradek: broker 1 runs; stop it first, or give --force\n"
