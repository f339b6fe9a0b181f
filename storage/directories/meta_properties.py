"""The file `meta.properties`: to which cluster and node a log directory belongs, and its own id.

Read and written as Apache Kafka does, so that both take each other's directories (KIP-631, KIP-858). It is a file of
Java properties. The lines that a broker writes are plain; only where a line is not, javaproperties is imported, which
takes longer (30 ms) than all the rest of the start of storage. Follows Kafka's storage format, "meta.properties".
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple
from uuid import UUID

from odradek.protocol.uuids import ZERO_UUID, from_text, to_text
from odradek.storage.checkpoints.checkpoint_file import MAX_INT32, parse_number
from odradek.storage.errors import CorruptFile, IncompatibleDirectory
from odradek.storage.files import FileSystem
from odradek.storage.names import META_PROPERTIES_FILE

CURRENT_VERSION = 1

_NODE_ID_KEYS = {0: "broker.id", 1: "node.id"}
_MAX_CHARACTERS = 1 << 16
"""Of a file; Kafka's have 200. The library takes a second for so many, and a minute for some megabytes."""
_NOT_PLAIN = frozenset("\\ \t\f\r!:=#")


class MetaProperties(NamedTuple):
    """What a log directory says about itself; cluster and node may be missing in version 0 (of ZooKeeper's times)."""

    cluster_id: str | None
    node_id: int | None
    directory_id: UUID | None = None
    version: int = CURRENT_VERSION


def read_meta_properties(fs: FileSystem, directory: str) -> MetaProperties | None:
    """Return what the directory says about itself, None if it is new.

    Raises CorruptFile, and IncompatibleDirectory for a version that we do not know.
    """
    path = f"{directory}/{META_PROPERTIES_FILE}"
    try:
        content = fs.read_bytes(path)
    except FileNotFoundError:
        return None
    try:
        properties = parse_properties(content.decode())
        text = properties.get("directory.id")
        directory_id = None if text is None else from_text(text)
    except ValueError as error:
        raise CorruptFile(path, str(error)) from None
    version = parse_number(properties.get("version", "0"), path, MAX_INT32)
    if version not in _NODE_ID_KEYS:
        raise IncompatibleDirectory(
            f"{path} has version {version}, but only versions 0 and 1 are known: a newer broker has used this "
            "directory. Start with that one, or choose another directory in log.dirs."
        )
    node_id = properties.get(_NODE_ID_KEYS[version])
    cluster_id = properties.get("cluster.id")
    if version > 0 and (node_id is None or cluster_id is None):
        raise CorruptFile(path, f"{'cluster.id' if cluster_id is None else 'node.id'} is missing")
    node = None if node_id is None else parse_number(node_id, path, MAX_INT32)
    return MetaProperties(cluster_id, node, directory_id, version)


def write_meta_properties(fs: FileSystem, directory: str, meta: MetaProperties) -> None:
    """Replace the file; durable on return."""
    values = {
        _NODE_ID_KEYS[meta.version]: None if meta.node_id is None else str(meta.node_id),
        "directory.id": None if meta.directory_id is None else to_text(meta.directory_id),
        "version": str(meta.version),
        "cluster.id": meta.cluster_id,
    }
    given = {key: value for key, value in values.items() if value is not None}
    fs.write_atomic(f"{directory}/{META_PROPERTIES_FILE}", format_properties(given).encode())


def settle_directories(
    found: Mapping[str, MetaProperties | None],
    node_id: int,
    draw_id: Callable[[], UUID],
    cluster_id: str | None = None,
) -> dict[str, MetaProperties]:
    """Return what each log directory should say about itself, in the current version; None in `found` is a new one.

    New directories join the cluster of the others; if all are new, that of `cluster_id` or else a new one. Directory
    ids that are missing are drawn. What differs from `found` is to be written. Raises IncompatibleDirectory where the
    directories do not belong together, or to this node.
    """
    owner, cluster = "", cluster_id
    for directory, meta in found.items():
        if meta is None:
            continue
        if meta.node_id is not None and meta.node_id != node_id:
            raise IncompatibleDirectory(
                f"Log directory {directory} belongs to node {meta.node_id}, but this is node {node_id}: "
                f"set node.id={meta.node_id}, or choose another directory in log.dirs."
            )
        if meta.cluster_id is None or meta.cluster_id == cluster:
            continue
        if cluster is not None:
            other = f"log directory {owner} belongs to" if owner else "this node is started for"
            raise IncompatibleDirectory(
                f"Log directory {directory} belongs to cluster {meta.cluster_id}, but {other} cluster {cluster}: "
                "use only directories of one cluster in log.dirs."
            )
        owner, cluster = directory, meta.cluster_id
    _check_directory_ids(found)
    cluster = cluster or to_text(draw_id())
    new = MetaProperties(cluster, node_id)
    return {directory: _complete(meta or new, cluster, node_id, draw_id) for directory, meta in found.items()}


def _complete(meta: MetaProperties, cluster_id: str, node_id: int, draw_id: Callable[[], UUID]) -> MetaProperties:
    directory_id = meta.directory_id or draw_id()
    return meta._replace(cluster_id=cluster_id, node_id=node_id, directory_id=directory_id, version=CURRENT_VERSION)


def _check_directory_ids(found: Mapping[str, MetaProperties | None]) -> None:
    owners: dict[UUID, str] = {}
    for directory, meta in found.items():
        if meta is None or meta.directory_id is None:
            continue
        if meta.directory_id == ZERO_UUID:
            raise IncompatibleDirectory(f"Log directory {directory} has the reserved directory.id of zero.")
        other = owners.setdefault(meta.directory_id, directory)
        if other != directory:
            raise IncompatibleDirectory(
                f"Log directories {other} and {directory} have the same directory.id, so one is a copy of the other: "
                "remove the copy from log.dirs."
            )


def parse_properties(text: str) -> dict[str, str]:
    """Return the keys and values of Java properties; raise ValueError for a malformed escape or too long a text."""
    if len(text) > _MAX_CHARACTERS:
        raise ValueError(f"{len(text)} characters are more than the {_MAX_CHARACTERS} of such a file")
    properties = {}
    for line in text.split("\n"):
        key, equals, value = line.partition("=")
        if not line or line[0] == "#":
            continue
        if not equals or not _is_plain(key) or not _is_plain(value):
            import javaproperties

            return javaproperties.loads(text)
        properties[key] = value
    return properties


def format_properties(properties: Mapping[str, str]) -> str:
    """Return the text of Java properties, beginning with an empty comment as Kafka's do."""
    if all(map(_is_plain, (*properties, *properties.values()))):
        return "#\n" + "".join(f"{key}={value}\n" for key, value in properties.items())
    import javaproperties

    return "#\n" + javaproperties.dumps(properties, timestamp=False)


def _is_plain(text: str) -> bool:
    """Return whether the text stands for itself in a properties file, whoever reads it."""
    return text.isascii() and text.isprintable() and _NOT_PLAIN.isdisjoint(text)
