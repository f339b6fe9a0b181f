"""Changes of configuration: each row is what Apache Kafka 4.3 answered to the same request on a single node.

OK is the value stored afterwards; CONFIG is INVALID_CONFIG, REQUEST is INVALID_REQUEST, SERVER is UNKNOWN_SERVER_ERROR.
"""

from time import process_time

import pytest

from odradek.config.alter import AlterConfigOp, AlterContext, AlterTarget, ConfigChange, alter, check, check_form
from odradek.config.errors import ConfigError, ConfigRequestError, UnknownOperationError
from odradek.config.layers import BrokerLayers

SET, DELETE, APPEND, SUBTRACT = AlterConfigOp
MAP = "listener.security.protocol.map"
LISTENER = "listener.name.plaintext.max.connections"
KEYSTORE = "listener.name.plaintext.ssl.keystore.type"
STATIC = {
    "node.id": "1",
    "process.roles": "broker,controller",
    "listeners": "PLAINTEXT://127.0.0.1:9092",
    "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT",
    "log.dirs": "/tmp/kafka-data",
}
CONFIG, REQUEST, SERVER = ConfigError, ConfigRequestError, UnknownOperationError
Outcome = type[ConfigError] | dict[str, str]
Row = tuple[dict[str, str], list[tuple[str, int, str | None]], Outcome]


def surroundings(*, elr: bool = False, **layers: dict[str, str]) -> AlterContext:
    default = layers.get("all_brokers", {"min.insync.replicas": "1"})
    return AlterContext(BrokerLayers(STATIC, default, layers.get("broker", {})), elr)


def altered(
    target: AlterTarget, current: dict[str, str], changes: list[ConfigChange], around: AlterContext
) -> dict[str, str]:
    """Return the values after a change that is whole, applied and judged in this order, as by a broker."""
    check_form(changes)
    values = alter(target, current, changes)
    check(target, current, values, around)
    return values


def outcome(target: AlterTarget, row: Row, around: AlterContext) -> Outcome:
    current, changes, _ = row
    try:
        return altered(target, current, [ConfigChange(*change) for change in changes], around)
    except ConfigError as error:
        return type(error)


