"""odradek topics."""

from tests.integration.cli import Cli


def test_a_topic_from_its_creation_to_its_deletion(cli: Cli, topic: str) -> None:
    """A topic that is created is listed with its partitions, and is gone after it is deleted."""
    created = cli("topics", "create", topic, "--partitions", "3", "--config", "retention.ms=86400000", "--json")
    assert created.json == {"topics": [{"name": topic, "created": True}]}
    [listed] = [each for each in cli("topics", "list", "--json").json["topics"] if each["name"] == topic]
    assert (listed["partitions"], listed["replication_factor"], listed["internal"]) == (3, 1, False)
    assert len(listed["topic_id"]) == 22
    assert cli("topics", "delete", topic, "--json").json == {"deleted": [topic]}
    assert topic not in cli("topics", "list").output.decode()


def test_describe_shows_where_partitions_are_and_what_they_hold(cli: Cli, topic: str) -> None:
    """Leader, replicas, in-sync replicas, first and next offset, size in bytes, and the configs set on the topic."""
    cli("topics", "create", topic, "-p", "2", "-c", "max.message.bytes=2000000")
    cli("produce", topic, "--partition", "1", stdin=b"a\nb\nc\n")
    [described] = cli("topics", "describe", topic, "--json").json["topics"]
    assert described["name"] == topic
    assert described["configs"] == {"max.message.bytes": "2000000"}
    empty, filled = described["partitions"]
    assert empty == {
        "partition": 0, "leader": 1, "replicas": [1], "isr": [1], "beginning": 0, "end": 0, "size_bytes": 0
    }  # fmt: skip
    assert (filled["beginning"], filled["end"]) == (0, 3)
    assert 61 < filled["size_bytes"] < 500


def test_describe_prints_a_table_for_people(cli: Cli, topic: str) -> None:
    """Away from a terminal there are no colours, no lines that are cut, and columns under their headings."""
    cli("topics", "create", topic)
    title, facts, heading, row = cli("topics", "describe", topic).table
    assert title == [topic]
    assert facts[2:] == ["1", "partition,", "replication", "factor", "1,", "0", "offsets,", "0", "B"]
    assert heading == ["PARTITION", "LEADER", "REPLICAS", "ISR", "BEGINNING", "END", "SIZE"]
    assert row == ["0", "1", "1", "1", "0", "0", "0", "B"]


def test_describe_without_names_shows_all_but_internal_ones(cli: Cli, topic: str) -> None:
    """Topics that Kafka keeps for itself are left out unless they are named."""
    cli("topics", "create", topic)
    cli("consume", topic, "--group", f"g-{topic}", "--max-messages", "1")  # makes __consumer_offsets
    names = {each["name"] for each in cli("topics", "describe", "--json").json["topics"]}
    assert topic in names
    assert "__consumer_offsets" not in names
    assert "__consumer_offsets" in cli("topics", "list", "--internal").output.decode()
    [internal] = cli("topics", "describe", "__consumer_offsets", "--json").json["topics"]
    assert internal["internal"]


def test_explicit_placement(cli: Cli, topic: str) -> None:
    """--replica-assignment says where each partition goes."""
    assert cli("topics", "create", topic, "--replica-assignment", "1,1").code == 0
    [described] = cli("topics", "describe", topic, "--json").json["topics"]
    assert [each["replicas"] for each in described["partitions"]] == [[1], [1]]


def test_alter_adds_partitions_and_changes_configs(cli: Cli, topic: str) -> None:
    """Partitions grow, a config is set and another taken back, in one call."""
    cli("topics", "create", topic, "--config", "retention.ms=1000000")
    altered = cli(
        "topics", "alter", topic, "-p", "2", "-c", "segment.bytes=1048576", "--delete-config", "retention.ms", "--json"
    )
    assert altered.json == {
        "name": topic, "partitions": 2, "set": {"segment.bytes": "1048576"}, "deleted": ["retention.ms"]
    }  # fmt: skip
    [described] = cli("topics", "describe", topic, "--json").json["topics"]
    assert (len(described["partitions"]), described["configs"]) == (2, {"segment.bytes": "1048576"})


