"""Metrics of the jobs of `odradek pipeline`."""

from typing import Final

from odradek.metrics.metric import Kind, Metric

_OF_JOBS: Final = ("application", "job")
_BATCHES: Final = "every micro-batch"

PIPELINE: Final = (
    Metric("odradek_pipeline_records_total", Kind.COUNTER, _OF_JOBS, "Records read since the start.", _BATCHES),
    Metric("odradek_pipeline_batches_total", Kind.COUNTER, _OF_JOBS, "Micro-batches finished.", _BATCHES),
    Metric(
        "odradek_pipeline_batch_seconds_total", Kind.COUNTER, _OF_JOBS, "How long finished ones took in all.", _BATCHES
    ),
    Metric("odradek_pipeline_batch", Kind.GAUGE, _OF_JOBS, "Number of the last finished one.", _BATCHES),
    Metric(
        "odradek_pipeline_lag_records",
        Kind.GAUGE,
        _OF_JOBS,
        "Records that were there and not in the last one, when it began; not told where Spark does not say.",
        _BATCHES,
    ),
    Metric(
        "odradek_pipeline_last_batch_timestamp_seconds",
        Kind.GAUGE,
        _OF_JOBS,
        "When the last one was finished: an alert compares it with `time()`.",
        _BATCHES,
    ),
    Metric(
        "odradek_pipeline_working",
        Kind.GAUGE,
        _OF_JOBS,
        "1 while a micro-batch is in work, 0 while the job waits for records or starts.",
        _BATCHES,
    ),
)