T = "retention.ms"
P = "cleanup.policy"
TOPIC: list[Row] = [
    ({}, [], {}),
    ({}, [(T, SET, "7000")], {T: "7000"}),
    ({T: "7000"}, [(T, DELETE, None)], {}),
    ({}, [(T, DELETE, None)], {}),
    ({}, [(T, DELETE, "5")], {}),
    ({}, [("nope", DELETE, None)], {}),
    ({}, [(T, SET, "")], CONFIG),
    ({}, [(T, SET, "-2")], CONFIG),
    ({}, [(T, SET, None)], REQUEST),
    ({}, [(T, APPEND, "5")], CONFIG),
    ({}, [(T, SUBTRACT, "5")], CONFIG),
    ({}, [("nope", APPEND, "5")], CONFIG),
    ({}, [("nope", SET, "1")], CONFIG),
    ({}, [("nope", SET, None)], REQUEST),
    ({}, [(T, 9, "5")], SERVER),
    ({}, [(T, -1, "5")], SERVER),
    ({}, [(T, 9, None)], REQUEST),
    ({}, [(T, 9, "1"), ("segment.ms", SET, "x")], SERVER),
    ({}, [("segment.ms", APPEND, "x"), (T, 9, "1")], CONFIG),
    ({}, [("segment.ms", SET, "x"), (T, SET, None)], REQUEST),
    ({}, [(T, SET, "5000"), (T, SET, "6000")], REQUEST),
    ({}, [(T, SET, "5000"), (T, DELETE, None)], REQUEST),
    ({}, [(T, SET, None), (T, SET, None)], REQUEST),
    ({}, [(P, APPEND, "compact"), (P, APPEND, "delete")], REQUEST),
    ({T: "1"}, [(T, SET, "5500"), ("segment.ms", SET, "x")], CONFIG),
    ({}, [(T, SET, "5500"), ("segment.ms", SET, "600000")], {T: "5500", "segment.ms": "600000"}),
    ({P: "compact"}, [(P, APPEND, "delete")], {P: "compact,delete"}),
    ({P: "compact,delete"}, [(P, APPEND, "delete")], {P: "compact,delete"}),
    ({P: "compact,delete"}, [(P, SUBTRACT, "compact")], {P: "delete"}),
    ({P: "delete"}, [(P, SUBTRACT, "compact")], {P: "delete"}),
    ({P: "delete"}, [(P, SUBTRACT, "delete")], {P: ""}),
    ({P: "delete"}, [(P, SUBTRACT, "")], {P: "delete"}),
    ({}, [(P, APPEND, "compact")], {P: "delete,compact"}),
    ({}, [(P, APPEND, " compact ")], {P: "delete,compact"}),
    ({}, [(P, APPEND, "compact,delete,compact")], {P: "delete,compact"}),
    ({P: "delete,compact"}, [(P, SUBTRACT, "delete,compact")], {P: ""}),
    ({P: ""}, [(P, APPEND, "compact")], {P: "compact"}),
    ({}, [(P, SET, "")], {P: ""}),
    ({}, [(P, APPEND, "")], CONFIG),
    ({}, [(P, APPEND, "foo")], CONFIG),
    ({}, [(P, APPEND, None)], REQUEST),
    ({}, [(P, SUBTRACT, None)], REQUEST),
    ({"max.compaction.lag.ms": "5"}, [("min.compaction.lag.ms", SET, "10")], CONFIG),
    ({}, [("remote.storage.enable", SET, "true")], CONFIG),
]
BROKER: list[Row] = [
    ({}, [("log.cleaner.threads", SET, "2")], {"log.cleaner.threads": "2"}),
    ({}, [("log.cleaner.threads", SET, "x")], REQUEST),
    ({}, [("log.cleaner.threads", SET, "0")], REQUEST),
    ({}, [("log.cleaner.threads", SET, "3")], REQUEST),
    ({}, [("num.io.threads", SET, "16")], {"num.io.threads": "16"}),
    ({}, [("num.io.threads", SET, "17")], REQUEST),
    ({}, [("num.io.threads", SET, "3")], REQUEST),
    ({}, [("background.threads", SET, "1")], REQUEST),
    ({}, [("log.dirs", SET, "/x")], REQUEST),
    ({}, [("log.dirs", APPEND, "/x")], REQUEST),
    ({}, [("log.dirs", DELETE, None)], {}),
    ({}, [("log.retention.hours", SET, "5")], REQUEST),
    ({}, [("compression.type", SET, "gzip"), ("log.dirs", SET, "/x")], REQUEST),
    ({}, [("nope", SET, "1")], {"nope": "1"}),
    ({}, [("nope", DELETE, None)], {}),
    ({}, [("nope", APPEND, "1")], CONFIG),
    ({}, [("retention.ms", SET, "5")], {"retention.ms": "5"}),
    ({}, [("message.max.bytes", APPEND, "5")], CONFIG),
    ({}, [("message.max.bytes", SET, None)], REQUEST),
    ({}, [("message.max.bytes", 9, "5")], REQUEST),
    ({}, [("message.max.bytes", SET, "5"), ("message.max.bytes", SET, "6")], REQUEST),
    ({}, [("log.retention.ms", SET, "0")], REQUEST),
    ({}, [("log.retention.ms", SET, "-5")], {"log.retention.ms": "-5"}),
    ({}, [("log.roll.ms", SET, "0")], REQUEST),
    ({}, [("log.segment.bytes", SET, "5")], REQUEST),
    ({}, [("log.cleaner.dedupe.buffer.size", SET, "5")], REQUEST),
    ({}, [("log.cleanup.policy", APPEND, "compact")], {"log.cleanup.policy": "delete,compact"}),
    ({}, [("log.cleanup.policy", SET, "foo")], REQUEST),
    ({}, [("log.cleanup.policy", SET, "")], {"log.cleanup.policy": ""}),
    ({}, [("max.connections", SET, "0")], REQUEST),
    ({}, [("max.connection.creation.rate", SET, "0")], REQUEST),
    ({}, [("max.connections.per.ip", SET, "0")], REQUEST),
    ({}, [("max.connections.per.ip.overrides", SET, "zz")], REQUEST),
    (
        {},
        [(MAP, SET, "PLAINTEXT:PLAINTEXT")],
        {MAP: "PLAINTEXT:PLAINTEXT"},
    ),
    ({}, [("advertised.listeners", SET, "PLAINTEXT://h:1")], REQUEST),
    ({}, [("ssl.keystore.location", SET, "/x")], REQUEST),
    ({}, [(LISTENER, SET, "500")], {LISTENER: "500"}),
    ({}, [(LISTENER, SET, "x")], REQUEST),
    ({}, [("listener.name.plaintext.nope", SET, "x")], {"listener.name.plaintext.nope": "x"}),
    (
        {},
        [(KEYSTORE, SET, "PEM")],
        {KEYSTORE: "PEM"},
    ),
    ({}, [("leader.replication.throttled.rate", SET, "1000")], {"leader.replication.throttled.rate": "1000"}),
    ({}, [("leader.replication.throttled.rate", SET, "-1")], REQUEST),
    ({}, [("log.local.retention.ms", SET, "999999999999")], REQUEST),
    ({}, [("log.local.retention.ms", SET, "-1")], REQUEST),
    ({}, [("log.local.retention.bytes", SET, "5")], {"log.local.retention.bytes": "5"}),
    ({}, [("log.retention.bytes", SET, "3"), ("log.local.retention.bytes", SET, "5")], REQUEST),
]
ALL_BROKERS: list[Row] = [
    ({}, [("log.retention.ms", SET, "999999999")], {"log.retention.ms": "999999999"}),
    ({}, [("log.dirs", SET, "/x")], REQUEST),
    ({}, [("nope", SET, "1")], {"nope": "1"}),
    ({}, [("listeners", SET, "PLAINTEXT://127.0.0.1:9092")], REQUEST),
    ({}, [("cordoned.log.dirs", SET, "")], REQUEST),
    ({}, [("ssl.keystore.location", SET, "/x")], REQUEST),
    ({}, [(KEYSTORE, SET, "PEM")], REQUEST),
    ({}, [(LISTENER, SET, "500")], {LISTENER: "500"}),
]
G = "consumer.session.timeout.ms"
GROUP: list[Row] = [
    ({}, [(G, SET, "50000")], {G: "50000"}),
    ({G: "50000"}, [(G, DELETE, None)], {}),
    ({}, [(G, SET, "1")], CONFIG),
    ({}, [(G, SET, "100000")], CONFIG),
    ({}, [(G, SET, "x")], CONFIG),
    ({}, [(G, SET, None)], REQUEST),
    ({}, [(G, APPEND, "1")], CONFIG),
    ({}, [("nope", SET, "1")], CONFIG),
    ({}, [("nope", DELETE, None)], {}),
    ({}, [("consumer.heartbeat.interval.ms", SET, "60000")], CONFIG),
    ({}, [("consumer.assignment.interval.ms", SET, "999999")], CONFIG),
    ({}, [("share.isolation.level", SET, "READ_COMMITTED")], CONFIG),
    ({}, [("share.auto.offset.reset", SET, "none")], CONFIG),
    ({}, [("share.auto.offset.reset", SET, "by_duration:PT1H")], {"share.auto.offset.reset": "by_duration:PT1H"}),
    ({}, [("share.delivery.count.limit", SET, "11")], CONFIG),
    ({}, [("share.partition.max.record.locks", SET, "100000")], CONFIG),
    ({}, [("share.session.timeout.ms", SET, "4000")], CONFIG),
    ({}, [("streams.num.standby.replicas", SET, "3")], CONFIG),
    ({}, [("streams.heartbeat.interval.ms", SET, "1")], CONFIG),
]
METRICS: list[Row] = [
    ({}, [("interval.ms", SET, "1000")], {"interval.ms": "1000"}),
    ({}, [("interval.ms", SET, "1")], REQUEST),
    ({}, [("interval.ms", SET, "TRUE")], CONFIG),
    ({}, [("interval.ms", SET, "")], CONFIG),
    ({}, [("interval.ms", SET, "x"), ("nope", SET, "1")], REQUEST),
    ({}, [("nope", SET, "1")], REQUEST),
    ({}, [("match", SET, "client_id=x.*")], {"match": "client_id=x.*"}),
    ({}, [("match", SET, "zz=x")], CONFIG),
    ({}, [("match", SET, "client_id=(")], CONFIG),
    ({}, [("match", SET, "client_id")], CONFIG),
    ({"match": "client_id=x"}, [("match", APPEND, "client_software_name=y")], CONFIG),
    ({}, [("metrics", SET, "a.b,c.d")], {"metrics": "a.b,c.d"}),
]


