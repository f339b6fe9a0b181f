"""odradek consume."""

import base64
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from tests.integration.cli import Cli

NUMBERS = b"".join(b"%d\n" % number for number in range(1000))


@pytest.fixture
def numbers(cli: Cli, topic: str) -> str:
    """A topic with the numbers from 0 to 999 in one partition, at their offsets."""
    cli("topics", "create", topic)
    assert cli("produce", topic, stdin=NUMBERS).code == 0
    return topic


def _read(cli: Cli, *arguments: str) -> list[int]:
    result = cli("consume", *arguments)
    assert (result.code, result.error) == (0, "")
    return [int(line) for line in result.lines]


def test_everything_there_is_and_no_more(cli: Cli, numbers: str) -> None:
    """Without further options each value is a line, from the beginning to the end."""
    result = cli("consume", numbers)
    assert (result.code, result.output, result.error) == (0, NUMBERS, "")


@pytest.mark.parametrize(
    ("arguments", "first", "count"),
    [
        (["--from", "990"], 990, 10),
        (["--from", "-3"], 997, 3),
        (["--from", "end"], 0, 0),
        (["--from", "beginning", "--max-messages", "5"], 0, 5),
        (["--from", "10", "--until", "15"], 10, 5),
        (["--until", "-998"], 0, 2),
        (["--from", "15", "--until", "10"], 0, 0),
        (["--from", "1h", "-n", "2"], 0, 2),
        (["--until", "2001-01-01"], 0, 0),
        (["--partition", "0", "-n", "1"], 0, 1),
    ],
)
def test_from_and_until(cli: Cli, numbers: str, arguments: list[str], first: int, count: int) -> None:
    """Reading begins at one place and stops before the other; a place outside of the partition is its end."""
    assert _read(cli, numbers, *arguments) == list(range(first, first + count))


def test_from_a_time(cli: Cli, topic: str) -> None:
    """A time means the first record that is not older."""
    cli("topics", "create", topic, "-c", "retention.ms=-1")
    lines = b"".join(b'{"value": "%d", "timestamp": %d}\n' % (each, 1_700_000_000_000 + each) for each in range(10))
    assert cli("produce", topic, "--json", stdin=lines).code == 0
    assert _read(cli, topic, "--from", "@1700000000004") == [4, 5, 6, 7, 8, 9]
    assert _read(cli, topic, "--from", "2023-11-14T22:13:20.007Z") == [7, 8, 9]
    assert _read(cli, topic, "--from", "2023-11-14T23:13:20.007+01:00", "--until", "@1700000000009") == [7, 8]


def test_each_field_of_a_record_has_its_place_in_a_format(cli: Cli, topic: str) -> None:
    """The fields of kcat, with its escapes."""
    cli("topics", "create", topic, "-c", "retention.ms=-1")
    line = (
        b'{"key": "k", "value": {"base64": "/wo="}, "headers": [["a", "1"], ["b", null]], "timestamp": 1700000000000}\n'
    )
    assert cli("produce", topic, "--json", stdin=line + b'{"key": null, "value": null, "timestamp": 5}\n').code == 0
    formatted = cli("consume", topic, "--format", r"%t %p %o %T %k/%K %s/%S %h %% %R\t\x41\n")
    assert formatted.output == (
        b"%s 0 0 1700000000000 k/1 \xff\n/2 a=1,b=NULL %% \0\0\0\x02\tA\n%s 0 1 5 /-1 /-1  %% \xff\xff\xff\xff\tA\n"
        % (topic.encode(), topic.encode())
    )


def test_a_record_as_json(cli: Cli, topic: str) -> None:
    """A line has all that a record has, under names that stay."""
    cli("topics", "create", topic)
    cli("produce", topic, "-K", ":", "-H", "lang=en", stdin=b"k:v\n")
    [record] = cli("consume", topic, "--json").json_lines
    assert record.pop("timestamp") > 1_700_000_000_000
    assert record == {
        "topic": topic,
        "partition": 0,
        "offset": 0,
        "timestamp_type": "create",
        "key": "k",
        "value": "v",
        "headers": [["lang", "en"]],
    }


