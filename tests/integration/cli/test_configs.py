"""odradek configs."""

from typing import Any

from tests.integration.cli import Cli


def _configs(cli: Cli, *arguments: str) -> dict[str, Any]:
    described = cli("configs", "describe", *arguments, "--json").json
    return {each["name"]: each for each in described["configs"]}


def test_describe_a_topic(cli: Cli, topic: str) -> None:
    """Every config with its value and its source."""
    cli("topics", "create", topic, "--config", "retention.ms=5000000")
    found = _configs(cli, "--topic", topic)
    assert found["retention.ms"] == {
        "name": "retention.ms",
        "value": "5000000",
        "source": "DYNAMIC_TOPIC_CONFIG",
        "sensitive": False,
        "read_only": False,
    }
    assert (found["segment.bytes"]["value"], found["segment.bytes"]["source"]) == ("1073741824", "DEFAULT_CONFIG")
    assert ["retention.ms", "5000000", "topic"] in cli("configs", "describe", "--topic", topic).table


def test_changed_leaves_defaults_out(cli: Cli, topic: str) -> None:
    """--changed shows only what somebody has set."""
    cli("topics", "create", topic, "--config", "retention.ms=5000000")
    found = _configs(cli, "--topic", topic, "--changed")
    assert "retention.ms" in found
    assert not [each for each in found.values() if each["source"] == "DEFAULT_CONFIG"]


def test_alter_a_topic(cli: Cli, topic: str) -> None:
    """Configs are set and taken back; what is not named stays."""
    cli("topics", "create", topic, "--config", "retention.ms=5000000", "--config", "segment.ms=7000000")
    altered = cli(
        "configs", "alter", "--topic", topic, "--set", "cleanup.policy=compact", "--delete", "retention.ms", "--json"
    )
    assert altered.json == {
        "resource": "topic",
        "name": topic,
        "set": {"cleanup.policy": "compact"},
        "deleted": ["retention.ms"],
    }
    mine = {
        name: each["value"]
        for name, each in _configs(cli, "--topic", topic).items()
        if each["source"] == "DYNAMIC_TOPIC_CONFIG"
    }
    assert mine == {"cleanup.policy": "compact", "segment.ms": "7000000"}


def test_describe_and_alter_a_broker(cli: Cli) -> None:
    """A dynamic config of the broker has its own source, above that of the file."""
    before = _configs(cli, "--broker", "1")["message.max.bytes"]
    assert cli("configs", "alter", "--broker", "1", "--set", "message.max.bytes=1048600").code == 0
    found = _configs(cli, "--broker", "1", "--changed")
    assert (found["message.max.bytes"]["value"], found["message.max.bytes"]["source"]) == (
        "1048600",
        "DYNAMIC_BROKER_CONFIG",
    )
    assert found["node.id"]["source"] == "STATIC_BROKER_CONFIG"
    assert found["node.id"]["read_only"]
    assert cli("configs", "alter", "--broker", "1", "--delete", "message.max.bytes").output == b"broker 1 changed\n"
    assert _configs(cli, "--broker", "1")["message.max.bytes"] == before


def test_the_default_of_all_brokers(cli: Cli) -> None:
    """It is set and taken back like a broker's own, and every broker that has no own says where its value is from."""
    before = _configs(cli, "--broker-defaults")
    altered = cli("configs", "alter", "--broker-defaults", "--set", "message.max.bytes=1048601", "--json").json
    assert altered == {"resource": "broker", "name": None, "set": {"message.max.bytes": "1048601"}, "deleted": []}
    source = "DYNAMIC_DEFAULT_BROKER_CONFIG"
    expected = {"name": "message.max.bytes", "value": "1048601", "source": source, "sensitive": False}
    assert _configs(cli, "--broker-defaults") == {**before, "message.max.bytes": {**expected, "read_only": False}}
    assert _configs(cli, "--broker", "1")["message.max.bytes"]["source"] == source
    refused = cli("configs", "alter", "--broker-defaults", "--set", "message.max.bytes=x")
    assert (refused.code, refused.error.count("\n")) == (1, 1)
    assert refused.error.startswith("odradek: the default of all brokers: ")
    taken_back = cli("configs", "alter", "--broker-defaults", "--delete", "message.max.bytes")
    assert taken_back.output == b"the default of all brokers changed\n"
    assert _configs(cli, "--broker-defaults") == before


