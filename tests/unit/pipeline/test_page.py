"""docs/pipeline.md says what the code does."""

import re
from pathlib import Path

import pytest

from odradek.pipeline import redis_offsets
from odradek.pipeline.layout import COLUMNS
from pyspark_odradek.client.setting_names import OF_GROUPS
from pyspark_odradek.reading import options

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "pipeline.md").read_text()


def test_all_options_of_the_reader_are_there_and_no_others() -> None:
    """The table of options has each name that the source knows, and only such."""
    section = PAGE[PAGE.index("| Option | Means | Default |") :]
    rows = section[: section.index("\n\n")].splitlines()[2:]
    named = {name for row in rows for name in re.findall(r"`([A-Za-z.]+)`", row.split("|")[1])}
    assert named - {"kafka.bootstrap.servers", "kafka."} == set(options._KNOWN.values())


@pytest.mark.parametrize("key", ["until", "from", "batch", "run", "topics"])
def test_keys_of_redis_are_there(key: str) -> None:
    """The table of keys has those that are written."""
    assert f"`{redis_offsets.PREFIX}:{{<application>}}:{key}`" in PAGE


def test_columns_of_the_archive_are_there() -> None:
    """The columns of the archive are named in their order."""
    assert ", ".join(f"`{name}`" for name in COLUMNS[:-1]) + f" and `{COLUMNS[-1]}`" in " ".join(PAGE.split())


def test_settings_of_groups_are_named() -> None:
    """Whoever moves a job over finds which of its settings say nothing here."""
    assert {name for name in OF_GROUPS if f"`{name}`" not in PAGE} == set()
