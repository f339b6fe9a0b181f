"""odradek records copy."""

from tests.integration.cli import Cli
from tests.support.broker import BrokerProcess

LINES = "".join(
    f'{{"key": "k{each % 5}", "value": "{each}", "headers": [["a", "{each}"]], "partition": {each % 3}, '
    f'"timestamp": {1_700_000_000_000 + each}}}\n'
    for each in range(30)
).encode()


def _records(cli: Cli, topic: str) -> list[tuple[object, ...]]:
    names = ("partition", "offset", "key", "value", "timestamp")
    found = cli("consume", topic, "--json").json_lines
    return sorted((*(each[name] for name in names), each["headers"][0][1]) for each in found)


def test_a_copy_has_everything_that_the_records_have(cli: Cli, topic: str) -> None:
    """Keys, values, headers, times and partitions; the topic is made with its partitions and configs where that is
    wanted, and only then."""
    cli("topics", "create", topic, "-p", "3", "-c", "retention.ms=-1")
    assert cli("produce", topic, "--json", stdin=LINES).code == 0
    missing = cli("records", "copy", topic, "--to", f"{topic}-copy")
    assert (missing.code, missing.error.endswith("; --create makes it\n")) == (1, True)
    copied = cli("records", "copy", topic, "--to", f"{topic}-copy", "--create", "--json").json
    assert (copied["to"], copied["records"], copied["failed"]) == (f"{topic}-copy", 30, 0)
    assert _records(cli, f"{topic}-copy") == _records(cli, topic)
    [described] = cli("topics", "describe", f"{topic}-copy", "--json").json["topics"]
    assert described["configs"] == {"retention.ms": "-1"}
    late = cli("records", "copy", topic, "--to", f"{topic}-late", "--create", "--from", "@1700000000027", "--json").json
    assert late["records"] == 3


def test_a_topic_with_other_partitions(cli: Cli, topic: str, broker: BrokerProcess) -> None:
    """Too few are refused, with what to do about it; by their keys records go into as many as there are."""
    cli("topics", "create", topic, "-p", "3", "-c", "retention.ms=-1")
    cli("produce", topic, "--json", stdin=LINES)
    cli("topics", "create", f"{topic}-small", "-p", "2", "-c", "retention.ms=-1")
    refused = cli("records", "copy", topic, "--to", f"{topic}-small")
    assert (refused.code, "has 2 partitions, and " in refused.error) == (1, True)
    arguments = ["--to", f"{topic}-small", "--by-key", "--to-bootstrap-server", broker.bootstrap]
    assert cli("records", "copy", topic, *arguments).code == 0
    found = cli("consume", f"{topic}-small", "--format", "%k %p\\n").table
    assert len(found) == 30
    assert len({(key, partition) for key, partition in found}) == 5


def test_what_cannot_be_copied(cli: Cli, topic: str) -> None:
    """A topic is not copied into itself, nor from a place that is none."""
    cli("topics", "create", topic)
    for arguments, sentence in (
        ([], "the copy would go into the topic itself"),
        (["--to", topic], "the copy would go into the topic itself"),
        (["--to", "x", "--from", "soon"], "--from: 'soon' is no place in a topic"),
    ):
        result = cli("records", "copy", topic, *arguments)
        assert (result.code, result.error.startswith(f"odradek: {sentence}")) == (2, True), result.error
