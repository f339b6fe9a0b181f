"""How a query is started."""

from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.errors import StreamingQueryException

from odradek.pipeline.errors import SlowWorkerError
from odradek.pipeline.running import STARTS, Run, Runner

SLOW = "[STREAM_FAILED] Query [id = 4, runId = 5] terminated with exception: Python worker failed to connect back."


class PlayedStarts(Runner):
    """A run of which so many starts fail, because Spark's process is too slow; `begins` has some of it done."""

    def __init__(self, failing: int, begins: bool = False) -> None:
        unused: Any = None
        super().__init__(unused, unused, unused, Run("a", {}, "checkpoint", {}))
        self.starts = 0
        self._failing = failing
        self._begins = begins

    def _writer(self) -> Any:
        return SimpleNamespace(start=self._played)

    def _played(self) -> Any:
        self.starts += 1
        query = SimpleNamespace(isActive=False, lastProgress=None)

        def wait(_: float) -> bool:
            self._begun = self._begun or self._begins
            if self.starts <= self._failing:
                raise StreamingQueryException(SLOW)
            return True

        query.awaitTermination = wait
        return query


def _run(run: PlayedStarts) -> int:
    shown: Any = SimpleNamespace(running=lambda: None)
    run.run(lambda: False, shown)
    return run.starts


def test_a_query_whose_worker_was_too_slow_is_started_again() -> None:
    """Spark's limit of 10 s is not the end of a job on a machine that has much to do for a moment."""
    assert _run(PlayedStarts(failing=STARTS - 1)) == STARTS


@pytest.mark.parametrize(("failing", "begins", "starts"), [(STARTS, False, STARTS), (1, True, 1)])
def test_that_has_an_end(failing: int, begins: bool, starts: int) -> None:
    """A machine that stays so is told of, and a query that had begun with a micro-batch is not started over here."""
    run = PlayedStarts(failing, begins)
    with pytest.raises(SlowWorkerError, match="did not start within 10 s"):
        _run(run)
    assert run.starts == starts
