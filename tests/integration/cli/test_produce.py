"""odradek produce, read back with a client of another make."""

import json
from pathlib import Path

import pytest

from tests.integration.cli import Cli
from tests.integration.clients import BEGINNING, Confluent
from tests.support.broker import BrokerProcess

MURMUR2 = {"21": -973932308, "foobar": -790332482, "a-little-bit-long-string": -985981536, "abc": 479470107}
"""Hashes of the tests of org.apache.kafka.common.utils.Utils."""


def test_lines_become_records(cli: Cli, topic: str, broker: BrokerProcess) -> None:
    """Each line is a value, without its line feed and with everything else, and an empty line an empty value."""
    cli("topics", "create", topic)
    result = cli("produce", topic, stdin=b"one\n\n three \r\n\xff\x00\nlast")
    assert result.code == 0
    assert result.output == b""
    assert result.error.startswith(f"5 records (17 B) to 1 partition of {topic} in ")
    read = [each.record for each in Confluent(broker.bootstrap).read(topic, 0, BEGINNING, 5)]
    assert [each.value for each in read] == [b"one", b"", b" three \r", b"\xff\x00", b"last"]
    assert {each.key for each in read} == {None}


def test_keys_headers_and_a_file(cli: Cli, topic: str, broker: BrokerProcess, tmp_path: Path) -> None:
    """A separator ends the key at its first place in the line; headers are the same for all records."""
    cli("topics", "create", topic)
    lines = tmp_path / "lines.txt"
    lines.write_bytes(b"k1=>v1\nk2=>v=>2\n=>v3\n")
    result = cli("produce", topic, str(lines), "-K", "=>", "-H", "a=1", "-H", "b=", "--compression", "zstd")
    assert result.code == 0
    read = [each.record for each in Confluent(broker.bootstrap).read(topic, 0, BEGINNING, 3)]
    assert [(each.key, each.value) for each in read] == [(b"k1", b"v1"), (b"k2", b"v=>2"), (b"", b"v3")]
    assert {tuple(each.headers) for each in read} == {(("a", b"1"), ("b", b""))}


def test_the_key_chooses_the_partition_as_in_java(cli: Cli, topic: str) -> None:
    """murmur2 of the key, made positive, modulo the number of partitions."""
    cli("topics", "create", topic, "-p", "7")
    lines = "".join(f"{key}:x\n" for key in MURMUR2)
    assert cli("produce", topic, "-K", ":", stdin=lines.encode()).code == 0
    found = {each["key"]: each["partition"] for each in cli("consume", topic, "--json").json_lines}
    assert found == {key: (number & 0x7FFFFFFF) % 7 for key, number in MURMUR2.items()}


def test_the_summary_as_json(cli: Cli, topic: str) -> None:
    """With --json lines are JSON objects, and the summary says what went where."""
    cli("topics", "create", topic, "-p", "2")
    lines = b'{"value": "a", "partition": 1}\n{"key": "k", "partition": 0}\n{"value": "b", "partition": 1}'
    summary = cli("produce", topic, "--json", stdin=lines).json
    assert summary.pop("seconds") >= 0
    assert summary == {
        "topic": topic,
        "records": 3,
        "bytes": 2,
        "failed": 0,
        "failed_lines": [],
        "partitions": [
            {"partition": 0, "records": 1, "first_offset": 0, "last_offset": 0},
            {"partition": 1, "records": 2, "first_offset": 0, "last_offset": 1},
        ],
    }


def test_what_consume_writes_as_json_can_be_produced_again(cli: Cli, topic: str) -> None:
    """Bytes that are no text, nulls, headers, partitions and times come through unchanged."""
    cli("topics", "create", topic, f"{topic}-copy", "-p", "2", "-c", "retention.ms=-1")
    given: list[dict[str, object]] = [
        {"key": {"base64": "AP8="}, "value": "ü", "headers": [["h", None], ["h", {"base64": "/w=="}]], "timestamp": 7},
        {"key": None, "value": None, "headers": [], "timestamp": 1_700_000_000_000},
    ]
    lines = "\n".join(json.dumps({**each, "partition": 1}) for each in given).encode()
    assert cli("produce", topic, "--json", stdin=lines).code == 0
    read = cli("consume", topic, "--json")
    assert [{name: each[name] for name in given[0]} for each in read.json_lines] == given
    assert cli("produce", f"{topic}-copy", "--json", stdin=read.output).code == 0
    copied = cli("consume", f"{topic}-copy", "--json").json_lines
    assert copied == [{**each, "topic": f"{topic}-copy"} for each in read.json_lines]


