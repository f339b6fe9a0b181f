"""What an archive holds, kept in the archive: how every record gets in exactly once.

A batch is written where no reader looks (a directory whose name begins with `_`), then committed by one small file that
names the data files and says how far each partition now reaches, and then its files are renamed to where readers look.
The commit is the only thing that decides: before it a batch has left nothing, after it the batch is there, and what
was cut short is finished at the next start. Whatever is read again after that, from an old checkpoint or from older
offsets, lies below what the last commit reached and is left out. Each run writes where no other does, and what others
left is removed only after a commit of its own: from then on they cannot commit any more.

    <archive>/_odradek/<application>/commits/00000000000000000007.json
    <archive>/_odradek/<application>/staging/7-<run>/topic=<topic>/date=<date>/<any name>
    <archive>/topic=<topic>/date=<date>/<application>-0000000007-00000.zstd.parquet
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from posixpath import basename, dirname
from typing import Final

from odradek.pipeline.batches import Batch, from_json, furthest
from odradek.pipeline.errors import PipelineError
from odradek.pipeline.store import Store
from pyspark_odradek.offsets import Offsets, to_checkpoint

HIDDEN: Final = "_odradek"
KEPT_COMMITS: Final = 50
SPARKS_NUMBER: Final = ".c000."
"""Stands in the name of every data file that Spark writes, before its ending."""


@dataclass(frozen=True, slots=True)
class Commit:
    """What the archive holds after a batch: the next offset of each partition, and the batch's files."""

    number: int
    until: Offsets
    staging: str = ""
    """Name of the directory that the batch was written to."""
    moves: dict[str, str] = field(default_factory=dict)
    """From the name in that directory to the name in the archive."""


class Ledger:
    """The commits of one application in one archive; `run` is a name that no other run has.

    Methods raise PipelineError.
    """

    def __init__(self, store: Store, archive: str, application: str, run: str) -> None:
        self._store = store
        self._archive = archive.rstrip("/")
        self._application = application
        self._run = run
        self._tidy = False
        self._root = f"{self._archive}/{HIDDEN}/{application}"
        self._last = Commit(-1, {})

    @property
    def until(self) -> Offsets:
        """The next offset of each partition of which something is in the archive."""
        return self._last.until

    def open(self) -> None:
        """Finish what an earlier run had committed when it was cut short."""
        numbers = self._numbers()
        if numbers:
            self._last = self._read(max(numbers))
            self._publish(self._last)

    def staging(self) -> str:
        """Return the directory that the next batch is to be written to, with nothing in it."""
        path = f"{self._root}/staging/{self._next()}"
        self._store.remove(path)
        return path

    def commit(self, batch: Batch) -> int:
        """Take in what lies in the staging directory as the batch; returns how many files it has."""
        number, staging = self._last.number + 1, self._next()
        written = [name for name in self._store.files(f"{self._root}/staging/{staging}") if name.endswith(".parquet")]
        commit = Commit(number, furthest(self.until, batch.end), staging, self._names(number, written))
        if not self._store.create(self._path(number), _to_text(commit)):
            raise PipelineError(
                f"another run archives to {self._archive} under the same name; end one of them, or give one another"
                f" --application than {self._application}"
            )
        self._last = commit
        self._publish(commit)
        self._store.remove(self._path(number - KEPT_COMMITS))
        if not self._tidy:
            self._store.remove(f"{self._root}/staging")
            self._tidy = True
        return len(written)

    def _next(self) -> str:
        return f"{self._last.number + 1}-{self._run}"

    def _names(self, number: int, written: list[str]) -> dict[str, str]:
        names = {}
        for count, name in enumerate(written):
            ending = basename(name).rpartition(SPARKS_NUMBER)[2]  # names the compression, too
            names[name] = f"{dirname(name)}/{self._application}-{number:010d}-{count:05d}.{ending}"
        return names

    def _publish(self, commit: Commit) -> None:
        staging = f"{self._root}/staging/{commit.staging}"
        if not self._store.exists(staging):
            return
        for name, target in commit.moves.items():
            if not self._store.exists(f"{self._archive}/{target}"):
                self._store.rename(f"{staging}/{name}", f"{self._archive}/{target}")
        self._store.remove(staging)

    def _numbers(self) -> list[int]:
        names = (name.partition(".") for name in self._store.files(f"{self._root}/commits"))
        return [int(stem) for stem, _, ending in names if stem.isdigit() and ending == "json"]

    def _read(self, number: int) -> Commit:
        path = self._path(number)
        text = self._store.read(path)
        try:
            found = json.loads(text or b"")
            until = from_json(json.dumps(found["until"]), path)
            moves = {str(name): str(target) for name, target in found["files"].items()}
            return Commit(number, until, str(found["staging"]), moves)
        except (ValueError, KeyError, TypeError, AttributeError) as wrong:
            raise PipelineError(f"{path} is damaged: {wrong}") from wrong

    def _path(self, number: int) -> str:
        return f"{self._root}/commits/{number:020d}.json"


def _to_text(commit: Commit) -> bytes:
    found = {"until": to_checkpoint(commit.until), "staging": commit.staging, "files": commit.moves}
    return json.dumps(found, indent=1).encode()
