"""odradek cluster."""

from tests.integration.cli import Cli


def test_status_of_a_single_broker(cli: Cli, topic: str) -> None:
    """It leads what it has, nothing is wrong, and its directory is told."""
    cli("topics", "create", topic, "-p", "2")
    found = cli("cluster", "status", "--json").json
    [broker] = found["brokers"]
    assert (broker["broker"], broker["fenced"], broker["problem"]) == (1, False, None)
    assert broker["leaders"] == broker["replicas"] == broker["in_sync"] == found["partitions"]["total"] >= 2
    [directory] = broker["directories"]
    assert (directory["error"], directory["replicas"]) == (None, broker["replicas"])
    assert found["controller"] == 1
    assert found["troubled"] == found["followers"] == []


def test_status_for_people(cli: Cli, topic: str) -> None:
    """One line says whether all is well, and the tables stand under their titles."""
    cli("topics", "create", topic)
    shown = cli("cluster", "status")
    assert shown.lines[0].endswith(", active controller 1")
    assert shown.lines[1].endswith("all replicas in sync")
    assert [line for line in shown.lines if line in ("Brokers", "Directories", "Partitions in trouble")] == [
        "Brokers",
        "Directories",
    ]


def test_no_partition_of_a_single_broker_is_in_trouble(cli: Cli, topic: str) -> None:
    """Describing only those says so, and is no error."""
    cli("topics", "create", topic)
    described = cli("topics", "describe", "--under-replicated", "--unavailable")
    assert (described.code, described.output) == (0, b"")
    assert described.error == "no partition is under replicated or offline\n"
    assert cli("topics", "describe", topic, "--under-min-isr", "--json").json == {"topics": []}
