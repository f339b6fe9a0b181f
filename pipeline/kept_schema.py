"""The schema of an archive's JSON values, kept in the archive and only ever added to.

    <archive>/_odradek/value-schema/00000.json      as Spark and Delta Lake write a schema; the highest number counts

A number is created once, which keeps two runs apart that want to add fields at the same time.
"""

from __future__ import annotations

import json
from typing import Final

from odradek.pipeline.errors import PipelineError, WrongOptionError
from odradek.pipeline.store import Store
from odradek.pipeline.value_schema import ValueSchema, checked, merged

DIRECTORY: Final = "_odradek/value-schema"
_TRIES: Final = 20


class KeptSchema:
    """The schema of an archive's JSON values. Methods raise PipelineError."""

    def __init__(self, store: Store, archive: str) -> None:
        self._store = store
        self._directory = f"{archive}/{DIRECTORY}"
        self.schema = self._kept()
        """None until the first micro-batch that there are records in."""

    def add(self, given: ValueSchema) -> None:
        """Keep a schema, or add its fields to the one that is kept. Raises WrongOptionError for other types."""
        for _ in range(_TRIES):
            number, kept = len(self._numbers()), self._kept()
            wanted = given if kept is None else merged(kept, given)
            if wanted == kept or self._store.create(self._path(number), json.dumps(wanted).encode()):
                self.schema = wanted
                return
        raise PipelineError(f"{self._directory} is written to by others all the time; end them and start again")

    def begin(self, found: ValueSchema) -> None:
        """Keep the first schema, or take the one that another run has kept meanwhile."""
        self._store.create(self._path(0), json.dumps(found).encode())
        self.schema = self._kept()

    def _kept(self) -> ValueSchema | None:
        numbers = self._numbers()
        if not numbers:
            return None
        path = self._path(numbers[-1])
        try:
            return checked(json.loads(self._store.read(path) or b""), path)
        except (ValueError, WrongOptionError) as wrong:
            raise PipelineError(f"{path} is damaged, and says what is in the archive's values: {wrong}") from wrong

    def _numbers(self) -> list[int]:
        names = (name.partition(".") for name in self._store.files(self._directory))
        return sorted(int(stem) for stem, _, ending in names if stem.isdigit() and ending == "json")

    def _path(self, number: int) -> str:
        return f"{self._directory}/{number:05d}.json"
