"""Which node this is, and where its data lies.

Owns the reading of `node.id`, `log.dirs` and `metadata.log.dir`. A file whose data is in tiered storage is refused.
Source: Kafka 4.3's KafkaConfig.
"""

import os

from odradek.config.reading import BrokerConfigReader

DEFAULT_NODE_ID = 1


def read_node_id(read: BrokerConfigReader) -> int:
    """Return node.id, or broker.id where only that is given, else 1; ConfigError when the two differ."""
    node, broker = read.given("node.id"), read.given("broker.id")
    if broker is None or read.integer("broker.id") < 0:
        return DEFAULT_NODE_ID if node is None else read.integer("node.id")
    if node is not None and read.integer("node.id") != read.integer("broker.id"):
        raise read.error("broker.id", f"node.id is {node.value}; give one of the two, or the same number")
    return read.integer("broker.id")


def check_storage(read: BrokerConfigReader) -> None:
    """Raise ConfigError where the file wants tiered storage: what was moved there would be missing."""
    key = "remote.log.storage.system.enable"
    if read.given(key) and read.boolean(key):
        raise read.error(
            key,
            "odradek has no tiered storage, so what Kafka moved there could not be read; bring it back with Apache"
            " Kafka (remote.storage.enable=false on every topic), then set this to false",
        )


def read_log_dirs(read: BrokerConfigReader) -> tuple[str, ...]:
    """Return the data directories, absolute, each once: log.dirs, else log.dir."""
    key = "log.dirs" if read.given("log.dirs") else "log.dir"
    return tuple(dict.fromkeys(_absolute(read, key, path) for path in read.elements(key)))


def _absolute(read: BrokerConfigReader, key: str, path: str) -> str:
    if "\0" in path:
        raise read.error(key, "expected the path of a directory")
    return os.path.abspath(path)


def read_metadata_dir(read: BrokerConfigReader, log_dirs: tuple[str, ...]) -> str:
    """Return the directory of the metadata log, absolute: metadata.log.dir, else the first data directory."""
    path = read.text("metadata.log.dir")
    return _absolute(read, "metadata.log.dir", path) if path else log_dirs[0]
