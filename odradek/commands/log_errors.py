"""Errors of reading files, as the sentences that a person is told."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from odradek.storage.errors import StorageError
from odradek.terminal.errors import CommandError


def sentence(path: str, error: OSError | StorageError) -> str:
    """Return what is wrong, beginning with the file that it is about; `path` stands for one that is not named."""
    if isinstance(error, StorageError):
        return error.message
    return f"{error.filename or path}: {error.strerror or error}"


@contextmanager
def in_one_sentence(path: str) -> Iterator[None]:
    """Turn errors of reading what is at `path` into a CommandError."""
    try:
        yield
    except BrokenPipeError:
        raise  # nobody reads what is printed any more, which is for `odradek.terminal.errors`
    except (OSError, StorageError) as error:
        raise CommandError(sentence(path, error)) from error
