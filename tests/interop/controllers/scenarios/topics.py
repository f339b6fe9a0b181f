"""Topics, configs and features as the controller writes them."""

from tests.interop.controllers.scenarios.partitions import set_config
from tests.interop.controllers.talk import Talk

TOPIC, BROKER = 2, 4
LATEST = {"metadata.version": 30, "eligible.leader.replicas.version": 1, "share.version": 1, "streams.version": 1}
UPGRADE, SAFE_DOWNGRADE, UNSAFE_DOWNGRADE = 1, 2, 3


def creation(talk: Talk) -> None:
    """Where new partitions go, and who leads them."""

    def create(label: str, name: str = "c", *, loose: bool = False, **fields: object) -> None:
        topic = {"name": name, "num_partitions": 1, "replication_factor": 1, **fields}
        talk.ask(label, "CreateTopics", 7, loose=loose, timeout_ms=8000, topics=[topic])

    create("nobody is there")
    talk.register("1 registers", 1)
    create("nobody serves")
    _assigned(talk, "to who does not serve", "fenced", [1])
    talk.beat("1 serves", 1)
    talk.join(2, 3)
    create("as many as there are", "three", loose=True, num_partitions=5, replication_factor=3)
    create("more than there are", replication_factor=4)
    create("by default", "default", loose=True, num_partitions=-1, replication_factor=-1)
    create("there already", "three")
    _assigned(talk, "assigned", "assigned", [2, 1], [3, 2])
    _assigned(talk, "of two sizes", "sizes", [2, 1], [3])
    _assigned(talk, "to an unknown one", "unknown", [1, 77])
    _assigned(talk, "to one twice", "twice", [1, 1])
    _assigned(talk, "to nobody", "nobody", [])
    _assigned(talk, "to a negative one", "negative", [-1])
    chosen = [{"name": "three"}, {"name": "default"}]
    talk.ask("what was chosen goes", "DeleteTopics", 6, timeout_ms=8000, topics=chosen)
    talk.beat("2 is fenced", 2, want_fence=True)
    _assigned(talk, "with one that is fenced", "half", [2, 1])
    _assigned(talk, "only to one that is fenced", "none", [2])
    create("as many as serve", "two", loose=True, num_partitions=3, replication_factor=2)
    create("with one that is fenced by itself", "three-again", loose=True, num_partitions=3, replication_factor=3)
    configs = [{"name": "retention.ms", "value": "1000"}, {"name": "min.insync.replicas", "value": "2"}]
    _assigned(talk, "with configs", "configured", [1, 3], configs=configs)
    talk.ask("more", "CreatePartitions", 3, timeout_ms=8000, topics=[_more("assigned", 4, [1, 3], [3, 1])])
    talk.ask("not more", "CreatePartitions", 3, timeout_ms=8000, topics=[_more("assigned", 4, [1, 3])])
    talk.ask("of another size", "CreatePartitions", 3, timeout_ms=8000, topics=[_more("assigned", 5, [1])])
    talk.ask("with a fenced one", "CreatePartitions", 3, timeout_ms=8000, topics=[_more("assigned", 5, [2, 1])])
    talk.ask("to who is fenced", "CreatePartitions", 3, timeout_ms=8000, topics=[_more("none", 2, [2])])
    talk.ask("a missing one", "CreatePartitions", 3, timeout_ms=8000, topics=[_more("no-such", 2, [1])])
    anywhere = {"name": "two", "count": 7, "assignments": None}
    talk.ask("anywhere", "CreatePartitions", 3, loose=True, timeout_ms=8000, topics=[anywhere])
    chosen = [{"name": "three-again"}, {"name": "default"}]
    talk.ask("what was chosen goes, too", "DeleteTopics", 6, timeout_ms=8000, topics=chosen)
    gone = [{"name": "configured"}, {"name": "no-such"}, {"name": None, "topic_id": talk.topics["two"]}]
    talk.ask("deletion", "DeleteTopics", 6, timeout_ms=8000, topics=gone)


