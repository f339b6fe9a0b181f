"""The settings in force follow the dynamic configs in the metadata (KIP-226)."""

from collections.abc import Iterable
from uuid import UUID

import pytest

from odradek.broker import live_settings
from odradek.broker.live_settings import WARNINGS_AT_A_TIME, LiveSettings
from odradek.broker.metadata.image import ImageDelta, ResourceType
from odradek.broker.metadata.records import Message
from odradek.config.loading import load_settings
from odradek.config.settings import BrokerSettings
from odradek.protocol.messages.metadata_records import ConfigRecord
from tests.support.log_lines import LogLines
from tests.unit.broker.metadata.support import MemorySource, image_of, record_of, topic_records

STATIC = load_settings(None, ["node.id=1", "max.connections=100", "log.retention.ms=5000"])


def setting(key: str, value: str | None, broker: str = "") -> ConfigRecord:
    """Return the record of a dynamic value, for all brokers unless one is named."""
    return ConfigRecord(resource_type=ResourceType.BROKER, resource_name=broker, name=key, value=value)


class Followed:
    """Settings that follow a source of metadata, and what their watchers were told."""

    def __init__(self, *messages: Message) -> None:
        self.source = MemorySource(image_of(messages))
        self.settings = LiveSettings(STATIC, self.source.image)
        self.source.watch(self.settings.on_metadata)
        self.told: list[BrokerSettings] = []
        self.settings.watch(self.told.append)

    def change(self, messages: Iterable[Message]) -> BrokerSettings:
        """Change the metadata, and return the settings then."""
        self.source.propose([record_of(message) for message in messages], self.source.image)
        return self.settings.current


def test_without_dynamic_values_the_file_counts() -> None:
    """The settings are the very ones that were read at start."""
    assert Followed().settings.current is STATIC


def test_stored_values_count_from_the_start() -> None:
    """They come back after a restart."""
    assert Followed(setting("max.connections", "7")).settings.current.max_connections == 7


def test_changes_are_followed_and_told() -> None:
    """To everybody who watches, once for each change."""
    followed = Followed()
    assert followed.change([setting("max.connections", "7"), setting("log.retention.ms", "9")]).max_connections == 7
    [told] = followed.told
    assert told is followed.settings.current
    assert told.topic_defaults.retention_ms == 9
    assert told.origin("max.connections") == STATIC.origin("max.connections")


def test_value_for_this_broker_wins() -> None:
    """Over the one for all; one for another broker does not count."""
    followed = Followed(setting("max.connections", "7"), setting("max.connections", "8", "1"))
    assert followed.settings.current.max_connections == 8
    assert followed.change([setting("max.connections", "9", "2")]).max_connections == 8
    assert followed.told == []
    assert followed.change([setting("max.connections", None, "1")]).max_connections == 7


def test_value_that_is_taken_back_gives_way_to_the_file() -> None:
    """As if it had never been."""
    followed = Followed(setting("max.connections", "7"))
    assert followed.change([setting("max.connections", None)]) is STATIC
    assert followed.told == [STATIC]


@pytest.mark.parametrize(
    "message",
    [
        ConfigRecord(resource_type=ResourceType.TOPIC, resource_name="t", name="retention.ms", value="1"),
        ConfigRecord(resource_type=ResourceType.GROUP, resource_name="", name="max.connections", value="1"),
        setting("max.connections", "1", "5"),
    ],
)
def test_configs_of_others_change_nothing(message: ConfigRecord) -> None:
    """Neither of topics nor of other brokers; nobody is told."""
    followed = Followed(*topic_records("t", UUID(int=1 << 90)))
    assert followed.change([message]) is STATIC
    assert followed.told == []


def test_change_of_something_else_is_no_news() -> None:
    """Topics come and go without a word to those who watch settings."""
    followed = Followed(setting("max.connections", "7"))
    before = followed.settings.current
    assert followed.change(topic_records("t", UUID(int=1 << 90))) is before
    assert followed.told == []


@pytest.mark.parametrize(
    ("key", "value"), [("no.such.key", "1"), ("max.connections", "many"), ("num.partitions", "5"), ("log.dirs", "/x")]
)
def test_stored_value_that_cannot_count_is_passed_over(key: str, value: str) -> None:
    """A bad one must not keep the broker from starting, nor the others from taking effect."""
    followed = Followed(setting(key, value), setting("max.connections.per.ip", "3"))
    current = followed.settings.current
    assert current.max_connections_per_ip == 3
    assert current.max_connections == 100
    assert (current.num_partitions, current.log_dirs) == (STATIC.num_partitions, STATIC.log_dirs)
    assert [warning.key for warning in current.warnings[len(STATIC.warnings) :]] == [key]


def test_images_are_compared_by_what_they_say() -> None:
    """Another image with the same values is no change."""
    followed = Followed(setting("max.connections", "7"))
    same = image_of([setting("max.connections", "7")])
    followed.settings.on_metadata(followed.source.image, same, ImageDelta())
    assert followed.told == []


def test_ignored_values_are_said_once_and_not_all_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thousand keys that nobody knows are no thousand lines, and not again with each change."""
    logged = LogLines()
    monkeypatch.setattr(live_settings, "log", logged)
    followed = Followed()
    followed.change([setting(f"unknown{i}", "1") for i in range(1_000)])
    assert len(logged.lines) == WARNINGS_AT_A_TIME + 1
    assert logged.lines[-1].fields == {"count": 1_000 - WARNINGS_AT_A_TIME}
    logged.lines.clear()
    followed.change([setting("unknown", "1")])
    [line] = logged.lines
    assert line.fields["key"] == "unknown"
