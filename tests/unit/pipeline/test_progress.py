"""Lines of progress, out of what Spark reports."""

from typing import Any

import pytest

from odradek.pipeline.progress import as_dict, description, from_spark
from pyspark_odradek.offsets import OffsetRange, TopicPartition


def _report(**source: Any) -> dict[str, Any]:
    return {"batchId": 4, "durationMs": {"addBatch": 1, "triggerExecution": 500}, "sources": [source]}


def test_rows_speed_and_lag() -> None:
    """The lag is what lies between the end of the batch and that of the partitions, new ones included."""
    ends = {"a": {"0": 10, "1": 5}}
    latest = {"a": {"0": 12, "1": 5}, "b": {"0": 3}}
    found = from_spark(_report(numInputRows=1000, endOffset=ends, latestOffset=latest))
    assert as_dict(found) == {"batch": 4, "rows": 1000, "seconds": 0.5, "rows_per_second": 2000, "lag": 5}


@pytest.mark.parametrize("latest", [None, "", "none", {}, {"a": 1}])
def test_a_lag_that_spark_does_not_tell_is_unknown(latest: object) -> None:
    """Older versions of Spark do not say where partitions end."""
    assert from_spark(_report(numInputRows=1, endOffset={"a": {"0": 1}}, latestOffset=latest)).lag is None


def test_a_report_without_sources_or_time_is_no_error() -> None:
    """Progress never ends a query."""
    found = from_spark({"batchId": 0, "sources": []})
    assert (found.rows, found.rows_per_second, found.lag) == (0, 0.0, None)


def test_what_sparks_ui_says_of_a_batch() -> None:
    """What is read, and the rows and the lag of the batch before, as far as they are known."""
    ranges = [OffsetRange(TopicPartition("a", 0), 10, 1500), OffsetRange(TopicPartition("a", 1), 0, 10)]
    assert description(5, ranges, None) == "batch 5: 1,500 offsets of 2 partitions"
    last = from_spark(_report(numInputRows=1000, endOffset={"a": {"0": 10}}, latestOffset={"a": {"0": 1510}}))
    assert description(5, ranges, last).endswith(" (batch 4: 1,000 records, 2,000 records/s, 1,500 behind)")
