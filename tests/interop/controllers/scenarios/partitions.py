"""ISRs, leaders and replicas: AlterPartition, ElectLeaders, AlterPartitionReassignments."""

from collections.abc import Mapping, Sequence
from typing import Any

from tests.interop.controllers.talk import Talk

PREFERRED, UNCLEAN = 0, 1
RECOVERING = 1


def isr(talk: Talk) -> None:
    """What a leader may ask for, and what it is told."""
    talk.join(1, 2, 3)
    talk.register("4 registers", 4)
    talk.create("i", [1, 2, 3])
    talk.create("four", [2, 1, 3, 4])
    talk.create("one", [1])

    def ask(label: str, members: Sequence[int | tuple[int, int]], topic: str = "i", **fields: Any) -> None:
        talk.alter(label, 1, {topic: [talk.state(topic, 0, members, **fields)]})

    leader_epoch, partition_epoch = talk.epochs_of("i")
    ask("shrink", [1, 2])
    ask("the epoch of before", [1, 2, 3], partition_epoch=partition_epoch)
    ask("a partition epoch to come", [1, 2, 3], partition_epoch=partition_epoch + 9)
    ask("an older leader epoch", [1, 2, 3], leader_epoch=leader_epoch - 1)
    ask("a leader epoch to come", [1, 2, 3], leader_epoch=leader_epoch + 1)
    ask("nothing new", [1, 2])
    ask("expand", [1, 2, 3])
    ask("in another order", [3, 1, 2])
    ask("nobody", [])
    ask("without the leader", [2, 3])
    ask("no replica", [1, 4])
    ask("nobody knows it", [1, 77])
    ask("twice", [1, 1])
    ask("an old epoch of a broker", [1, (2, talk.epochs[2] - 1)])
    ask("an epoch to come of a broker", [1, (2, talk.epochs[2] + 1)])
    ask("any epoch of a broker", [1, (2, -1)])
    ask("no such partition", [1], partition_index=9)
    ask("a negative partition", [1], partition_index=-1)
    ask("recovering", [1], leader_recovery_state=RECOVERING)
    ask("recovering with others", [1, 2], leader_recovery_state=RECOVERING)
    ask("not the leader", [2, 1], "four")
    talk.alter("a fenced replica", 2, {"four": [talk.state("four", 0, [2, 1, 4])]})
    talk.alter("an old epoch of the sender", 1, {"i": [talk.state("i", 0, [1])]}, broker_epoch=talk.epochs[1] - 1)
    talk.alter("an unknown sender", 77, {"i": [talk.state("i", 0, [1])]})
    talk.alter("an unknown topic", 1, {"no-such": [talk.state("i", 0, [1])]})
    talk.alter("no topics", 1, {})
    talk.alter("no partitions", 1, {"i": []})
    talk.alter("two at once", 1, {"i": [talk.state("i", 0, [1])], "one": [talk.state("one", 0, [1])]})
    talk.alter("one twice", 1, {"i": [talk.state("i", 0, [1, 2]), talk.state("i", 0, [1, 3])]})
    for label, members in (("version 2", [1, 2]), ("version 2, a fenced replica", [1, 4])):
        topics = [{"topic_id": talk.topics["i"], "partitions": [talk.state("i", 0, [], new_isr=members)]}]
        epoch = talk.epochs[1]
        talk.ask(label, "AlterPartition", 2, broker_id=1, broker_epoch=epoch, topics=topics)


