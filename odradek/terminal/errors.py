"""Errors for people, and exit codes for scripts."""

from __future__ import annotations

import os
import sys
import traceback

EXIT_OK, EXIT_FAILED, EXIT_USAGE, EXIT_INTERRUPTED = 0, 1, 2, 130

EXIT_CODES = {
    EXIT_OK: "done; also where the reader of a pipe has gone, as with `| head`",
    EXIT_FAILED: "it failed, and one sentence on standard error says why and what to do",
    EXIT_USAGE: "wrong arguments",
    EXIT_INTERRUPTED: "ended by Ctrl-C (SIGINT) or SIGTERM",
}


class CommandError(Exception):
    """What a command could not do: one sentence, with what to do about it."""


class WrongUsageError(CommandError):
    """Arguments that do not fit together or cannot be read."""


def complain(sentence: str) -> None:
    """Write a sentence to standard error."""
    print(f"odradek: {sentence}", file=sys.stderr)  # noqa: T201


def report(error: BaseException, debug: bool) -> int:
    """Tell the person of an error in one sentence, or with its traceback too, and return the exit code for it."""
    if isinstance(error, BrokenPipeError):
        _close_standard_output()
        return EXIT_OK
    if isinstance(error, KeyboardInterrupt):
        return EXIT_INTERRUPTED
    if debug:
        traceback.print_exception(error)
    if isinstance(error, CommandError):
        complain(str(error))
    elif isinstance(error, UnicodeEncodeError):
        complain("the terminal's encoding lacks a character that is needed here; LC_ALL=C.UTF-8 has all of them")
    elif isinstance(error, OSError) and error.strerror:
        complain(f"{error.filename}: {error.strerror}" if error.filename else error.strerror)
    else:
        hint = "" if debug else "; --debug shows where"
        complain(f"unexpected {type(error).__name__}: {_one_line(str(error))}{hint}")
    return EXIT_USAGE if isinstance(error, WrongUsageError) else EXIT_FAILED


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _close_standard_output() -> None:
    """Let the interpreter's last flush go nowhere, once nobody reads standard output any more."""
    try:
        descriptor = sys.stdout.fileno()
    except (OSError, ValueError):
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, descriptor)
    os.close(nowhere)