def test_a_rate_is_kept(cli: Cli, topic: str) -> None:
    """Ten records at 20 a second take nine intervals."""
    cli("topics", "create", topic)
    lines = b'{"value": "x"}\n' * 10
    assert cli("produce", topic, "--json", "--rate", "20", stdin=lines).json["seconds"] >= 0.44


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (b"{", "it is no JSON"),
        (b"[]", "it is no JSON object"),
        (b'{"value": 5}', '"value" is neither a string nor null'),
        (b'{"headers": 5}', '"headers" is neither a list'),
        (b'{"partition": -1}', '"partition" is no number of zero or more'),
    ],
)
def test_a_line_that_cannot_be_read_is_named(cli: Cli, topic: str, line: bytes, problem: str) -> None:
    """The records before it are produced, it and those after it are not."""
    cli("topics", "create", topic)
    result = cli("produce", topic, "--json", stdin=b'{"value": "first"}\n' + line + b'\n{"value": "third"}\n')
    assert result.code == 1
    assert f"odradek: line 2: {problem}" in result.error
    assert [each["value"] for each in cli("consume", topic, "--json").json_lines] == ["first"]


def test_a_line_without_the_separator_is_named(cli: Cli, topic: str) -> None:
    """With --key-separator each line must have it."""
    cli("topics", "create", topic)
    result = cli("produce", topic, "-K", "=", stdin=b"k=v\nv\n")
    assert result.code == 1
    assert result.error.endswith("odradek: line 2: the key separator '=' is not in it\n")


def test_places_that_do_not_exist(cli: Cli, topic: str) -> None:
    """No topic, no partition, no file: one sentence each, and nothing is made."""
    missing = cli("produce", topic, stdin=b"x\n")
    assert (missing.code, missing.error) == (
        1,
        f"odradek: topic {topic} does not exist; make it with `odradek topics create {topic}`\n",
    )
    cli("topics", "create", topic, "-p", "2")
    assert cli("produce", topic, "--partition", "2", stdin=b"x\n").error == (
        f"odradek: topic {topic} has no partition 2; it has 0 to 1\n"
    )
    assert cli("produce", topic, "/no/such/file").error == "odradek: /no/such/file: No such file or directory\n"
    assert cli("consume", topic).output == b""


def test_a_record_that_the_broker_refuses(cli: Cli, topic: str) -> None:
    """The sentence has the broker's reason, and the exit code is 1."""
    cli("topics", "create", topic, "--config", "max.message.bytes=200")
    result = cli("produce", topic, stdin=b"x" * 1000 + b"\n")
    reason = f"topic {topic}: larger than max.message.bytes of the topic lets in (MSG_SIZE_TOO_LARGE)"
    assert (result.code, result.error.splitlines()[-1]) == (1, f"odradek: line 1 not acknowledged: {reason}")


def test_a_record_as_large_as_its_topic_lets_it_be(cli: Cli, topic: str) -> None:
    """Limits are the broker's, neither those that a Kafka client comes with for producing nor those for consuming."""
    cli("topics", "create", topic, "--config", "max.message.bytes=5000000")
    lines = b"x" * 3_000_000 + b"\n" + b"y" * 10
    assert cli("produce", topic, stdin=lines).code == 0
    assert cli("consume", topic).output == lines + b"\n"


