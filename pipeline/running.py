"""Running a job: a streaming query whose micro-batches the job keeps one after the other, until it is asked to stop."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Protocol

from odradek.pipeline import source
from odradek.pipeline.batches import Batch, TopicIds, furthest, to_json
from odradek.pipeline.checkpoints import Checkpoint
from odradek.pipeline.errors import PipelineError, SlowWorkerError, pipeline_error
from odradek.pipeline.jvm import JvmGoneError, jvm_errors
from odradek.pipeline.offset_store import JobOffsets
from odradek.pipeline.progress import BatchProgress, description, from_spark
from odradek.pipeline.sink import FORMAT
from odradek.pipeline.store import Store
from pyspark_odradek.offsets import Offsets
from pyspark_odradek.reading.options import ReadOptions

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery
    from pyspark.sql.streaming.readwriter import DataStreamWriter

LOOK_EVERY_S: Final = 0.2
COMMIT_TIMEOUT_S: Final = 30.0
STARTS: Final = 3
"""So often a query is started whose process of Python was too slow; before the first micro-batch that costs nothing."""


class Job(Protocol):
    """What the archive, the word count and the relay are to the runner."""

    @property
    def output_mode(self) -> str:
        """Spark's output mode: append, update or complete."""
        ...

    def reached(self) -> Offsets:
        """Return what the job's own output says of where to go on; called once, before the query starts."""
        ...

    @property
    def topic_ids(self) -> TopicIds:
        """The ids of the topics that `reached` is about, as far as they were told; known once that was called."""
        ...

    def transform(self, records: DataFrame) -> DataFrame:
        """Return what is done to the stream as a whole."""
        ...

    def keep(self, records: DataFrame, batch: Batch) -> None:
        """Put the result of a micro-batch where it belongs; once this returns the micro-batch is done."""
        ...


@dataclass(frozen=True, slots=True)
class Run:
    """What a run needs to know beside the job."""

    application: str
    options: Mapping[str, str]
    """Options of the source."""
    checkpoint: str
    trigger: Mapping[str, Any]
    """Arguments of Spark's `trigger`."""
    offsets: JobOffsets | None = None
    resumes_from_offsets: bool = True
    """Whether they say where to begin when the checkpoint has nothing; a job with a state cannot."""


class ShownProgress(Protocol):
    """Where a run shows how it gets on."""

    def running(self) -> None:
        """Say that the query runs."""
        ...

    def working(self, number: int) -> None:
        """Say that a micro-batch is in work; called on another thread."""
        ...

    def finished(self, progress: BatchProgress) -> None:
        """Show a micro-batch that is finished."""
        ...


class _AskedToStopError(Exception):
    """A micro-batch that is not begun, because the query is to end."""