@pytest.mark.parametrize(
    ("target", "row"),
    [
        (target, row)
        for target, table in (
            (AlterTarget.TOPIC, TOPIC),
            (AlterTarget.BROKER, BROKER),
            (AlterTarget.ALL_BROKERS, ALL_BROKERS),
            (AlterTarget.GROUP, GROUP),
            (AlterTarget.CLIENT_METRICS, METRICS),
        )
        for row in table
    ],
)
def test_an_incremental_change_ends_as_in_kafka(target: AlterTarget, row: Row) -> None:
    """The same values stored, or the same kind of error."""
    assert outcome(target, row, surroundings()) == row[2]


def test_the_values_before_a_change_are_left_alone() -> None:
    """A change makes new values; those of before stay as they were, error or not."""
    before = {"retention.ms": "5"}
    altered(AlterTarget.TOPIC, before, [ConfigChange("retention.ms", SET, "6")], surroundings())
    with pytest.raises(ConfigError):
        altered(AlterTarget.TOPIC, before, [ConfigChange("retention.ms", SET, "x")], surroundings())
    assert before == {"retention.ms": "5"}


def test_the_listeners_are_fixed_at_start() -> None:
    """Kafka opens new listeners while it runs; here the sentence says to restart. The value in force is accepted."""
    with pytest.raises(ConfigRequestError, match="change the file and restart"):
        altered(AlterTarget.BROKER, {}, [ConfigChange("listeners", SET, "PLAINTEXT://:1")], surroundings())
    same = [ConfigChange("listeners", SET, STATIC["listeners"])]
    assert altered(AlterTarget.BROKER, {}, same, surroundings()) == {"listeners": STATIC["listeners"]}