def test_a_group_goes_on_where_it_stopped(cli: Cli, numbers: str) -> None:
    """What was written out is committed, and what was fetched beyond --max-messages is not."""
    group = f"g-{numbers}"
    assert _read(cli, numbers, "--group", group, "-n", "300") == list(range(300))
    assert _read(cli, numbers, "--group", group, "-n", "1") == [300]
    assert _read(cli, numbers, "--group", group) == list(range(301, 1000))
    assert _read(cli, numbers, "--group", group) == []
    assert _read(cli, numbers, "--group", f"{group}-late", "--from", "end") == []


def test_several_partitions_are_read_to_their_ends(cli: Cli, topic: str) -> None:
    """Everything arrives, each partition in its order; empty ones hold nothing up."""
    cli("topics", "create", topic, "-p", "5")
    for partition in ("0", "1", "3"):
        cli("produce", topic, "--partition", partition, stdin=NUMBERS)
    records = cli("consume", topic, "--format", "%p %s\\n").table
    assert len(records) == 3000
    for partition in ("0", "1", "3"):
        assert [int(value) for number, value in records if number == partition] == list(range(1000))
    only = cli("consume", topic, "-p", "1", "-p", "2", "--format", "%p\\n").lines
    assert (len(only), set(only)) == (1000, {"1"})


def test_places_and_forms_that_do_not_exist(cli: Cli, numbers: str) -> None:
    """One sentence each: 1 where the cluster has no such thing, 2 where the arguments are wrong."""
    cases: dict[tuple[str, ...], tuple[int, str]] = {
        (f"{numbers}-no",): (1, f"topic {numbers}-no does not exist; `odradek topics list` shows what does"),
        (numbers, "-p", "1"): (1, f"topic {numbers} has no partition 1; it has 0 to 0"),
        (numbers, "--from", "soon"): (2, "--from: 'soon' is no place in a topic; expected"),
        (numbers, "--until", "1", "--follow"): (2, "--until and --follow exclude each other"),
        (numbers, "--format", "%q"): (2, "--format: %q is no field of a record"),
        (numbers, "--format", "%s", "--json"): (2, "--format and --json exclude each other"),
        (numbers, "--group", "g", "--from", "7"): (2, "with --group the group's offsets say where to read"),
    }
    for arguments, (code, sentence) in cases.items():
        result = cli("consume", *arguments)
        assert result.code == code
        assert result.error.startswith(f"odradek: {sentence}")
        assert result.error.count("\n") == 1


def test_places_that_say_nothing_here_are_told(cli: Cli, topic: str) -> None:
    """An offset that no partition has yet, and a beginning for a group that has one."""
    cli("topics", "create", topic)
    cli("produce", topic, stdin=b"a\n")
    beyond = cli("consume", topic, "--from", "99999999")
    assert (beyond.code, beyond.output) == (0, b"")
    assert beyond.error == f"no partition of {topic} has an offset 99999999 yet; --follow waits for it\n"
    assert cli("consume", topic, "--group", topic, "--from", "beginning").output == b"a\n"
    again = cli("consume", topic, "--group", topic, "--from", "beginning")
    assert (again.output, again.error.startswith(f"group {topic} goes on where it is: --from")) == (b"", True)


def test_several_topics_and_those_of_a_form(cli: Cli, topic: str) -> None:
    """Topics are named, or found by a regular expression that the whole name fits; nothing of the others is read."""
    names = [f"{topic}-{each}" for each in ("a", "b", "c")]
    cli("topics", "create", *names)
    for name in names:
        cli("produce", name, stdin=f"{name}\n".encode())
    assert set(cli("consume", names[0], names[2]).lines) == {names[0], names[2]}
    assert set(cli("consume", "--pattern", f"{topic}-[ab]").lines) == set(names[:2])
    assert cli("consume", names[0], names[1], "-p", "0", "-n", "1").lines in ([names[0]], [names[1]])
    group = f"{topic}-group"
    assert set(cli("consume", *names, "--group", group).lines) == set(names)
    for arguments, code, sentence in (
        (["--pattern", f"{topic}-no.*"], 1, f"no topic is of the form {topic}-no.*"),
        (["--pattern", "("], 2, "--pattern '(' is no regular expression"),
        ([topic, "--pattern", "a"], 2, "name topics, or say with --pattern which are meant"),
        ([], 2, "name topics, or say with --pattern which are meant"),
    ):
        result = cli("consume", *arguments)
        assert (result.code, result.error.startswith(f"odradek: {sentence}")) == (code, True), result.error


