"""The tables of definitions against Apache Kafka 4.3's own list."""

import csv
import json
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path

import pytest

from odradek.config.definitions import (
    ConfigKey,
    Service,
    UpdateMode,
    broker_definitions,
    client_metrics_definitions,
    group_definitions,
    quota_definitions,
    topic_definitions,
    topic_name_of,
)
from odradek.config.errors import ConfigError
from odradek.config.topic import TopicConfig

KAFKA_TABLE = Path(__file__).parents[2] / "data" / "configs.tsv"
ANSWERS = Path(__file__).parent / "answers"
TABLES: dict[str, Mapping[str, ConfigKey]] = {
    "broker": broker_definitions(),
    "topic": topic_definitions(),
    "group": group_definitions(),
}
ALL = [
    *(one for table in TABLES.values() for one in table.values()),
    *quota_definitions().values(),
    *client_metrics_definitions().values(),
]


def kafka_rows(kind: str) -> dict[str, dict[str, str]]:
    with open(KAFKA_TABLE, encoding="utf-8") as file:
        rows = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        return {row["name"]: row for row in rows if row["kind"] == kind}


def as_row(kind: str, definition: ConfigKey) -> dict[str, str]:
    default = "required" if definition.required else "null" if definition.default is None else definition.default
    return {
        "kind": kind,
        "name": definition.name,
        "type": definition.type.name,
        "default": default,
        "valid": definition.valid,
        "flags": "internal" if definition.internal else "",
        "broker_synonyms": " > ".join(synonym.name for synonym in definition.synonyms),
    }


@pytest.mark.parametrize("kind", list(TABLES))
def test_every_key_of_kafka_stands_in_the_table_with_type_default_and_valid_values(kind: str) -> None:
    """Names, types, defaults, valid values, internal flags and broker synonyms are Kafka's."""
    assert {name: as_row(kind, one) for name, one in TABLES[kind].items()} == kafka_rows(kind)


def test_what_can_change_at_run_time_is_what_kafka_says_is_not_read_only() -> None:
    """The scope of each listed broker key agrees with the read_only flag of Kafka's own answer."""
    lines = (ANSWERS / "static_broker.jsonl").read_text().splitlines()
    read_only = {row[0]: row[3] for row in map(json.loads, lines) if row[0] in broker_definitions()}
    ours = {name: broker_definitions()[name].scope is UpdateMode.READ_ONLY for name in read_only}
    assert ours == read_only


def test_every_key_says_what_it_does() -> None:
    """Each definition has at least a sentence, in one paragraph of plain text."""
    for definition in ALL:
        text = definition.documentation
        assert len(text) > 20, definition.name
        assert text.endswith("."), definition.name
        assert "  " not in text, definition.name
        assert "|" not in text, definition.name


def test_every_default_is_valid() -> None:
    """A default passes the check of its own key."""
    for definition in ALL:
        if definition.default is not None:
            definition.parse(definition.default)


def test_topic_config_has_one_field_per_topic_key() -> None:
    """The typed topic configuration and the table name the same things, Kafka's test key aside."""
    keys = {key.replace(".", "_") for key in topic_definitions()} - {"internal_segment_bytes"}
    assert {field.name for field in fields(TopicConfig)} == keys


def test_a_topic_key_is_no_better_served_than_the_broker_keys_behind_it() -> None:
    """The topic table and the broker table say the same of what is served."""
    for definition in topic_definitions().values():
        for synonym in definition.synonyms:
            if not definition.name.startswith("local."):
                assert broker_definitions()[synonym.name].service is definition.service, definition.name


def test_synonyms_in_coarser_units_are_scaled() -> None:
    """Minutes and hours become milliseconds; anything else is taken as it is."""
    scales = {one.name: one.scale for definition in topic_definitions().values() for one in definition.synonyms}
    assert scales.pop("log.retention.minutes") == 60_000
    assert [scales.pop(f"log.{one}.hours") for one in ("retention", "roll", "roll.jitter")] == [3_600_000] * 3
    assert set(scales.values()) == {1}


def test_topic_name_of_a_broker_key() -> None:
    """A broker key leads to the topic key that falls back to it, also through a coarser unit."""
    assert topic_name_of("log.retention.hours") == "retention.ms"
    assert topic_name_of("min.insync.replicas") == "min.insync.replicas"
    assert topic_name_of("num.partitions") is None


def test_a_secret_is_not_repeated_in_an_error() -> None:
    """Sensitive definitions hide the value that they refuse."""
    password = broker_definitions()["ssl.key.password"]
    assert password.sensitive
    assert password.default_text is None
    assert password.parse("hush") == "hush"


def test_an_error_names_key_value_and_what_was_expected() -> None:
    """The three things that somebody needs to mend a value."""
    with pytest.raises(ConfigError) as caught:
        broker_definitions()["num.partitions"].parse("zero", "server.properties:7")
    assert str(caught.value) == ("server.properties:7: num.partitions=zero: expected a whole number, digits only")


def test_served_keys_are_marked() -> None:
    """Spot checks of what this version acts on, keeps, and does not serve."""
    table = broker_definitions()
    assert table["log.segment.bytes"].service is Service.SERVED
    assert table["log.local.retention.ms"].service is Service.NOT_SERVED
    assert table["log.cleaner.threads"].service is Service.KEPT
    assert table["ssl.provider"].service is Service.NOT_SERVED