def eligible_leaders(talk: Talk) -> None:
    """The last ones in sync (KIP-966): who leaves an ISR that is too small may still lead; the last known leader."""
    talk.join(1, 2, 3)
    talk.create("e", [1, 2, 3], min_insync_replicas=2)
    talk.alter("three to two", 1, {"e": [talk.state("e", 0, [1, 2])]})
    talk.alter("two to one", 1, {"e": [talk.state("e", 0, [1])]})
    talk.alter("one to two", 1, {"e": [talk.state("e", 0, [1, 2])]})
    talk.alter("two to one again", 1, {"e": [talk.state("e", 0, [1])]})
    talk.beat("the leader is fenced", 1, want_fence=True)
    talk.beat("who was eligible is fenced", 2, want_fence=True)
    talk.beat("the leader of before is back", 1)
    elect(talk, "the preferred", PREFERRED, {"e": [0]})
    talk.beat("2 is back", 2)
    talk.alter("2 is in sync", 1, {"e": [talk.state("e", 0, [1, 2])]})
    set_config(talk, "fewer will do", "e", min_insync_replicas=1)
    talk.alter("one will do", 1, {"e": [talk.state("e", 0, [1])]})
    set_config(talk, "more again", "e", min_insync_replicas=3)
    talk.alter("two will not do", 1, {"e": [talk.state("e", 0, [1, 2])]})
    set_config(talk, "the default", "e", min_insync_replicas=None)
    talk.beat("2 is fenced", 2, want_fence=True)
    talk.beat("1 is fenced", 1, want_fence=True)
    elect(talk, "unclean, with the last known leader away", UNCLEAN, {"e": [0]})
    talk.beat("2 comes first", 2)
    talk.beat("1 comes back", 1)
    talk.beat("1 is fenced again", 1, want_fence=True)
    talk.register("1 crashed", 1, "second")
    talk.beat("1 serves without its records", 1)


def elections(talk: Talk) -> None:
    """Preferred and unclean ones, of some partitions or of all."""
    talk.join(1, 2, 3)
    talk.create("p", [1, 2], [2, 1], [3, 1])
    talk.create("one", [1])
    talk.create("u", [1, 2], unclean_leader_election_enable=True)
    talk.alter("u shrinks", 1, {"u": [talk.state("u", 0, [1])], "p": [talk.state("p", 0, [1])]})
    elect(talk, "not needed", PREFERRED, {"p": [0, 1, 2, 9], "no-such": [0]})
    elect(talk, "of none", PREFERRED, {})
    elect(talk, "no kind", 7, {"p": [0]})
    elect(talk, "a partition twice", PREFERRED, {"p": [0, 0]})
    elect(talk, "not needed, unclean", UNCLEAN, {"p": [0], "u": [0]})
    elect(talk, "all, not needed", PREFERRED, None)
    talk.beat("1 is fenced", 1, want_fence=True)
    elect(talk, "the preferred is away", PREFERRED, {"p": [0], "one": [0]})
    elect(talk, "unclean", UNCLEAN, {"p": [0], "one": [0], "u": [0]})
    elect(talk, "unclean once more", UNCLEAN, None)
    talk.alter("recovered", 2, {"p": [talk.state("p", 0, [2])]})
    talk.beat("1 is back", 1)
    elect(talk, "the preferred is not in sync", PREFERRED, None)
    talk.alter("1 is in sync", 2, {"p": [talk.state("p", 0, [2, 1]), talk.state("p", 1, [2, 1])]})
    elect(talk, "the preferred", PREFERRED, {"p": [0, 1]})
    for version in (0, 1):
        wanted: dict[str, Any] = {"topic_partitions": [{"topic": "p", "partitions": [0, 9]}], "timeout_ms": 8000}
        if version:
            wanted["election_type"] = UNCLEAN
        talk.ask(f"version {version}", "ElectLeaders", version, **wanted)


def elect(talk: Talk, label: str, kind: int, wishes: Mapping[str, Sequence[int]] | None) -> None:
    """Ask for elections: partitions by topic, None for all."""
    topics = None
    if wishes is not None:
        topics = [{"topic": name, "partitions": list(indexes)} for name, indexes in wishes.items()]
    talk.ask(label, "ElectLeaders", 2, election_type=kind, topic_partitions=topics, timeout_ms=8000)