def test_json_that_is_no_record_is_refused_and_told_how_it_is_meant(cli: Cli, topic: str) -> None:
    """Else it would be a record without key and value; --value-json takes a line as it stands."""
    cli("topics", "create", topic)
    refused = cli("produce", topic, "--json", stdin=b'{"value": "x"}\n{"user": "anna"}\n')
    assert refused.code == 1
    assert 'line 2: it has none of "key", "value"' in refused.error
    assert "--value-json" in refused.error
    assert cli("produce", topic, "--value-json", stdin=b'{"user": "anna"}\n[1]\n').code == 0
    wrong = cli("produce", topic, "--value-json", stdin=b"{\n")
    assert (wrong.code, "line 1: it is no JSON" in wrong.error) == (1, True)
    assert cli("consume", topic).output == b'x\n{"user": "anna"}\n[1]\n'


def test_lines_that_are_there_already_are_left_out(cli: Cli, topic: str) -> None:
    """Numbers of lines stay those of the input; a tab between key and value is written as in Python."""
    cli("topics", "create", topic)
    assert cli("produce", topic, "--skip", "1", "-K", "\\t", stdin=b"a\t1\nb\t2\n").code == 0
    assert cli("consume", topic, "--format", "%k=%s").output == b"b=2"
    assert "line 2: the key separator" in cli("produce", topic, "--skip", "1", "-K", "\\t", stdin=b"a\t1\nb\n").error


def test_tombstones(cli: Cli, topic: str) -> None:
    """One for a key, one for each line as a key, and one for each empty value: records without a value."""
    cli("topics", "create", topic)
    assert cli("produce", topic, "--key", "one", "--tombstone", "--json", stdin=b"not read\n").json["records"] == 1
    assert cli("produce", topic, "--tombstone", stdin=b"two\nthree\n").code == 0
    assert cli("produce", topic, "-K", ":", "-Z", stdin=b"four:\nfive:5\n").code == 0
    found = [(each["key"], each["value"]) for each in cli("consume", topic, "--json").json_lines]
    assert found == [("one", None), ("two", None), ("three", None), ("four", None), ("five", "5")]


def test_a_whole_file_with_key_and_time(cli: Cli, topic: str, tmp_path: Path) -> None:
    """It is one record, lines and all, with what the options say; the broker that nobody asks tells no offsets."""
    cli("topics", "create", topic, "-c", "retention.ms=-1")
    file = tmp_path / "file"
    file.write_bytes(b"\xff\na\n")
    summary = cli(
        "produce", topic, str(file), "--whole", "-k", "k", "-H", "a=b", "--timestamp", "@1700000000000", "--json"
    ).json
    assert summary["partitions"] == [{"partition": 0, "records": 1, "first_offset": 0, "last_offset": 0}]
    [record] = cli("consume", topic, "--json").json_lines
    assert (record["value"], record["key"], record["timestamp"]) == ({"base64": "/wphCg=="}, "k", 1_700_000_000_000)
    unasked = cli("produce", topic, str(file), "--whole", "--acks", "0", "--json").json
    assert unasked["partitions"] == [{"partition": 0, "records": 1, "first_offset": None, "last_offset": None}]
    leader = cli("produce", topic, str(file), "--whole", "--acks", "1", "--json").json
    assert leader["partitions"][0]["first_offset"] == 2


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            ["--json", "--key", "k"],
            "--key, --key-separator, --value-json, --empty-as-null and --timestamp are for lines",
        ),
        (["--key", "k", "-K", ":"], "--key is the key of all records"),
        (["--tombstone", "-K", ":"], "records of --tombstone have no value"),
        (["--value-json", "-Z"], "--value-json takes the whole line"),
        (["--whole", "-K", ":"], "--whole takes the file as it stands"),
        (["--whole", "--skip", "1"], "--skip leaves out lines"),
        (["--timestamp", "end"], "--timestamp 'end' is no time: give one such as"),
        (["--timestamp", "soon"], "--timestamp 'soon' is no time: give one such as"),
    ],
)
def test_options_that_exclude_each_other(cli: Cli, topic: str, arguments: list[str], sentence: str) -> None:
    """They are refused before anything is asked or read."""
    result = cli("produce", topic, *arguments, stdin=b"a\n")
    assert (result.code, result.error.startswith(f"odradek: {sentence}")) == (2, True), result.error
