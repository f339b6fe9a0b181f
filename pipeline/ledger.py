"""What an archive of Parquet files holds, kept in the archive: how every record gets in exactly once.

A batch is written where no reader looks (a directory whose name begins with `_`), then committed by one small file that
names the data files and says how far each partition now reaches, and then its files are renamed to where readers look.
The commit is the only thing that decides: before it a batch has left nothing, after it the batch is there, and what
was cut short is finished at the next start. Whatever is read again after that, from an old checkpoint or from older
offsets, lies below what the last commit reached and is left out.

    <archive>/_odradek/<application>/commits/00000000000000000007.json
    <archive>/_odradek/<application>/staging/7-<run>/topic=<topic>/date=<date>/<any name>
    <archive>/topic=<topic>/date=<date>/<application>-0000000007-00000.zstd.parquet

Two runs at once, one of which may have slept for hours: a commit counts if its file could be created, which only one
can, and if there is no commit with a higher number once it is there, since old commits are removed and the number of a
run that slept is free again. Any number of runs may finish the last commit at the same time: a file that is not in
staging any more was renamed by another one. Staging of others is removed only for numbers that they cannot commit any
more.

A commit that cannot be read, which only a damaged disk makes, does not end everything if it is the newest: it is taken
for one that was never made. What readers see of it is put aside, the number is left to it, and its records are read
again.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from posixpath import dirname
from typing import Any, Final

from odradek.pipeline.batches import Batch, TopicIds, from_json, furthest, ids_from
from odradek.pipeline.data_files import DataFile
from odradek.pipeline.errors import PipelineError
from odradek.pipeline.store import Store
from pyspark_odradek.offsets import Offsets, to_checkpoint

HIDDEN: Final = "_odradek"
KEPT_COMMITS: Final = 50
COMPACTION: Final = "compaction"
"""The application that puts small files together, which no job can have the name of."""
_STAGING: Final = re.compile(r"(\d+)-\w+/")


@dataclass(frozen=True, slots=True)
class Commit:
    """What the archive holds after a batch: the next offset of each partition, and the batch's files."""

    number: int
    until: Offsets
    staging: str = ""
    """Name of the directory that the batch was written to."""
    moves: dict[str, str] = field(default_factory=dict)
    """From the name in that directory to the name in the archive."""
    replaced: tuple[str, ...] = ()
    """Names in the archive that are no more once the batch's files are there."""
    topic_ids: TopicIds = field(default_factory=dict)
    """Of which topics the offsets are."""


class DamagedCommitError(PipelineError):
    """A commit is there and cannot be read."""


