"""odradek groups translate."""

from confluent_kafka import Consumer, Producer, TopicPartition

from tests.integration.cli import Cli
from tests.support.broker import BrokerProcess


def _commit(broker: BrokerProcess, group: str, topic: str, offsets: list[int]) -> None:
    consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": group})
    wanted = [TopicPartition(topic, partition, offset) for partition, offset in enumerate(offsets)]
    consumer.commit(offsets=wanted, asynchronous=False)
    consumer.close()


def _copies(broker: BrokerProcess, original: str, copy: str, partition: int, offsets: range) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap})
    for offset in offsets:
        mark = f"{original}/{partition}/{offset}".encode()
        producer.produce(copy, b"x", partition=partition, headers=[("odradek.source", mark)])
    assert producer.flush(60) == 0


def _offsets(cli: Cli, *arguments: str) -> list[tuple[int, int, int | None, int | None]]:
    found = cli("groups", "translate", *arguments, "--json").json["offsets"]
    return [(each["partition"], each["committed"], each["before"], each["after"]) for each in found]


def test_a_group_goes_on_in_the_copy(cli: Cli, topic: str, broker: BrokerProcess) -> None:
    """Offsets become those of the copy, also where a part was copied twice; the dry run changes nothing, the run again
    nothing more, and what the copy lacks is said."""
    copy, group = f"{topic}.copy", f"g-{topic}"
    cli("topics", "create", topic, "-p", "3")
    cli("topics", "create", copy, "-p", "2")
    _copies(broker, topic, copy, 0, range(0, 600, 3))
    _copies(broker, topic, copy, 1, range(50))
    _copies(broker, topic, copy, 1, range(20, 80))
    _commit(broker, group, topic, [301, 70, 5])
    place = [group, "--to-bootstrap-server", broker.bootstrap, "--rename", f"({topic})=$1.copy", "--topic", topic]
    wanted = [(0, 301, None, 101), (1, 70, None, 100), (2, 5, None, None)]
    assert _offsets(cli, *place, "--dry-run") == wanted
    assert _offsets(cli, *place) == wanted
    shown = cli("groups", "translate", *place)
    assert [row[3:] for row in shown.table[1:]] == [
        ["301", copy, "101", "101"],
        ["70", copy, "100", "100"],
        ["5", copy, "-", "-"],
    ]
    assert f"left out, because there are no such partitions there: {copy}" in shown.error


def test_copies_that_cannot_be_told_are_refused(cli: Cli, topic: str, broker: BrokerProcess) -> None:
    """Without headers, or with partitions mixed, a place would be a guess; the sentence says how to relay."""
    copy, group = f"{topic}.copy", f"g-{topic}"
    for name in (topic, copy):
        cli("topics", "create", name)
    _commit(broker, group, topic, [5])
    cli("produce", copy, stdin=b"a\nb\n")
    place = ("groups", "translate", group, "--rename", f"{topic}={copy}")
    refused = cli(*place)
    assert (refused.code, "relay with --source-header and --keep-partitions" in refused.error) == (1, True)
    _copies(broker, topic, copy, 0, range(3))
    producer = Producer({"bootstrap.servers": broker.bootstrap})
    producer.produce(copy, b"x", headers=[("odradek.source", f"{topic}/7/3".encode())])
    assert producer.flush(60) == 0
    refused = cli(*place)
    assert (refused.code, "has records from partition 7 of" in refused.error) == (1, True)


def test_what_is_asked_for_must_make_sense(cli: Cli, topic: str) -> None:
    """A group without offsets, and a copy that would be the topic itself."""
    nowhere = cli("groups", "translate", "nobody")
    assert (nowhere.code, "name the other cluster" in nowhere.error) == (2, True)
    nothing = cli("groups", "translate", f"nobody-{topic}", "--rename", "a=b")
    assert (nothing.code, "has committed nothing" in nothing.error) == (1, True)
