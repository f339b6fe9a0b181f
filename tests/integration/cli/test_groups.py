"""odradek groups."""

from collections.abc import Iterator

import pytest
from confluent_kafka import Consumer

from tests.integration.cli import Cli
from tests.support.broker import BrokerProcess
from tests.support.waiting import eventually


@pytest.fixture
def group(cli: Cli, topic: str) -> str:
    """A group that has come to offset 4 of the 10 in partition 0 of a topic with two, and to none in the other."""
    cli("topics", "create", topic, "-p", "2")
    cli("produce", topic, "-p", "0", stdin=b"x\n" * 10)
    assert cli("groups", "reset", f"g-{topic}", "--to", "4", "--topic", f"{topic}:0").code == 0
    return f"g-{topic}"


@pytest.fixture
def member(broker: BrokerProcess, topic: str, group: str) -> Iterator[Consumer]:
    """A member of that group which has both partitions."""
    consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": group, "client.id": "reader"})
    consumer.subscribe([topic])
    eventually(lambda: consumer.poll(0.1) is not None or consumer.assignment(), "the member has its partitions")
    eventually(lambda: len(consumer.assignment()) == 2, "it has both")
    yield consumer
    consumer.close()


def _offsets(cli: Cli, group: str) -> dict[int, int]:
    [described] = cli("groups", "describe", group, "--json").json["groups"]
    return {each["partition"]: each["committed"] for each in described["offsets"]}


def test_list(cli: Cli, group: str) -> None:
    """Groups are listed with their state and type."""
    row = {"group": group, "state": "EMPTY", "type": "CLASSIC", "lag": None}
    assert row in cli("groups", "list", "--json").json["groups"]
    assert [group, "empty", "classic"] in cli("groups", "list").table


def test_describe_shows_how_far_it_is_behind(cli: Cli, topic: str, group: str) -> None:
    """Committed offset, end and lag of each partition that has a commit, and the sum."""
    [described] = cli("groups", "describe", group, "--json").json["groups"]
    assert described == {
        "group": group,
        "state": "EMPTY",
        "type": "CLASSIC",
        "assignor": "",
        "coordinator": 1,
        "lag": 6,
        "members": [],
        "offsets": [{"topic": topic, "partition": 0, "committed": 4, "end": 10, "lag": 6, "member_id": None}],
    }


def test_describe_shows_members(cli: Cli, topic: str, group: str, member: Consumer) -> None:
    """Who has which partition, also where nothing is committed there."""
    [described] = cli("groups", "describe", group, "--json").json["groups"]
    [found] = described["members"]
    assert (described["state"], found["client_id"], found["instance_id"]) == ("STABLE", "reader", None)
    assert found["partitions"] == [{"topic": topic, "partition": 0}, {"topic": topic, "partition": 1}]
    assert [each["member_id"] for each in described["offsets"]] == [found["member_id"]] * 2
    assert described["offsets"][1]["committed"] is None
    [title, facts, heading, *rows] = cli("groups", "describe", group).table
    assert title == [group]
    assert facts[0] == "stable,"
    assert heading == ["TOPIC", "PARTITION", "OFFSET", "END", "LAG", "CLIENT", "HOST", "MEMBER"]
    assert rows[1] == [topic, "1", "-", "0", "-", "reader", "127.0.0.1", found["member_id"]]


def test_reset_as_json(cli: Cli, topic: str, group: str) -> None:
    """What was, and what is now; a dry run says the same and changes nothing."""
    expected = {"group": group, "offsets": [{"topic": topic, "partition": 0, "before": 4, "after": 0}]}
    tried = cli("groups", "reset", group, "--to", "beginning", "--dry-run", "--json").json
    assert tried == {**expected, "dry_run": True}
    assert _offsets(cli, group) == {0: 4}
    assert cli("groups", "reset", group, "--to", "beginning", "--json").json == {**expected, "dry_run": False}
    assert _offsets(cli, group) == {0: 0}


@pytest.mark.parametrize(
    ("arguments", "after"),
    [
        (["--to", "latest"], 10),
        (["--to", "end"], 10),
        (["--to", "7"], 7),
        (["--to", "70"], 10),
        (["--to", "-1"], 9),
        (["--to", "1h"], 0),
        (["--to", "2100-01-01"], 10),
        (["--to", "@1000"], 0),
        (["--shift-by", "3"], 7),
        (["--shift-by", "-3"], 1),
        (["--shift-by", "-30"], 0),
    ],
)
def test_reset_to_a_place(cli: Cli, group: str, arguments: list[str], after: int) -> None:
    """A word, an offset, a time, so long ago, so many further: never outside of what the partition has."""
    assert cli("groups", "reset", group, *arguments).code == 0
    assert _offsets(cli, group) == {0: after}


