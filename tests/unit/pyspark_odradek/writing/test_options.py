"""Options and columns of a writer: those of Spark's own `kafka` sink, and every mistake in a sentence."""

from __future__ import annotations

import pytest
from pyspark.sql.types import StructType

from pyspark_odradek.errors import OptionError
from pyspark_odradek.writing.options import producer_settings, write_options
from pyspark_odradek.writing.producer import Sink

SERVERS = {"kafka.bootstrap.servers": "127.0.0.1:9092"}
VALUE = "value binary"


def _schema(ddl: str) -> StructType:
    """Return a schema of columns `name type`, separated by semicolons."""
    kinds = (column.split(" ", 1) for column in ddl.split("; ") if column)
    fields = [{"name": name, "type": _json(kind), "nullable": True, "metadata": {}} for name, kind in kinds]
    return StructType.fromJson({"type": "struct", "fields": fields})


def _json(kind: str) -> object:
    if not kind.startswith("headers"):
        return kind
    fields = [
        {"name": "key", "type": "string", "nullable": True, "metadata": {}},
        {"name": "value", "type": kind.partition(" ")[2] or "binary", "nullable": True, "metadata": {}},
    ]
    return {"type": "array", "elementType": {"type": "struct", "fields": fields}, "containsNull": True}


@pytest.mark.parametrize(
    "columns",
    [
        VALUE,
        "value string; key string; topic string; partition integer; headers headers; timestamp timestamp",
        "value binary; key binary; timestamp double; offset long; timestampType integer",
    ],
)
def test_the_columns_of_the_sink_are_taken(columns: str) -> None:
    """All columns of Spark's own sink are known with all their types, and others are no mistake."""
    found = write_options({**SERVERS, "topic": "t", "includeHeaders": "true"}, _schema(columns), overwrite=False)
    assert found.topic == "t"
    assert found.columns == tuple(column.split()[0] for column in columns.split("; "))
    assert found.timestamps_in_seconds == ("double" in columns)


@pytest.mark.parametrize(
    ("columns", "options", "sentence"),
    [
        (VALUE, {}, "nothing says where to write"),
        (VALUE, {"topic": " "}, "names no topic"),
        (VALUE, {"topic": "t", "topc": "t"}, "no option topc; did you mean topic"),
        (VALUE, {"topic": "t", "includeHeaders": "yes"}, "includeHeaders must be true or false"),
        ("key binary", {"topic": "t"}, "a column value is missing; there are key"),
        ("value integer", {"topic": "t"}, "value must be of type string or binary, it is int"),
        ("value binary; key long", {"topic": "t"}, "key must be of type string or binary, it is bigint"),
        ("value binary; topic binary", {}, "topic must be of type string, it is binary"),
        ("value binary; partition long", {"topic": "t"}, "partition must be of type int, it is bigint"),
        ("value binary; headers headers string", {"topic": "t"}, "headers must be of type array<struct"),
        ("value binary; value binary", {"topic": "t"}, "the column value is there twice"),
        (VALUE, {"topic": "t", "kafka.key.serializer": "x"}, "kafka.key.serializer cannot be set"),
        (VALUE, {"topic": "t", "kafka.transactional.id": "x"}, "kafka.transactional.id cannot be set"),
        (VALUE, {"topic": "t", "kafka.partitioner.class": "x"}, "kafka.partitioner.class cannot be set"),
        (VALUE, {"topic": "t", "kafka.buffer.memory": "much"}, "kafka.buffer.memory must be a number"),
    ],
)
def test_mistakes_are_told(columns: str, options: dict[str, str], sentence: str) -> None:
    """What is missing, unknown, or of a wrong type or value is named."""
    with pytest.raises(OptionError, match=sentence):
        write_options({**SERVERS, **options}, _schema(columns), overwrite=False)


def test_a_topic_is_not_overwritten() -> None:
    """The mode `overwrite` is refused."""
    with pytest.raises(OptionError, match="cannot be overwritten"):
        write_options({**SERVERS, "topic": "t"}, _schema(VALUE), overwrite=True)


def test_brokers_must_be_named() -> None:
    """Without kafka.bootstrap.servers there is nobody to write to."""
    with pytest.raises(OptionError, match=r"kafka\.bootstrap\.servers is missing"):
        write_options({"topic": "t"}, _schema(VALUE), overwrite=False)


def test_java_names_are_translated() -> None:
    """Settings that librdkafka calls otherwise, or does not have, are taken in Java's form."""
    java = {"max.request.size": "5000000", "buffer.memory": "33554432", "batch.size": "16384"}
    found = producer_settings({"bootstrap.servers": "h", **java})
    assert (found["message.max.bytes"], found["queue.buffering.max.kbytes"]) == ("5000000", "32768")
    assert found["batch.size"] == "16384"
    assert (found["partitioner"], found["acks"]) == ("murmur2_random", "all")


@pytest.mark.parametrize(
    ("settings", "idempotent"),
    [
        ({}, "true"),
        ({"acks": "-1"}, "true"),
        ({"acks": "1"}, "false"),
        ({"retries": "0"}, "false"),
        ({"max.in.flight.requests.per.connection": "6"}, "false"),
        ({"acks": "1", "enable.idempotence": "true"}, "true"),
    ],
)
def test_producers_are_idempotent_unless_that_is_ruled_out(settings: dict[str, str], idempotent: str) -> None:
    """As with Java's producer, settings that contradict idempotence turn it off, unless it is asked for."""
    assert producer_settings({"bootstrap.servers": "h", **settings})["enable.idempotence"] == idempotent


def test_settings_of_connections_reach_the_producer() -> None:
    """What concerns every client is not left out because consumers have it, too."""
    given = {
        "retry.backoff.ms": "50",
        "retry.backoff.max.ms": "500",
        "reconnect.backoff.ms": "10",
        "reconnect.backoff.max.ms": "20",
        "metadata.max.age.ms": "30000",
        "connections.max.idle.ms": "40000",
        "receive.buffer.bytes": "65536",
        "send.buffer.bytes": "-1",
        "socket.connection.setup.timeout.ms": "5000",
        "client.dns.lookup": "use_all_dns_ips",
        "request.timeout.ms": "6000",
    }
    found = producer_settings({"bootstrap.servers": "h", **given})
    renamed = {
        "metadata.max.age.ms": "topic.metadata.refresh.interval.ms",
        "receive.buffer.bytes": "socket.receive.buffer.bytes",
        "send.buffer.bytes": "socket.send.buffer.bytes",
        "request.timeout.ms": "socket.timeout.ms",
    }
    for name, value in given.items():
        assert found[renamed.get(name, name)] == ("0" if value == "-1" else value), name
    Sink(found).discard()  # librdkafka takes each of them


@pytest.mark.parametrize(
    "name",
    [
        "group.id",
        "isolation.level",
        "max.poll.records",
        "fetch.min.bytes",
        "client.rack",
        "max.block.ms",
        "partitioner.ignore.keys",
        "metric.reporters",
        "socket.connection.setup.timeout.max.ms",
    ],
)
def test_settings_that_say_nothing_to_a_writer_are_refused(name: str) -> None:
    """None is thrown away in silence."""
    with pytest.raises(OptionError, match=f"kafka.{name} cannot be set: "):
        producer_settings({"bootstrap.servers": "h", name: "1"})
