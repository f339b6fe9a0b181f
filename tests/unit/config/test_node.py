"""Which node this is, and where its data lies."""

from pathlib import Path

import pytest

from odradek.config.errors import ConfigError
from odradek.config.loading import load_settings


@pytest.mark.parametrize(
    ("overrides", "expected"),
    [
        ((), 1),
        (("node.id=7",), 7),
        (("broker.id=3",), 3),
        (("broker.id=-1",), 1),
        (("node.id=3", "broker.id=3"), 3),
        (("node.id=3", "broker.id=-1"), 3),
    ],
)
def test_node_id(overrides: tuple[str, ...], expected: int) -> None:
    """node.id, or its older name, or 1."""
    assert load_settings(None, overrides).node_id == expected


def test_two_numbers_for_one_node_are_refused() -> None:
    """node.id and broker.id must agree, as in Kafka."""
    with pytest.raises(ConfigError, match=r"broker\.id=3: node\.id is 1"):
        load_settings(None, ["node.id=1", "broker.id=3"])


@pytest.mark.parametrize(
    ("overrides", "log_dirs", "metadata"),
    [
        (("log.dirs=/a, /b",), ("/a", "/b"), "/a"),
        (("log.dirs=/a,/a",), ("/a",), "/a"),
        (("log.dirs=/a", "log.dir=/c"), ("/a",), "/a"),
        (("log.dirs=/a/../b",), ("/b",), "/b"),
        (("log.dirs=/a", "metadata.log.dir=/m"), ("/a",), "/m"),
    ],
)
def test_data_directories(overrides: tuple[str, ...], log_dirs: tuple[str, ...], metadata: str) -> None:
    """Absolute, each once; log.dirs before log.dir; the metadata log in the first unless said otherwise."""
    settings = load_settings(None, overrides)
    assert (settings.log_dirs, settings.metadata_log_dir) == (log_dirs, metadata)


def test_log_dir_counts_where_log_dirs_is_missing(tmp_path: Path) -> None:
    """With a file and neither key, the data lies where Kafka would put it."""
    file = tmp_path / "server.properties"
    file.write_text("log.dir=/one,/two\n")
    assert load_settings(str(file)).log_dirs == ("/one", "/two")
    file.write_text("")
    assert load_settings(str(file)).log_dirs == ("/tmp/kafka-logs",)


@pytest.mark.parametrize(("text", "reason"), [("", "at least one"), ("/a,,/b", "without empty"), ("/a\0b", "path")])
def test_directories_that_cannot_be_are_refused(text: str, reason: str) -> None:
    """No directory, an empty name, a name that no file system knows."""
    with pytest.raises(ConfigError, match=reason):
        load_settings(None, [f"log.dirs={text}"])


def test_tiered_storage_is_refused() -> None:
    """What Kafka moved there could not be read; where it is switched off there is nothing to say."""
    key = "remote.log.storage.system.enable"
    with pytest.raises(ConfigError, match="no tiered storage") as caught:
        load_settings(None, [f"{key}=true"])
    assert caught.value.key == key
    load_settings(None, [f"{key}=false"])
