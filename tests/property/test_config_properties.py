"""Hostile configuration: any file, override, stored value or requested change gives a value or ConfigError."""

import os
import tempfile

from hypothesis import given
from hypothesis import strategies as st

from odradek.config.alter import AlterContext, AlterTarget, ConfigChange, alter, check, check_form
from odradek.config.definitions import (
    broker_definitions,
    client_metrics_definitions,
    group_definitions,
    topic_definitions,
)
from odradek.config.effective import (
    describe_broker,
    describe_client_metrics,
    describe_created_topic,
    describe_default_broker,
    describe_group,
    describe_topic,
)
from odradek.config.errors import ConfigError
from odradek.config.layers import BrokerLayers
from odradek.config.listeners import advertised_address
from odradek.config.loading import load_settings
from odradek.config.properties import parse_properties
from odradek.config.values import ConfigType, parse, to_text

KEYS = [*broker_definitions(), *topic_definitions(), *group_definitions(), *client_metrics_definitions(), "no.such", ""]
WORDS = """PLAINTEXT :// : , [ ] :: 0.0.0.0 9092 -1 99999999999999999999 1e999 NaN true delete compact * 0:1 1@h:1
broker controller /a by_duration:P ="""
PIECES = st.sampled_from([*WORDS.split(), " ", "\t", "\0", "\u0663"])
TEXTS = st.one_of(st.text(max_size=20), st.lists(PIECES, max_size=6).map("".join))
KEY_NAMES = st.one_of(
    st.sampled_from(KEYS), st.text(max_size=10), st.sampled_from(KEYS).map("listener.name.plaintext.{}".format)
)
VALUES = st.dictionaries(KEY_NAMES, TEXTS, max_size=6)
LINES = st.lists(st.tuples(KEY_NAMES, st.sampled_from(["=", ":", " ", "\\\n", "\\u12", ""]), TEXTS), max_size=8)
PROPERTY_FILES = st.one_of(
    st.binary(max_size=200),
    LINES.map(lambda lines: "\n".join("".join(line) for line in lines).encode("utf-8", "surrogatepass")),
)


@given(PROPERTY_FILES)
def test_any_bytes_are_a_properties_file_or_a_config_error(data: bytes) -> None:
    """Entries have lines within the file, in order."""
    try:
        entries = parse_properties(data, "file")
    except ConfigError:
        return
    lines = [entry.line for entry in entries]
    assert lines == sorted(set(lines))
    assert all(1 <= line <= data.count(b"\n") + data.count(b"\r") + 1 for line in lines)


@given(PROPERTY_FILES, st.lists(st.one_of(TEXTS, st.tuples(KEY_NAMES, TEXTS).map("=".join)), max_size=3))
def test_any_file_and_overrides_give_settings_or_a_config_error(data: bytes, overrides: list[str]) -> None:
    """Loading never raises anything else, whatever stands in the file or on the command line."""
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "server.properties")
        with open(path, "wb") as file:
            file.write(data)
        try:
            settings = load_settings(path, overrides)
        except ConfigError:
            return
    assert all(warning.origin for warning in settings.warnings)
    assert settings.log_dirs
    assert settings.listeners


@given(VALUES)
def test_any_stored_dynamic_values_leave_usable_settings(stored: dict[str, str]) -> None:
    """What cannot be used is reported, each key once, the rest takes effect."""
    settings = load_settings().with_dynamic(stored)
    assert {warning.key for warning in settings.warnings} | set(settings.dynamic) == set(stored)


@given(
    st.sampled_from(AlterTarget),
    VALUES,
    st.lists(st.tuples(KEY_NAMES, st.integers(-1, 5), st.none() | TEXTS), max_size=4),
)
def test_any_change_gives_values_or_a_config_error(
    target: AlterTarget, stored: dict[str, str], changes: list[tuple[str, int, str | None]]
) -> None:
    """A change that was accepted is accepted again as a whole."""
    around = AlterContext(BrokerLayers({"node.id": "1"}))
    try:
        wishes = [ConfigChange(*change) for change in changes]
        check_form(wishes)
        after = alter(target, stored, wishes)
        check(target, stored, after, around)
    except ConfigError:
        return
    check(target, {}, after, around)


@given(VALUES, VALUES, VALUES, VALUES, st.booleans())
def test_any_stored_values_can_be_described(
    static: dict[str, str], default: dict[str, str], broker: dict[str, str], overrides: dict[str, str], documented: bool
) -> None:
    """DescribeConfigs answers whatever lies in the metadata log."""
    layers = BrokerLayers(static, default, broker)
    describe_broker(layers, None, documented)
    describe_default_broker(layers, None, documented)
    describe_topic(layers, overrides, None, documented)
    describe_created_topic(layers, overrides)
    describe_group(layers, overrides, None, documented)
    describe_client_metrics(overrides, None, documented)


@given(st.sampled_from(ConfigType), TEXTS)
def test_a_value_that_was_read_reads_the_same_when_written(kind: ConfigType, text: str) -> None:
    """parse(to_text(value)) is value, for every type."""
    try:
        value = parse(kind, text)
    except ValueError:
        return
    written = to_text(value)
    assert written is not None
    again = parse(kind, written)
    assert again == value or (value != value and again != again)


@given(st.text(max_size=30), st.integers(0, 65535), st.integers(1, 65535))
def test_no_wildcard_is_ever_advertised(host: str, port: int, bound: int) -> None:
    """Whatever address a connection claims to have, a client is told a host and a port that can be connected to."""
    told = advertised_address(None, host, port, bound)
    assert told[0] not in ("", "0.0.0.0", "::")
    assert told[1] > 0
