"""The output that docs/inside-a-log.md shows: made by the commands themselves, on the log of the worked example.

What differs from run to run is left out or fixed: times that steps took, the time zone, the place of the directory.
"""

import contextlib
import io
import os
import re
import tempfile
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path

from odradek.cli.app import run
from odradek.storage.files import PosixFiles
from tests.support.log_samples import flip
from tests.support.lookup_example import SOUGHT, make_example

_SEGMENT = "articles-0/00000000000000368769"
_WIDTH = 118


def names() -> str:
    """Return what is in the directory."""
    with _example() as directory:
        listed = "\n".join(sorted(path.name for path in directory.iterdir()))
    return _console("ls articles-0", listed)


def dump() -> str:
    """Return the dump of a segment: its first batches, and the two records that are sought later."""
    with _example():
        shown = _run("dump", "--print-data", f"{_SEGMENT}.log").splitlines()
    found = next(number for number, line in enumerate(shown) if line.startswith(f"| offset: {SOUGHT} "))
    lines = [*shown[:4], "…", *shown[found - 1 : found + 1], "…"]
    return _console(f"odradek log dump --print-data {_SEGMENT}.log", "\n".join(map(_folded, lines)))


def index() -> str:
    """Return the dumps of both indexes."""
    with _example():
        shown = _run("dump", f"{_SEGMENT}.index", f"{_SEGMENT}.timeindex")
    return _console(f"odradek log dump {_SEGMENT}.index {_SEGMENT}.timeindex", shown)


def explain() -> str:
    """Return the lookup of the worked example."""
    with _example():
        shown = _run("explain", "articles-0", "--offset", str(SOUGHT))
    return _console(f"odradek log explain articles-0 --offset {SOUGHT}", re.sub(r", [\d,]+ µs", "", shown))


def stat() -> str:
    """Return the figures of the segments."""
    with _example():
        shown = _run("stat", "articles-0")
    return _console("odradek log stat articles-0", shown)


def verify() -> str:
    """Return what is found after one byte of a record and one of an index were changed."""
    with _example():
        flip(PosixFiles(), f"{_SEGMENT}.log", 950, 0x01)
        flip(PosixFiles(), "articles-0/00000000000000737337.index", 7, 0x01)
        shown = _run("verify", "articles-0", expected=1)
        repaired = _run("verify", "articles-0", "--repair", "--index-interval-bytes", "400", expected=1)
    first = _console("odradek log verify articles-0", "\n".join(map(_folded, shown.splitlines())))
    command = "odradek log verify articles-0 --repair --index-interval-bytes 400"
    return first + "\n" + _console(command, "\n".join(map(_folded, repaired.splitlines())))


@contextlib.contextmanager
def _example() -> Iterator[Path]:
    """Make the example, and be in the directory that it is in, in the zone UTC."""
    with tempfile.TemporaryDirectory() as parent, contextlib.chdir(parent), _in_utc():
        yield Path(make_example(parent))


@contextlib.contextmanager
def _in_utc() -> Iterator[None]:
    before = os.environ.get("TZ")
    os.environ["TZ"] = "UTC"
    time.tzset()
    try:
        yield
    finally:
        if before is None:
            del os.environ["TZ"]
        else:
            os.environ["TZ"] = before
        time.tzset()


def _run(*arguments: str, expected: int = 0) -> str:
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        code = run(["log", *arguments])
    assert code == expected, printed.getvalue()
    return printed.getvalue()


def _console(command: str, shown: str) -> str:
    lines = "\n".join(line.rstrip() for line in shown.rstrip().splitlines())
    return f"```console\n$ {command}\n{lines}\n```\n"


def _folded(line: str) -> str:
    """Return a long line in several, cut between words."""
    return "\n".join(textwrap.wrap(line, _WIDTH, subsequent_indent="    ", break_on_hyphens=False))
