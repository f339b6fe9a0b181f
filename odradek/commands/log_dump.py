"""Running `odradek log dump`: files in turn, each to its end or to what makes reading on impossible."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Sequence

from odradek.commands.log_errors import sentence
from odradek.logs.dump import DumpOptions, open_dump
from odradek.logs.dump_json import DOCUMENT_BEGIN, DOCUMENT_END, close_failed, dump_pieces, failed_object
from odradek.logs.dump_text import dump_lines
from odradek.logs.kinds import kind_of
from odradek.storage.errors import StorageError
from odradek.storage.files import FileSystem, PosixFiles
from odradek.storage.names import parse_directory_name
from odradek.storage.segment.entry_walk import Progress
from odradek.terminal.errors import complain
from odradek.terminal.output import CommandOutput

_WRITTEN_AT_ONCE = 1 << 16
"""Characters: a write for each line would take longer than all else."""


def files_of(path: str) -> list[str]:
    """Return a file as it is, and of a directory the files of Kafka's in it; itself where there are none."""
    if not os.path.isdir(path):
        return [path]
    return [os.path.join(path, name) for name in sorted(os.listdir(path)) if kind_of(name) is not None] or [path]


def run(output: CommandOutput, paths: Sequence[str], options: DumpOptions, fs: FileSystem | None = None) -> bool:
    """Print what the files hold; return whether all could be read to their end."""
    files = fs or PosixFiles()
    progress = output.progress(in_bytes=True)
    progress.disable |= sys.stdout.isatty()  # there the lines themselves show how far it is
    with progress:
        sizes = {path: files.size(path) for path in paths if files.exists(path)}
        task = progress.add_task("Dumping", total=sum(sizes.values()))
        failed: list[str] = []

        def on_bytes(count: int) -> None:
            progress.advance(task, count)

        pieces = _document(files, paths, options, on_bytes, failed) if output.json else None
        _write(output, pieces if pieces is not None else _lines(files, paths, options, on_bytes, failed))
    for reason in failed:
        complain(reason)
    return not failed


def _lines(
    fs: FileSystem, paths: Sequence[str], options: DumpOptions, on_bytes: Progress, failed: list[str]
) -> Iterator[str]:
    for path in paths:
        try:
            yield from dump_lines(open_dump(fs, path, options, on_bytes))
        except (OSError, StorageError) as error:
            failed.append(_reason(path, error))


def _document(
    fs: FileSystem, paths: Sequence[str], options: DumpOptions, on_bytes: Progress, failed: list[str]
) -> Iterator[str]:
    yield DOCUMENT_BEGIN
    for number, path in enumerate(paths):
        yield ",\n" if number else "\n"
        try:
            dump = open_dump(fs, path, options, on_bytes)
        except (OSError, StorageError) as error:
            failed.append(_reason(path, error))
            yield failed_object(path, failed[-1])
            continue
        try:
            yield from dump_pieces(dump)
        except (OSError, StorageError) as error:
            failed.append(_reason(path, error))
            yield close_failed(failed[-1])
    yield DOCUMENT_END


def _reason(path: str, error: OSError | StorageError) -> str:
    if not os.path.isdir(path):
        return sentence(path, error)
    inside = next((name for name in sorted(os.listdir(path)) if parse_directory_name(name) is not None), None)
    partition = "odradek-data/orders-0" if inside is None else os.path.join(path, inside)
    return f"{path}: none of Kafka's files is in this directory; give that of a partition, such as {partition}"


def _write(output: CommandOutput, pieces: Iterable[str]) -> None:
    kept: list[str] = []
    length = 0
    for piece in pieces:
        kept.append(piece)
        length += len(piece)
        if length >= _WRITTEN_AT_ONCE:
            output.text("".join(kept))
            kept.clear()
            length = 0
    output.text("".join(kept))
