"""Log directories for tests of what comes after: found, made and identified in one go."""

from collections.abc import Callable, Sequence
from uuid import UUID

from odradek.storage.directories.log_dirs import (
    LogDirectory,
    find_log_directories,
    identify_log_directories,
    make_log_directories,
)
from odradek.storage.files import FileSystem


def open_log_directories(
    fs: FileSystem,
    paths: Sequence[str],
    node_id: int,
    draw_id: Callable[[], UUID],
    cluster_id: str | None = None,
    metadata_path: str | None = None,
) -> list[LogDirectory]:
    """Take directories into use as a start does where nothing speaks against it."""
    directories = find_log_directories(fs, paths, node_id, draw_id, cluster_id, metadata_path)
    make_log_directories(fs, directories)
    identify_log_directories(fs, directories)
    return directories