class Runner:
    """One run of a job."""

    def __init__(self, spark: SparkSession, store: Store, job: Job, run: Run) -> None:
        self._spark = spark
        self._job = job
        self._run = run
        self._checkpoint = Checkpoint(store, run.checkpoint)
        self._lock = threading.Lock()
        self._stopping = False
        self._working = False
        self._begun = False
        """Whether a micro-batch was begun."""
        self._kept = -1
        self._failure: BaseException | None = None
        self._shown: ShownProgress | None = None
        self._topic_ids: TopicIds = {}
        """Of the topics that are read, as far as the cluster tells them."""
        self._asked_for: set[str] = set()
        """Topics that the cluster was asked about."""
        self._last: BatchProgress | None = None

    def run(self, asked: Callable[[], bool], shown: ShownProgress) -> None:
        """Run until there is nothing more to do or `asked` says stop; the micro-batch in work is finished first.

        Raises PipelineError for whatever ends the query.
        """
        self._shown = shown
        try:
            with jvm_errors():
                self._query(asked, shown)
        except JvmGoneError:
            if not (asked() and not self._working):
                raise  # else all that was to be done is done
        except PipelineError:
            raise
        except Exception as failed:
            raise pipeline_error(failed) from failed

    def _query(self, asked: Callable[[], bool], shown: ShownProgress) -> None:
        writer = self._writer()
        for start in range(1, STARTS + 1):
            try:
                self._run_query(writer, asked, shown)
                return
            except SlowWorkerError:
                if start == STARTS or self._begun or asked():
                    raise

    def _run_query(self, writer: DataStreamWriter, asked: Callable[[], bool], shown: ShownProgress) -> None:
        try:
            query = writer.start()
        except Exception as failed:
            raise pipeline_error(failed) from failed
        shown.running()
        try:
            self._watch(query, asked, self._show)
        except KeyboardInterrupt:
            self._spark.sparkContext.cancelAllJobs()  # else the query would still wait for its micro-batch
            raise
        finally:
            if query.isActive:
                query.stop()

    def _show(self, progress: BatchProgress) -> None:
        self._last = progress
        if self._shown is not None:
            self._shown.finished(progress)

    def _writer(self) -> DataStreamWriter:
        """Return the query, not started yet. Raises PipelineError."""
        try:
            return self._prepared()
        except PipelineError:
            raise
        except Exception as failed:
            raise pipeline_error(failed) from failed

    def _prepared(self) -> DataStreamWriter:
        options = {**self._run.options, "startingOffsets": to_json(self._beginning())}
        for given in ("startingTimestamp", "startingOffsetsByTimestamp", "startingOffsetsByTimestampStrategy"):
            options.pop(given, None)
        records = self._spark.readStream.format(FORMAT).options(**options).load()
        writer = self._job.transform(records).writeStream.outputMode(self._job.output_mode)
        writer = writer.queryName(self._run.application).option("checkpointLocation", self._checkpoint.path)
        return writer.trigger(**self._run.trigger).foreachBatch(self._keep)

    def _beginning(self) -> Offsets:
        reached = self._job.reached()
        stored = self._run.offsets.begin() if self._run.offsets is not None else {}
        known = self._checkpoint.beginning()
        begun = self._checkpoint.has_batches()
        if known is None and not begun:
            known = furthest(reached, stored if self._run.resumes_from_offsets else {})
        options = source.checked(self._run.options)
        offsets = source.beginning(options, known or {})
        self._check_topics(options)
        if not begun:
            self._checkpoint.begin(offsets)
        return offsets

    def _check_topics(self, options: ReadOptions) -> None:
        """Refuse topics that were made anew, and note which ones are read."""
        before, now = self._checkpoint.topic_ids(), source.topic_ids(options)
        stored = self._run.offsets.topic_ids if self._run.offsets is not None else {}
        if options.fail_on_data_loss:
            for known in (before, self._job.topic_ids, stored):
                source.check_topic_ids(known, now)
        if {**before, **now} != before:
            self._checkpoint.note_topic_ids({**before, **now})
        self._topic_ids = now
        self._asked_for |= now.keys()

    def _note_new_topics(self, batch: Batch) -> None:
        """Note topics that have come since the start, once they are in a batch."""
        topics = {partition.topic for partition in batch.end}
        if self._topic_ids and topics - self._asked_for:
            self._check_topics(source.checked(self._run.options))
            self._asked_for |= topics

    def _keep(self, records: DataFrame, number: int) -> None:
        """Keep a micro-batch; Spark calls this on a thread of its own."""
        with self._lock:
            if self._stopping:
                raise _AskedToStopError
            self._working = self._begun = True
        if self._shown is not None:
            self._shown.working(number)
        try:
            batch = self._checkpoint.batch(number)
            self._note_new_topics(batch)
            batch = replace(batch, topic_ids=self._topic_ids)
            told = description(number, batch.ranges, self._last)
            self._spark.sparkContext.setJobDescription(f"{self._run.application}, {told}")
            self._job.keep(records, batch)
            if self._run.offsets is not None:
                self._run.offsets.commit(batch)
            self._kept = number
        except BaseException as failed:
            self._failure = failed
            raise
        finally:
            self._working = False

    def _watch(self, query: StreamingQuery, asked: Callable[[], bool], show: Callable[[BatchProgress], None]) -> None:
        seen, deadline = -1, math.inf
        while True:
            ended = self._ended(query)
            seen = _show_new(query, seen, show)
            if ended:
                return
            if not asked():
                continue
            with self._lock:
                self._stopping = True
                between = not self._working
            if not between:
                continue
            deadline = min(deadline, time.monotonic() + COMMIT_TIMEOUT_S)
            # Spark writes the end of a micro-batch to the checkpoint before it shows its progress.
            if seen >= self._kept or time.monotonic() >= deadline:
                query.stop()
                return

    def _ended(self, query: StreamingQuery) -> bool:
        from pyspark.errors import StreamingQueryException

        try:
            return bool(query.awaitTermination(LOOK_EVERY_S))  # type: ignore[arg-type]  # parts of a second are taken
        except StreamingQueryException as failed:
            if isinstance(self._failure, PipelineError):
                raise self._failure from None
            if self._stopping and self._failure is None:
                return True
            raise pipeline_error(self._failure or failed) from failed


def _show_new(query: StreamingQuery, seen: int, show: Callable[[BatchProgress], None]) -> int:
    last = query.lastProgress
    if last is None or last["batchId"] <= seen:
        return seen
    for each in query.recentProgress:
        # Spark shows a micro-batch that has not begun, too, when it waits for data.
        if each["batchId"] > seen and "addBatch" in each["durationMs"]:
            show(from_spark(each))
            seen = each["batchId"]
    return seen