def test_thread_counts_are_judged_by_what_is_in_force() -> None:
    """Twice the dynamic value, not twice the default."""
    around = surroundings(broker={"num.io.threads": "16"})
    changed = altered(AlterTarget.BROKER, {"num.io.threads": "16"}, [ConfigChange("num.io.threads", SET, "32")], around)
    assert changed == {"num.io.threads": "32"}


def test_a_topic_is_judged_together_with_the_broker() -> None:
    """The broker's largest lag bounds the topic's smallest."""
    around = surroundings(broker={"log.cleaner.max.compaction.lag.ms": "5"})
    with pytest.raises(ConfigError, match="is above"):
        altered(AlterTarget.TOPIC, {}, [ConfigChange("min.compaction.lag.ms", SET, "10")], around)


def test_min_insync_replicas_with_eligible_leader_replicas() -> None:
    """With KIP-966 in use it is the same on all brokers, and always said."""
    key = "min.insync.replicas"
    with pytest.raises(ConfigError, match="the same on all brokers") as caught:
        altered(AlterTarget.BROKER, {}, [ConfigChange(key, SET, "2")], surroundings(elr=True))
    assert type(caught.value) is ConfigError
    with pytest.raises(ConfigError, match="cannot be removed"):
        altered(AlterTarget.ALL_BROKERS, {key: "1"}, [ConfigChange(key, DELETE, None)], surroundings(elr=True))
    with pytest.raises(ConfigError, match="cannot be removed"):
        check(AlterTarget.ALL_BROKERS, {key: "1"}, {"message.max.bytes": "2000000"}, surroundings(elr=True))
    assert altered(AlterTarget.ALL_BROKERS, {key: "1"}, [ConfigChange(key, SET, "2")], surroundings(elr=True)) == {
        key: "2"
    }
    assert altered(AlterTarget.BROKER, {}, [ConfigChange(key, SET, "2")], surroundings()) == {key: "2"}


def test_an_error_of_a_broker_names_key_and_reason() -> None:
    """The sentence that a client is shown."""
    with pytest.raises(ConfigRequestError, match=r"^log\.segment\.bytes=5: expected at least 1048576$"):
        altered(AlterTarget.BROKER, {}, [ConfigChange("log.segment.bytes", SET, "5")], surroundings())


@pytest.mark.parametrize("operation", [AlterConfigOp.APPEND, AlterConfigOp.SUBTRACT])
def test_a_list_of_very_many_elements_takes_no_square_of_time(operation: AlterConfigOp) -> None:
    """A request of 300 kilobytes would hold up all others for half a minute."""
    names = [f"x{number}" for number in range(50_000)]
    current = {"cleanup.policy": ",".join(names)}
    change = ConfigChange("cleanup.policy", operation, ",".join(f"{name}y" for name in names) + "," + names[-1])
    began = process_time()
    value = alter(AlterTarget.TOPIC, current, [change])["cleanup.policy"]
    assert process_time() - began < 2
    assert len(value.split(",")) == (100_000 if operation is AlterConfigOp.APPEND else 49_999)
