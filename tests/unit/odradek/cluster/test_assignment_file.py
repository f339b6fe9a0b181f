"""Plans as files, which anybody may have written."""

import json
from pathlib import Path

import pytest

from odradek.cluster.assignment_file import read_assignment, write_assignment
from odradek.cluster.directory_moves import Replica
from odradek.terminal.errors import CommandError

PLAN = {("a", 0): (1, 2), ("b", 10): (3,)}


def test_what_was_written_is_read_again(tmp_path: Path) -> None:
    """Its form is that of kafka-reassign-partitions."""
    path = tmp_path / "plan.json"
    write_assignment(path, PLAN)
    assert read_assignment(path) == (PLAN, {})
    assert json.loads(path.read_text())["partitions"][0] == {"topic": "a", "partition": 0, "replicas": [1, 2]}


def test_what_kafkas_own_tool_wrote_is_read(tmp_path: Path) -> None:
    """It names log directories, which may be any."""
    path = tmp_path / "plan.json"
    path.write_text(
        '{"version":1,"partitions":[{"topic":"t","partition":0,"replicas":[2,1],"log_dirs":["any","any"]}]}'
    )
    assert read_assignment(path) == ({("t", 0): (2, 1)}, {})


def test_log_directories_are_those_of_single_replicas(tmp_path: Path) -> None:
    """In the order of the replicas."""
    path = tmp_path / "plan.json"
    path.write_text(
        '{"version":1,"partitions":[{"topic":"t","partition":0,"replicas":[2,1],"log_dirs":["any","/data"]}]}'
    )
    assert read_assignment(path).directories == {Replica(("t", 0), 1): "/data"}


def _one(**changed: object) -> str:
    return json.dumps({"version": 1, "partitions": [{"topic": "t", "partition": 0, "replicas": [1], **changed}]})


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "Expecting value"),
        ("[]", 'it has no "version": 1'),
        ('{"version": 2, "partitions": []}', 'it has no "version": 1'),
        ('{"version": 1}', "it lacks 'partitions'"),
        ('{"version": 1, "partitions": [{}]}', "it lacks 'topic'"),
        ('{"version": 1, "partitions": 7}', "not iterable"),
        (_one(topic=1), "a topic is a text"),
        (_one(partition=-1), "a topic is a text"),
        (_one(partition=True), "a topic is a text"),
        (_one(replicas=["1"]), "a topic is a text"),
        (_one(replicas=1), "it has|must be an iterable"),
        (_one(replicas=[]), "no replicas, or one broker twice"),
        (_one(replicas=[1, 1]), "no replicas, or one broker twice"),
        (_one(log_dirs=["/data", "any"]), "other than one log directory"),
        (_one(log_dirs=[1]), "other than one log directory"),
        ('{"version": 1, "partitions": %s}' % ("[" * 100_000), "recursion"),
    ],
)
def test_what_is_no_plan(tmp_path: Path, content: str, said: str) -> None:
    """The sentence names the file, and what in it is wrong."""
    path = tmp_path / "plan.json"
    path.write_text(content)
    with pytest.raises(CommandError, match=f"^{path} is no plan of replicas: .*({said})"):
        read_assignment(path)


def test_a_partition_that_is_in_it_twice(tmp_path: Path) -> None:
    """Nobody can say which one counts."""
    path = tmp_path / "plan.json"
    twice = json.loads(_one())
    twice["partitions"] *= 2
    path.write_text(json.dumps(twice))
    with pytest.raises(CommandError, match="partition 0 of t is in it twice"):
        read_assignment(path)