class Ledger:
    """The commits of one application in one archive; `run` is a name that no other run has.

    `tell` is told in a sentence what a person should know. Without `repairs` a newest commit that is damaged is
    an error, for batches that are not read again. Methods raise PipelineError.
    """

    def __init__(
        self,
        store: Store,
        archive: str,
        application: str,
        run: str,
        tell: Callable[[str], None] = lambda _: None,
        repairs: bool = True,
    ) -> None:
        self._store = store
        self._archive = archive.rstrip("/")
        self._application = application
        self._run = run
        self._tell = tell
        self._repairs = repairs
        self._tidy = False
        self._root = f"{self._archive}/{HIDDEN}/{application}"
        self._last = Commit(-1, {})
        self._next = 0

    @property
    def until(self) -> Offsets:
        """The next offset of each partition of which something is in the archive."""
        return self._last.until

    @property
    def topic_ids(self) -> TopicIds:
        """The ids of the topics that the archive is of, as far as they were told."""
        return self._last.topic_ids

    def open(self) -> None:
        """Finish what an earlier run had committed when it was cut short."""
        numbers = self._numbers()
        if not numbers:
            return
        self._next = numbers[-1] + 1
        self._last, damaged = self._newest(numbers)
        for number in damaged:
            self._put_aside(number)
        self._publish(self._last)

    def settle(self, schema: object) -> None:
        """Do nothing: each file of Parquet has its own columns."""

    def place(self) -> tuple[str, str]:
        """Return the directory that the next batch is to be written to, with nothing in it, and a name for files."""
        path = f"{self._root}/staging/{self._staging()}"
        self._store.remove(path)
        return path, "part"

    def commit(self, batch: Batch, files: Sequence[DataFile], replaced: Sequence[str] = ()) -> None:
        """Take in these files, which lie where `place` said, as the batch, and remove those that they replace."""
        number, until = self._next, furthest(self.until, batch.end)
        ids = {**self.topic_ids, **batch.topic_ids}
        commit = Commit(number, until, self._staging(), self._names(number, files), tuple(replaced), ids)
        text = _to_text(commit)
        # A commit that is there may be this one: an answer that got lost, a request that was sent twice.
        created = self._store.create(self._path(number), text) or self._store.read(self._path(number)) == text
        if not created or self._numbers()[-1] > number:
            if self._application == COMPACTION:
                raise PipelineError(f"another upkeep of {self._archive} is at work; run one at a time")
            raise PipelineError(
                f"another run archives to {self._archive} under the same name; end one of them, or give one another"
                f" --application than {self._application}"
            )
        self._last, self._next = commit, number + 1
        self._publish(commit)
        self._forget(number)

    def _staging(self) -> str:
        return f"{self._next}-{self._run}"

    def _newest(self, numbers: Sequence[int]) -> tuple[Commit, list[int]]:
        """Return the newest commit that can be read, and the numbers of those above it."""
        damaged: list[int] = []
        for number in reversed(numbers):
            try:
                return self._read(number), damaged
            except DamagedCommitError as wrong:
                if number == numbers[0] or not self._repairs:
                    raise
                self._tell(f"{wrong}; its records are put aside and read again")
                damaged.append(number)
        raise AssertionError("there are no commits")

    def _names(self, number: int, files: Sequence[DataFile]) -> dict[str, str]:
        return {
            file.path: f"{dirname(file.path)}/{self._application}-{number:010d}-{count:05d}.{file.ending}"
            for count, file in enumerate(files)
        }

    def _publish(self, commit: Commit) -> None:
        staging = f"{self._root}/staging/{commit.staging}"
        if not commit.staging or not self._store.exists(staging):
            return
        for name in commit.replaced:
            self._store.remove(f"{self._archive}/{name}")
        for name, target in commit.moves.items():
            self._store.rename(f"{staging}/{name}", f"{self._archive}/{target}")
        self._store.remove(staging)

    def _put_aside(self, number: int) -> None:
        """Take out of readers' sight what a commit has there that is taken for one that was never made."""
        files = re.compile(rf"topic=[^/]+/date=[^/]+/{re.escape(self._application)}-{number:010d}-\d+\.[^/]+")
        for name in self._store.files(self._archive):
            if files.fullmatch(name):
                self._store.rename(f"{self._archive}/{name}", f"{self._root}/damaged/{number}/{name}")

    def _forget(self, number: int) -> None:
        """Remove old commits, and once what runs have left that cannot commit it any more."""
        if self._tidy:
            self._store.remove(self._path(number - KEPT_COMMITS))
            return
        for old in self._numbers():
            if old <= number - KEPT_COMMITS:
                self._store.remove(self._path(old))
        found = (_STAGING.match(name) for name in self._store.files(f"{self._root}/staging"))
        for left in sorted({each[0] for each in found if each and int(each[1]) <= number}):
            self._store.remove(f"{self._root}/staging/{left.rstrip('/')}")
        self._tidy = True

    def _numbers(self) -> list[int]:
        names = (name.partition(".") for name in self._store.files(f"{self._root}/commits"))
        return sorted(int(stem) for stem, _, ending in names if stem.isdigit() and ending == "json")

    def _read(self, number: int) -> Commit:
        path = self._path(number)
        text = self._store.read(path)
        if text is None:  # it was there a moment ago
            raise PipelineError(f"{path} was removed meanwhile: another run archives to {self._archive}; start again")
        try:
            found = json.loads(text)
            until = from_json(json.dumps(found["until"]), path)
            moves = {str(name): str(target) for name, target in found["files"].items()}
            replaced = tuple(map(str, found.get("replaced", ())))
            return Commit(number, until, str(found["staging"]), moves, replaced, ids_from(found.get("topics", {})))
        except (ValueError, KeyError, TypeError, AttributeError, PipelineError) as wrong:
            raise DamagedCommitError(f"{path} is damaged: {wrong}") from wrong

    def _path(self, number: int) -> str:
        return f"{self._root}/commits/{number:020d}.json"


def _to_text(commit: Commit) -> bytes:
    found: dict[str, Any] = {"until": to_checkpoint(commit.until), "staging": commit.staging, "files": commit.moves}
    if commit.replaced:
        found["replaced"] = commit.replaced
    if commit.topic_ids:
        found["topics"] = commit.topic_ids
    return json.dumps(found, indent=1).encode()