def test_a_group(cli: Cli, topic: str) -> None:
    """A group has configs before it has members."""
    assert cli("configs", "alter", "--group", topic, "--set", "consumer.session.timeout.ms=50000").code == 0
    found = _configs(cli, "--group", topic)["consumer.session.timeout.ms"]
    assert (found["value"], found["source"]) == ("50000", "GROUP_CONFIG")
    assert ["consumer.session.timeout.ms", "50000", "group"] in cli("configs", "describe", "--group", topic).table


def test_a_subscription_to_metrics_of_clients(cli: Cli, topic: str) -> None:
    """It is made with its first config, listed beside groups that have some, and gone with its last."""
    nobody = cli("configs", "describe", "--client-metrics", topic)
    assert (nobody.code, nobody.error) == (
        1,
        f"odradek: client-metrics {topic} does not exist; `odradek configs list` shows those that do\n",
    )
    made = cli("configs", "alter", "--client-metrics", topic, "--set", "interval.ms=30s", "--json").json
    assert made == {"resource": "client-metrics", "name": topic, "set": {"interval.ms": "30000"}, "deleted": []}
    cli("configs", "alter", "--group", topic, "--set", "consumer.session.timeout.ms=50000")
    listed = cli("configs", "list", "--json").json["resources"]
    own = [each["resource"] for each in listed if each["name"] == topic]
    assert own == ["client-metrics", "group"]
    assert ["client-metrics", topic] in cli("configs", "list").table
    found = _configs(cli, "--client-metrics", topic)
    assert (found["interval.ms"]["value"], found["interval.ms"]["source"]) == ("30000", "DYNAMIC_CLIENT_METRICS_CONFIG")
    assert found["match"]["source"] == "DEFAULT_CONFIG"
    assert ["interval.ms", "30000", "subscription"] in cli("configs", "describe", "--client-metrics", topic).table
    misspelt = cli("configs", "alter", "--client-metrics", topic, "--delete", "interval.m")
    assert misspelt.error == f"odradek: client-metrics {topic} has no config interval.m; did you mean interval.ms?\n"
    assert cli("configs", "alter", "--client-metrics", topic, "--delete", "interval.ms").code == 0
    left = cli("configs", "list", "--json").json["resources"]
    assert {"resource": "client-metrics", "name": topic} not in left


def test_what_cannot_be(cli: Cli, topic: str) -> None:
    """One sentence each; a change that is refused changes nothing."""
    cli("topics", "create", topic)
    cases: dict[tuple[str, ...], tuple[int, str]] = {
        ("describe", "--topic", f"{topic}-no"): (1, f"topic {topic}-no does not exist"),
        ("describe", "--broker", "7"): (1, "there is no broker 7; the cluster has 1"),
        ("describe",): (2, "give one of --topic, --broker, --broker-defaults, --group and --client-metrics"),
        ("describe", "--topic", topic, "--broker-defaults"): (2, "give one of --topic"),
        ("alter", "--topic", topic): (2, "nothing to change"),
        ("alter", "--topic", topic, "--set", "retention.ms"): (2, "--set 'retention.ms' is no NAME=VALUE"),
        ("alter", "--topic", topic, "--set", "retention.ms=9", "--set", "segment.ms=x"): (1, f"topic {topic}: "),
        ("alter", "--topic", topic, "--set", "no.such=1"): (1, f"topic {topic}: "),
    }
    for arguments, (code, sentence) in cases.items():
        result = cli("configs", *arguments)
        assert result.code == code, arguments
        assert result.error.startswith(f"odradek: {sentence}")
        assert result.error.count("\n") == 1
    assert _configs(cli, "--topic", topic)["retention.ms"]["source"] == "DEFAULT_CONFIG"


def test_taking_back_what_is_misspelt(cli: Cli, topic: str) -> None:
    """A broker would take it back without a word."""
    cli("topics", "create", topic)
    refused = cli("configs", "alter", "--topic", topic, "--delete", "retention.mss")
    assert (refused.code, refused.error) == (
        1,
        f"odradek: topic {topic} has no config retention.mss; did you mean retention.ms?\n",
    )
    assert cli("configs", "alter", "--topic", topic, "--delete", "retention.ms").code == 0