def test_a_topic_that_exists(cli: Cli, topic: str) -> None:
    """It is an error that says so, and none with --if-not-exists."""
    cli("topics", "create", topic)
    again = cli("topics", "create", topic)
    assert (again.code, again.output) == (1, b"")
    assert again.error == f"odradek: topic {topic} exists already; `odradek topics describe` shows it\n"
    accepted = cli("topics", "create", topic, "--if-not-exists", "--json")
    assert accepted.json == {"topics": [{"name": topic, "created": False}]}


def test_a_topic_that_does_not_exist(cli: Cli, topic: str) -> None:
    """Describing, altering and deleting it say so in one sentence."""
    sentence = f"odradek: topic {topic} does not exist; `odradek topics list` shows what does\n"
    for arguments in (["describe", topic], ["alter", topic, "-c", "retention.ms=1"], ["delete", topic]):
        result = cli("topics", *arguments)
        assert (result.code, result.error) == (1, sentence)


def test_what_the_broker_refuses_is_told_in_its_words(cli: Cli, topic: str) -> None:
    """A bad config value, a bad name, fewer partitions: its message is in the sentence."""
    cli("topics", "create", topic, "-p", "2")
    refused = {
        ("create", f"{topic}-x", "-c", "retention.ms=soon"): "retention.ms",
        ("create", f"{topic}-x", "-c", "no.such.config=1"): "no.such.config",
        ("create", f"{topic} x"): "TOPIC_EXCEPTION",
        ("create", f"{topic}-x", "-r", "3"): "INVALID_REPLICATION_FACTOR",
        ("alter", topic, "-p", "1"): "INVALID_PARTITIONS",
    }
    for arguments, part in refused.items():
        result = cli("topics", *arguments)
        assert result.code == 1
        assert part in result.error
        assert result.error.count("\n") == 1


def test_arguments_that_do_not_fit(cli: Cli, topic: str) -> None:
    """Exit code 2, and a sentence that names what is wrong."""
    wrong = {
        ("create", topic, "--replica-assignment", "1", "-p", "2"): "--replica-assignment says",
        ("create", topic, "--replica-assignment", "1,x"): "'1,x' is no list of brokers",
        ("create", topic, "--config", "x"): "--config 'x' is no NAME=VALUE",
        ("create", topic, "--partitions", "0"): "--partitions",
        ("create",): "Missing argument",
        ("alter", topic): "nothing to change",
        ("lst",): "No such command 'lst'",
    }
    for arguments, part in wrong.items():
        result = cli("topics", *arguments)
        assert result.code == 2, arguments
        assert part in result.error
        assert result.error.count("\n") == 1


def test_what_could_be_done_is_told_beside_what_could_not(cli: Cli, topic: str) -> None:
    """Of several topics one that exists keeps no other from being made, one that does not none from being shown."""
    cli("topics", "create", topic)
    made = cli("topics", "create", topic, f"{topic}-2")
    assert (made.code, made.output.decode()) == (1, f"topic {topic}-2 created\n")
    assert f"topic {topic} exists already" in made.error
    shown = cli("topics", "describe", topic, f"{topic}-3")
    assert (shown.code, topic in shown.output.decode()) == (1, True)
    assert shown.error == f"odradek: topic {topic}-3 does not exist; `odradek topics list` shows what does\n"