def reassignments(talk: Talk) -> None:
    """Begun, changed, called off, ended by the ISR, or at once."""
    talk.join(1, 2, 3)
    talk.register("4 registers", 4)
    talk.create("r", [1, 2], [2, 1])
    talk.create("one", [3])
    talk.create("three", [1, 2, 3])

    def move(label: str, *wishes: tuple[str, int, Sequence[int] | None], **fields: Any) -> None:
        topics = [
            {"name": name, "partitions": [{"partition_index": index, "replicas": None if to is None else list(to)}]}
            for name, index, to in wishes
        ]
        request = {"timeout_ms": 8000, "allow_replication_factor_change": True, "topics": topics}
        talk.ask(label, "AlterPartitionReassignments", 1, **{**request, **fields})
        talk.ask(f"{label}: under way", "ListPartitionReassignments", 0, timeout_ms=8000, topics=None)

    move("add", ("r", 0, [1, 2, 3]))
    talk.alter("it is in sync", 1, {"r": [talk.state("r", 0, [1, 2, 3])]})
    move("remove", ("r", 0, [1, 2]))
    move("another order", ("r", 0, [2, 1]))
    move("the same", ("r", 0, [2, 1]))
    move("replace the leader", ("r", 1, [3, 1]))
    talk.alter("the newcomer is in sync", 2, {"r": [talk.state("r", 1, [2, 1, 3])]})
    move("another place", ("one", 0, [1]))
    move("change its mind", ("one", 0, [2]))
    move("call it off", ("one", 0, None))
    move("call off what is not under way", ("one", 0, None), ("r", 9, None))
    move("a fenced broker", ("r", 0, [2, 4]))
    move("and back", ("r", 0, None))
    move("an unknown broker", ("r", 0, [1, 77]))
    move("a broker twice", ("r", 0, [1, 1]))
    move("nobody", ("r", 0, []))
    move("a negative broker", ("r", 0, [-1]))
    move("an unknown topic", ("no-such", 0, [1]))
    move("an unknown partition", ("r", 9, [1]), ("r", -1, [1]))
    move("not so many", ("r", 0, [1]), allow_replication_factor_change=False)
    move("as many", ("r", 0, [3, 2]), allow_replication_factor_change=False)
    move("more while it moves", ("r", 0, [3, 2, 1]), allow_replication_factor_change=False)
    move("call that off", ("r", 0, None))
    move("several", ("r", 0, [1, 3]), ("three", 0, [3, 2, 1]), ("one", 0, [1, 2]))
    talk.ask("none", "AlterPartitionReassignments", 1, timeout_ms=8000, topics=[])
    listed = [{"name": "r", "partition_indexes": [0, 3, 9]}, {"name": "no-such", "partition_indexes": [0]}]
    talk.ask("some are listed", "ListPartitionReassignments", 0, timeout_ms=8000, topics=listed)
    talk.ask("none are listed", "ListPartitionReassignments", 0, timeout_ms=8000, topics=[])
    talk.alter("one of two", 3, {"one": [talk.state("one", 0, [3, 1])]})
    talk.beat("a target is fenced", 2, want_fence=True)
    talk.alter("of who is left", 3, {"one": [talk.state("one", 0, [3, 1])]})
    gone = [{"name": "one"}, {"name": "r"}]
    talk.ask("their topics go", "DeleteTopics", 6, timeout_ms=8000, topics=gone)
    talk.ask("nothing is left", "ListPartitionReassignments", 0, timeout_ms=8000, topics=None)


def set_config(talk: Talk, label: str, topic: str, **values: object) -> None:
    """Set configs of a topic; None takes one back."""
    configs = [
        {
            "name": name.replace("_", "."),
            "config_operation": 0 if value is not None else 1,
            "value": None if value is None else str(value),
        }
        for name, value in values.items()
    ]
    resources = [{"resource_type": 2, "resource_name": topic, "configs": configs}]
    talk.ask(label, "IncrementalAlterConfigs", 1, resources=resources)
