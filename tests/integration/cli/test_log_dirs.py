"""odradek log-dirs."""

from tests.integration.cli import Cli


def test_directories_with_their_replicas(cli: Cli, topic: str) -> None:
    """All of a broker's, or those of topics alone; each with its size."""
    cli("topics", "create", topic, "-p", "2")
    cli("produce", topic, stdin=b"x\n" * 10)
    [broker] = cli("log-dirs", "--json").json["brokers"]
    [directory] = broker["directories"]
    assert (broker["broker"], broker["problem"], directory["error"], directory["cordoned"]) == (1, None, None, False)
    assert directory["usable_bytes"] <= directory["total_bytes"]
    assert topic in {each["topic"] for each in directory["partitions"]}
    [broker] = cli("log-dirs", "--topic", topic, "--brokers", "1", "--json").json["brokers"]
    [directory] = broker["directories"]
    assert [each["partition"] for each in directory["partitions"] if each["topic"] == topic] == [0, 1]
    assert directory["replicas"] == 2
    assert directory["size_bytes"] == sum(each["size_bytes"] for each in directory["partitions"]) > 60
    shown = cli("log-dirs", "-t", topic, "--replicas")
    assert shown.code == 0
    assert [line.split()[2:4] for line in shown.lines if topic in line] in (
        [[topic, "0"], [topic, "1"]],
        [[topic, "1"], [topic, "0"]],
    )


def test_directories_that_cannot_be_asked_for(cli: Cli, topic: str) -> None:
    """A broker or a topic that there is not is one sentence."""
    for arguments, code, sentence in (
        (("--brokers", "7"), 1, "there is no broker 7; the cluster has 1"),
        (("--brokers", "x"), 2, "--brokers 'x' is no list of brokers"),
        (("--topic", topic), 1, f"topic {topic} does not exist"),
    ):
        refused = cli("log-dirs", *arguments)
        assert (refused.code, refused.error.count("\n")) == (code, 1), arguments
        assert refused.error.startswith(f"odradek: {sentence}")
