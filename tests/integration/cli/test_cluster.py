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


def test_info_of_a_single_broker(cli: Cli) -> None:
    """It is told who the cluster is, who is in it and what all of them can do."""
    found = cli("cluster", "info", "--json").json
    status = cli("cluster", "status", "--json").json
    assert (found["cluster_id"], found["controller"], found["voters"]) == (status["cluster_id"], 1, [1])
    [broker] = found["brokers"]
    assert (broker["broker"], broker["port"], broker["problem"]) == (1, status["brokers"][0]["port"], None)
    assert broker["requests"]["PRODUCE"][0] <= 3 <= broker["requests"]["PRODUCE"][1]
    level = next(each for each in found["features"] if each["name"] == "metadata.version")
    assert level["supported"] == broker["features"]["metadata.version"]
    assert level["supported"][0] <= level["level"] <= level["supported"][1]


def test_info_for_people(cli: Cli) -> None:
    """Which requests brokers serve, in which versions, is shown to those who ask."""
    shown = cli("cluster", "info")
    assert shown.lines[1:3] == ["active controller 1", "controllers 1"]
    assert not [line for line in shown.lines if "PRODUCE" in line]
    assert [line.split()[1] for line in cli("cluster", "info", "--requests").lines if line.startswith("PRODUCE ")] == [
        "0-13"
    ]