def _assigned(talk: Talk, label: str, name: str, *replicas: list[int], **fields: object) -> None:
    assignments = [{"partition_index": index, "broker_ids": ids} for index, ids in enumerate(replicas)]
    topic = {"name": name, "num_partitions": -1, "replication_factor": -1, "assignments": assignments, **fields}
    talk.ask(label, "CreateTopics", 7, timeout_ms=8000, topics=[topic])


def _more(name: str, count: int, *replicas: list[int]) -> dict[str, object]:
    return {"name": name, "count": count, "assignments": [{"broker_ids": ids} for ids in replicas]}


def configs(talk: Talk) -> None:
    """What is kept of brokers and topics; the smallest ISR, on which eligible leaders depend."""
    talk.join(1, 2)
    talk.create("k", [1, 2], [2, 1])

    def change(label: str, kind: int, name: str, operation: int, config: str, value: str | None) -> None:
        configs = [{"name": config, "config_operation": operation, "value": value}]
        resources = [{"resource_type": kind, "resource_name": name, "configs": configs}]
        talk.ask(label, "IncrementalAlterConfigs", 1, resources=resources)

    set_config(talk, "of a topic", "k", retention_ms=1000, cleanup_policy="compact")
    set_config(talk, "the same again", "k", retention_ms=1000)
    set_config(talk, "the smallest ISR", "k", min_insync_replicas=2)
    talk.alter("too small", 1, {"k": [talk.state("k", 0, [1])]})
    set_config(talk, "smaller", "k", min_insync_replicas=1)
    set_config(talk, "a bad value", "k", retention_ms="soon")
    set_config(talk, "an unknown topic", "no-such", retention_ms=1)
    change("append", TOPIC, "k", 2, "cleanup.policy", "delete")
    change("append again", TOPIC, "k", 2, "cleanup.policy", "delete")
    change("subtract", TOPIC, "k", 3, "cleanup.policy", "compact")
    change("delete", TOPIC, "k", 1, "retention.ms", None)
    change("delete what is not there", TOPIC, "k", 1, "retention.ms", None)
    change("of a broker", BROKER, "1", 0, "log.cleaner.threads", "2")
    change("of an unknown broker", BROKER, "9", 0, "log.cleaner.threads", "2")
    change("of an unknown broker, taken back", BROKER, "9", 1, "log.cleaner.threads", None)
    change("of an unknown broker, a bad value", BROKER, "9", 0, "log.cleaner.threads", "many")
    change("of no broker", BROKER, "x", 0, "log.cleaner.threads", "2")
    change("of all brokers", BROKER, "", 0, "log.cleaner.threads", "2")
    change("the smallest ISR of all", BROKER, "", 0, "min.insync.replicas", "2")
    change("the smallest ISR of a broker", BROKER, "1", 0, "min.insync.replicas", "2")
    talk.alter("too small for all", 1, {"k": [talk.state("k", 0, [1])]})
    change("the smallest ISR of all is one", BROKER, "", 0, "min.insync.replicas", "1")
    change("the smallest ISR of all is taken back", BROKER, "", 1, "min.insync.replicas", None)
    change("the threads of all are taken back", BROKER, "", 1, "log.cleaner.threads", None)
    change("the threads of one are taken back", BROKER, "1", 1, "log.cleaner.threads", None)
    change("unclean elections", TOPIC, "k", 0, "unclean.leader.election.enable", "true")
    whole = [{"resource_type": TOPIC, "resource_name": "k", "configs": [{"name": "segment.ms", "value": "5000"}]}]
    talk.ask("all at once", "AlterConfigs", 2, resources=whole)


def unclean_by_config(talk: Talk) -> None:
    """A topic that allows it gets a leader out of sync as soon as it is allowed."""
    talk.join(1, 2)
    talk.create("w", [1, 2])
    talk.alter("1 alone", 1, {"w": [talk.state("w", 0, [1])]})
    talk.beat("1 is fenced", 1, want_fence=True)
    set_config(talk, "allowed", "w", unclean_leader_election_enable=True)
    talk.beat("2 says that it lives", 2)
    talk.beat("1 is back", 1)


