"""What the jobs read and add in the directory of a Spark checkpoint."""

from __future__ import annotations

import json
from typing import Final

from odradek.pipeline.batches import Batch, TopicIds, from_json, from_offset_log, ids_from, to_json
from odradek.pipeline.errors import PipelineError
from odradek.pipeline.store import Store
from pyspark_odradek.offsets import Offsets

START: Final = "odradek-start.json"
TOPICS: Final = "odradek-topics.json"


class Checkpoint:
    """A checkpoint directory. Methods raise PipelineError."""

    def __init__(self, store: Store, path: str) -> None:
        self.path = path.rstrip("/")
        self._store = store

    def has_batches(self) -> bool:
        """Return whether a micro-batch was begun, so that Spark goes on from here."""
        return self._store.exists(f"{self.path}/offsets/0")

    def beginning(self) -> Offsets | None:
        """Return where the first micro-batch begins, None where no stream was begun."""
        text = self._store.read(f"{self.path}/{START}")
        return None if text is None else from_json(text.decode(), self.path)

    def begin(self, offsets: Offsets) -> None:
        """Note where the first micro-batch begins: Spark asks again for it if it is cut short in that one."""
        self._store.remove(f"{self.path}/{START}")
        self._store.create(f"{self.path}/{START}", to_json(offsets).encode())

    def topic_ids(self) -> TopicIds:
        """Return the ids of the topics that were read, as far as they were told."""
        path = f"{self.path}/{TOPICS}"
        text = self._store.read(path)
        if text is None:
            return {}
        try:
            return ids_from(json.loads(text))
        except ValueError as wrong:
            raise PipelineError(f"{path} has no ids of topics that can be read: {wrong}") from wrong

    def note_topic_ids(self, ids: TopicIds) -> None:
        """Note the ids of the topics that are read."""
        path = f"{self.path}/{TOPICS}"
        self._store.remove(path)
        self._store.create(path, json.dumps(ids, sort_keys=True).encode())

    def batch(self, number: int) -> Batch:
        """Return a micro-batch that was begun."""
        start = (self.beginning() or {}) if number == 0 else self._offsets(number - 1)
        return Batch(number, start, self._offsets(number))

    def _offsets(self, number: int) -> Offsets:
        path = f"{self.path}/offsets/{number}"
        text = self._store.read(path)
        if text is None:
            raise PipelineError(f"{path} is not there; the checkpoint is damaged")
        return from_offset_log(text.decode(), path)