def test_reset_of_partitions_that_are_named(cli: Cli, topic: str, group: str) -> None:
    """Only they are moved, also where the group had committed nothing; a new group can be given offsets."""
    cli("groups", "reset", group, "--to", "0", "--topic", f"{topic}:1")
    assert _offsets(cli, group) == {0: 4, 1: 0}
    made = cli("groups", "reset", f"{group}-new", "--to", "5", "--topic", topic)
    assert (made.code, made.error) == (0, f"group {group}-new had committed nothing: is it the one that is meant?\n")
    assert _offsets(cli, f"{group}-new") == {0: 5, 1: 0}


def test_a_group_with_members_is_left_alone(cli: Cli, group: str, member: Consumer) -> None:
    """It is neither reset nor deleted, and the sentence says what to do."""
    reset = cli("groups", "reset", group, "--to", "0")
    assert (reset.code, reset.error) == (1, f"odradek: group {group} has 1 member; stop its consumers first\n")
    deleted = cli("groups", "delete", group)
    assert (deleted.code, deleted.error) == (1, f"odradek: group {group} has members; stop its consumers first\n")
    assert _offsets(cli, group)[0] == 4


def test_delete(cli: Cli, group: str) -> None:
    """A group that is deleted is gone with its offsets; one that is not there is an error, after the others."""
    result = cli("groups", "delete", f"{group}-no", group, "--json")
    assert result.code == 1
    assert result.error.startswith(f"odradek: group {group}-no does not exist; ")
    described = cli("groups", "describe", group)
    assert (described.code, described.error) == (
        1,
        f"odradek: group {group} does not exist; `odradek groups list` shows those that do\n",
    )


def test_resets_that_say_too_little_or_too_much(cli: Cli, topic: str, group: str) -> None:
    """One sentence each."""
    cases: dict[tuple[str, ...], tuple[int, str]] = {
        (group,): (2, "give either --to or --shift-by"),
        (group, "--to", "0", "--shift-by", "1"): (2, "give either --to or --shift-by"),
        (group, "--to", "soon"): (2, "--to: 'soon' is no place in a topic"),
        (group, "--to", "0", "--topic", f"{topic}:x"): (2, f"--topic '{topic}:x' is neither TOPIC nor"),
        (group, "--to", "0", "--topic", f"{topic}:7"): (1, f"topic {topic} has no partition 7"),
        (group, "--shift-by", "1", "--topic", topic): (1, f"group {group} has no offset in partition 1 of {topic}"),
        (f"{group}-no", "--to", "0"): (1, f"group {group}-no has committed nothing; name topics"),
    }
    for arguments, (code, sentence) in cases.items():
        result = cli("groups", "reset", *arguments)
        assert result.code == code
        assert result.error.startswith(f"odradek: {sentence}")
        assert result.error.count("\n") == 1


def test_list_with_lag(cli: Cli, topic: str, group: str) -> None:
    """Those that are most behind come first; a form chooses among them."""
    cli("groups", "reset", f"{group}-done", "--to", "end", "--topic", topic)
    found = cli("groups", "list", "--lag", "--pattern", f"{group}.*", "--json").json["groups"]
    assert [(each["group"], each["lag"]) for each in found] == [(group, 6), (f"{group}-done", 0)]
    assert cli("groups", "list", "--lag", "--pattern", group).table[1] == [group, "empty", "classic", "6"]
    assert cli("groups", "list", "--pattern", f"{group}-x").error == f"no group is of the form {group}-x\n"


def test_watch(cli: Cli, group: str) -> None:
    """How far it is behind at each look, and from the second one on how fast it reads."""
    first = cli("groups", "watch", group, "--count", "1", "--json").json
    assert (first["group"], first["members"], first["lag"], first["consumed_per_second"]) == (group, 0, 6, None)
    result = cli("groups", "watch", group, "-n", "2", "--interval", "50ms")
    heading, _, second = result.table
    assert heading[:5] == ["TIME", "GROUP", "STATE", "MEMBERS", "LAG"]
    assert second[1:] == [group, "empty", "0", "6", "0", "0", "never"]
    assert cli("groups", "watch", group, "--interval", "soon").code == 2
    assert cli("groups", "watch", f"{group}-no", "-n", "1").code == 1


def test_offsets_are_deleted_by_topic(cli: Cli, topic: str, group: str) -> None:
    """Only those that are named go; nothing to delete is an error."""
    cli("groups", "reset", group, "--to", "0", "--topic", f"{topic}:1")
    deleted = cli("groups", "delete-offsets", group, "--topic", f"{topic}:0", "--json").json
    assert deleted == {"group": group, "offsets": [{"topic": topic, "partition": 0, "before": 4}]}
    assert _offsets(cli, group) == {1: 0}
    nothing = cli("groups", "delete-offsets", group, "--topic", f"{topic}:0")
    assert (nothing.code, nothing.error.startswith(f"odradek: group {group} has committed nothing there;")) == (1, True)


def test_offsets_of_a_topic_that_is_read_stay(cli: Cli, topic: str, group: str, member: Consumer) -> None:
    """The sentence says whose consumers are to be stopped."""
    refused = cli("groups", "delete-offsets", group, "--topic", topic)
    assert refused.code == 1
    assert "a member reads the topic; stop its consumers first" in refused.error
    assert _offsets(cli, group)[0] == 4