def without_eligible_leaders(talk: Talk) -> None:
    """The feature that a new cluster has is taken back: who leaves an ISR is nobody any more."""
    talk.join(1, 2)
    talk.create("x", [1, 2], min_insync_replicas=2)
    talk.alter("2 may lead", 1, {"x": [talk.state("x", 0, [1])]})
    _level(talk, "eligible.leader.replicas.version", 0, SAFE_DOWNGRADE)
    talk.alter("as it is", 1, {"x": [talk.state("x", 0, [1])]})
    talk.alter("2 is in sync", 1, {"x": [talk.state("x", 0, [1, 2])]})
    talk.alter("2 is out of sync", 1, {"x": [talk.state("x", 0, [1])]})


def upgrades(talk: Talk) -> None:
    """All levels are those of Kafka 4.3."""
    talk.join(1)
    for name, level in LATEST.items():
        _level(talk, name, level)


def _level(talk: Talk, name: str, level: int, kind: int = UPGRADE) -> None:
    wish = {"feature": name, "max_version_level": level, "upgrade_type": kind}
    talk.ask(f"{name} {level}", "UpdateFeatures", 1, timeout_ms=8000, feature_updates=[wish])


def features(talk: Talk) -> None:
    """Levels that cannot be, and those that change nothing; no broker stands against them."""
    talk.join(1)

    def update(label: str, name: str, level: int, kind: int = UPGRADE, *, dry: bool = False, version: int = 1) -> None:
        wish = {"feature": name, "max_version_level": level, "upgrade_type": kind}
        talk.ask(label, "UpdateFeatures", version, timeout_ms=8000, feature_updates=[wish], validate_only=dry)

    update("unknown", "no.such", 1)
    update("too high", "metadata.version", 99)
    update("too low", "metadata.version", 1, UNSAFE_DOWNGRADE)
    update("a downgrade by upgrading", "metadata.version", 20)
    update("a safe downgrade", "metadata.version", 20, SAFE_DOWNGRADE)
    update("no kind", "metadata.version", 30, 9)
    update("group down, only tried", "group.version", 0, SAFE_DOWNGRADE, dry=True)
    update("group as it is", "group.version", 1)
    update("negative", "group.version", -1)
    update("too high of a broker", "group.version", 2)
    update("version 2", "no.such", 1, version=2)
    talk.register(
        "2 knows less",
        2,
        features=[
            {"name": "metadata.version", "min_supported_version": 7, "max_supported_version": 30},
            {"name": "group.version", "min_supported_version": 0, "max_supported_version": 1},
            {"name": "transaction.version", "min_supported_version": 0, "max_supported_version": 2},
            {"name": "eligible.leader.replicas.version", "min_supported_version": 0, "max_supported_version": 1},
        ],
    )
    update("what 2 does not know", "share.version", 1)
    two = [
        {"feature": "no.such", "max_version_level": 1, "upgrade_type": UPGRADE},
        {"feature": "group.version", "max_version_level": 1, "upgrade_type": UPGRADE},
    ]
    talk.ask("one of two", "UpdateFeatures", 1, timeout_ms=8000, feature_updates=two)
    talk.ask("none", "UpdateFeatures", 1, timeout_ms=8000, feature_updates=[])
    talk.ask("one twice", "UpdateFeatures", 1, timeout_ms=8000, feature_updates=[two[1], two[1]])
    down = {"feature": "group.version", "max_version_level": 0, "upgrade_type": SAFE_DOWNGRADE}
    talk.ask("down and up", "UpdateFeatures", 1, timeout_ms=8000, feature_updates=[down, two[1]])
    talk.ask("up and down", "UpdateFeatures", 1, timeout_ms=8000, feature_updates=[two[1], down])
    update("up again", "group.version", 1)