def test_the_last_of_all_partitions(cli: Cli, topic: str) -> None:
    """The newest records of a topic as a whole come in the order of their times, whatever partitions they are in."""
    cli("topics", "create", topic, "-p", "3", "-c", "retention.ms=-1")
    line = '{"key": "%s", "value": "%d", "partition": %d, "timestamp": %d}\n'
    lines = [line % (each % 2, each, each % 3, 1_700_000_000_000 + each) for each in range(20)]
    assert cli("produce", topic, "--json", stdin="".join(lines).encode()).code == 0
    assert _read(cli, topic, "--last", "4") == [16, 17, 18, 19]
    assert _read(cli, topic, "--last", "2", "--key", "0") == [16, 18]
    assert _read(cli, topic, "--last", "2", "-p", "1") == [16, 19]
    assert _read(cli, topic, "--last", "50") == list(range(20))
    assert cli("consume", topic, "--last", "1", "--from", "5").code == 2


def test_only_records_that_match(cli: Cli, topic: str) -> None:
    """By key, by headers and by what is in them; --max-messages counts those that match."""
    cli("topics", "create", topic)
    cli("produce", topic, "-K", ":", "-H", "lang=en", "-H", "v=1", stdin=b"a:one\nb:two\na:three\n")
    cli("produce", topic, "-K", ":", "-H", "lang=fr", stdin=b"a:deux\n")

    def read(*arguments: str) -> list[str]:
        result = cli("consume", topic, *arguments)
        assert result.code == 0, result.error
        return result.lines

    assert read("--key", "a") == ["one", "three", "deux"]
    assert read("--header", "lang=fr") == ["deux"]
    assert read("--header", "v") == ["one", "two", "three"]
    assert read("--header", "lang=en", "--key", "a", "-n", "1") == ["one"]
    assert read("--grep", "^t|^b$") == ["two", "three"]
    assert read("--key", "a", "--follow", "-n", "2") == ["one", "three"]
    group = f"{topic}-g"
    assert read("--group", group, "--key", "b", "-n", "1") == ["two"]
    assert read("--group", group) == ["three", "deux"]


def test_bytes_as_text(cli: Cli, topic: str) -> None:
    """Keys, values and those of headers are written in hexadecimal or base64; lengths stay those of the record."""
    cli("topics", "create", topic)
    line = b'{"key": "k", "value": {"base64": "/wo="}, "headers": [["a", {"base64": "AA=="}]]}\n{"value": null}\n'
    cli("produce", topic, "--json", stdin=line)
    assert cli("consume", topic, "--bytes", "hex", "--format", "%k %s %S %h\\n").lines == ["6b ff0a 2 a=00", "  -1 "]
    assert cli("consume", topic, "--bytes", "base64", "-n", "1").lines == ["/wo="]
    assert cli("consume", topic, "--bytes", "hex", "--json").code == 2


def test_values_by_their_schemas(cli: Cli, topic: str, schema_registry: str) -> None:
    """What names a schema is written as JSON, on its own and as part of the record; all else stays as it is."""
    cli("topics", "create", topic)
    lines = [
        {"key": "k", "value": {"base64": base64.b64encode(b"\0\0\0\0\7" + b"\x06one").decode()}},
        {"value": "plain"},
    ]
    cli("produce", topic, "--json", stdin="\n".join(map(json.dumps, lines)).encode())
    assert cli("consume", topic, "--registry", schema_registry).lines == ['"one"', "plain"]
    records = cli("consume", topic, "--registry", schema_registry, "--json").json_lines
    assert [(each["key"], each["value"]) for each in records] == [("k", "one"), (None, "plain")]
    assert cli("consume", topic, "--registry", schema_registry, "--bytes", "hex").code == 2
    assert cli("consume", topic, "--registry", "nowhere").code == 2


@pytest.fixture
def schema_registry() -> Iterator[str]:
    """A registry that has one schema, number 7: a string of Avro."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = b'{"schema": "\\"string\\""}'
            self.send_response(200 if self.path == "/schemas/ids/7" else 404)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()
