"""The example file and the reference page are what the tables say, and the example can be used."""

import re
from pathlib import Path

from odradek.config import example, reference
from odradek.config.definitions import Service, broker_definitions, topic_definitions
from odradek.config.loading import load_settings
from odradek.config.properties import parse_properties

ROOT = Path(__file__).parents[3]


def served() -> set[str]:
    return {name for name, one in broker_definitions().items() if one.service is Service.SERVED and not one.internal}


def test_the_example_in_the_repository_is_what_the_tables_say() -> None:
    """Otherwise: python -m odradek.config.example > server.properties.example."""
    assert (ROOT / "server.properties.example").read_text(encoding="utf-8") == example.render()


def test_the_reference_in_the_repository_is_what_the_tables_say() -> None:
    """Otherwise: python -m odradek.config.reference > docs/configuration.md."""
    assert (ROOT / "docs" / "configuration.md").read_text(encoding="utf-8") == reference.render()


def test_the_example_as_it_is_starts_the_broker_that_starts_without_a_file() -> None:
    """Copying it changes nothing, and warns of nothing."""
    settings = load_settings(str(ROOT / "server.properties.example"))
    assert settings.warnings == ()
    assert settings.values == load_settings().values


def test_every_line_of_the_example_can_be_uncommented() -> None:
    """Each served key stands there once, with a value that loads by itself."""
    text = re.sub(r"(?m)^#(?=[a-z0-9.]+=)", "", example.render())
    entries = parse_properties(text.encode("ascii"), "example")
    assert [entry.key for entry in entries] == [name for name in broker_definitions() if name in served()]
    for entry in entries:
        assert entry.value or broker_definitions()[entry.key].default == ""
        load_settings(None, [f"{entry.key}={entry.value}"])


def test_the_reference_names_every_key_of_kafka_once() -> None:
    """Served, accepted without effect, or not served; topics with all that is not remote storage."""
    page = reference.render()
    for name, definition in broker_definitions().items():
        listed = page.count(f"### `{name}`\n") if definition.service is Service.SERVED else page.count(f"`{name}`")
        assert (listed > 0) is not definition.internal or definition.service is Service.SERVED, name
    assert all(f"### `{name}`\n" in page for name in served())
    for name, definition in topic_definitions().items():
        if definition.service is not Service.NOT_SERVED and not definition.internal:
            assert f"### `{name}`\n" in page
    assert all(len(line) <= 120 for line in page.splitlines() if not line.startswith(("|", "*string")))