def test_lists_of_a_form_with_sizes(cli: Cli, topic: str) -> None:
    """Topics whose whole name fits, the largest first, with what all of them hold together."""
    names = [f"{topic}-a", f"{topic}-b"]
    cli("topics", "create", *names, f"{topic}-c", "-p", "2")
    cli("produce", names[1], "-p", "0", stdin=b"x\n" * 7)
    found = cli("topics", "list", "--pattern", f"{topic}-[ab]", "--sizes", "--json").json
    assert [(each["name"], each["offsets"]) for each in found["topics"]] == [(names[1], 7), (names[0], 0)]
    size = found["topics"][0]["size_bytes"]
    assert size > 61
    assert found["totals"] == {"topics": 2, "partitions": 4, "offsets": 7, "size_bytes": size}
    shown = cli("topics", "list", "--pattern", f"{topic}-[ab]", "--sizes").lines
    assert (shown[1].split()[0], shown[-1].startswith("2 topics, 4 partitions, 7 offsets, ")) == (names[1], True)
    plain = cli("topics", "list", "--pattern", f"{topic}-a", "--json").json
    assert plain["totals"] == {"topics": 1, "partitions": 2, "offsets": None, "size_bytes": None}
    described = cli("topics", "describe", "--pattern", f"{topic}-[ab]", "--json").json["topics"]
    assert [(each["name"], each["offsets"], each["size_bytes"] > 0) for each in described] == [
        (names[0], 0, False),
        (names[1], 7, True),
    ]
    assert cli("topics", "list", "--pattern", f"{topic}-x").error == f"no topic is of the form {topic}-x\n"
    assert cli("topics", "describe", "--pattern", f"{topic}-x").code == 1
    assert cli("topics", "describe", topic, "--pattern", "x").code == 2


def test_offsets_at_a_time(cli: Cli, topic: str) -> None:
    """Where each partition begins and ends, and the first offset that is not older than a time."""
    cli("topics", "create", topic, "-c", "retention.ms=-1")
    lines = b"".join(b'{"value": "v", "timestamp": %d}\n' % (1_700_000_000_000 + each * 1000) for each in range(5))
    cli("produce", topic, "--json", stdin=lines)
    place = {"topic": topic, "partition": 0, "beginning": 0, "end": 5}
    assert cli("topics", "offsets", topic, "--json").json == {"partitions": [{**place, "at": None}]}
    at = cli("topics", "offsets", topic, "--at", "@1700000002500", "--json").json
    assert at == {"partitions": [{**place, "at": 3}]}
    assert cli("topics", "offsets", topic, "--at", "-2").table[1] == [topic, "0", "0", "5", "3"]
    assert cli("topics", "offsets", topic, "--at", "soon").code == 2


def test_configs_in_units(cli: Cli, topic: str) -> None:
    """Durations and sizes are given as people write them, and set in what the config counts."""
    cli("topics", "create", topic, "-c", "retention.ms=7d", "-c", "segment.bytes=256MiB")
    [described] = cli("topics", "describe", topic, "--json").json["topics"]
    assert described["configs"] == {"retention.ms": "604800000", "segment.bytes": "268435456"}
    assert cli("configs", "alter", "--topic", topic, "--set", "retention.ms=1h30m").code == 0
    [described] = cli("topics", "describe", topic, "--json").json["topics"]
    assert described["configs"]["retention.ms"] == "5400000"


def test_records_are_deleted_up_to_a_place(cli: Cli, topic: str) -> None:
    """What lies before it is gone; what was shown with --dry-run is what happens without it."""
    cli("topics", "create", topic, "-p", "2")
    cli("produce", topic, "-p", "0", stdin=b"x\n" * 10)
    rows = [
        {"topic": topic, "partition": 0, "before": 0, "after": 4},
        {"topic": topic, "partition": 1, "before": 0, "after": 0},
    ]
    shown = cli("records", "delete", topic, "--before", "4", "--dry-run", "--json").json
    assert shown == {"dry_run": True, "partitions": rows}
    assert len(cli("consume", topic).lines) == 10
    assert cli("records", "delete", topic, "--before", "4", "--json").json == {"dry_run": False, "partitions": rows}
    assert len(cli("consume", topic).lines) == 6
    more = cli("records", "delete", topic, "--before", "end", "-p", "0")
    assert (more.table[1], more.error) == ([topic, "0", "4", "10"], "6 offsets deleted\n")
    for arguments, code in ((["--before", "x"], 2), (["--before", "1", "-p", "7"], 1)):
        assert cli("records", "delete", topic, *arguments).code == code
