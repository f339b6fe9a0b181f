"""Metrics of what only odradek has, and of the process."""

from typing import Final

from odradek.metrics.metric import Kind, Metric

_COUNTER, _GAUGE = Kind.COUNTER, Kind.GAUGE

OWN: Final = (
    Metric("odradek_build_info", _GAUGE, ("version",), "The version that runs; always 1.", "package"),
    Metric(
        "odradek_request_duration_seconds",
        Kind.HISTOGRAM,
        ("request",),
        "From a whole request to its answer; can be put together over brokers, unlike quantiles.",
        "every request",
    ),
    Metric(
        "odradek_requests_closed_total",
        _COUNTER,
        (),
        "Requests that were answered by closing the connection: not a request, not served, or refused so.",
        "every request",
    ),
    Metric(
        "odradek_loop_lag_seconds",
        Kind.SUMMARY,
        (),
        "How late the event loop is: how long a timer that is due waits for its turn. Quantiles of the last five"
        " minutes.",
        "a timer, four times a second",
    ),
    Metric(
        "odradek_produce_batches_waited_total",
        _COUNTER,
        (),
        "Batches whose acknowledgement waited for the disk or for replicas. With flush.messages=1, divided by"
        " `odradek_flushes_waited_for_total`: how many share an fsync (group commit).",
        "Produce requests of clients",
    ),
    Metric(
        "odradek_flushes_waited_for_total", _COUNTER, (), "Flushes that somebody waited for.", "threads for the disk"
    ),
    Metric(
        "odradek_flushes_in_background_total", _COUNTER, (), "Flushes that nobody waited for.", "threads for the disk"
    ),
    Metric(
        "odradek_cold_reads_total",
        _COUNTER,
        (),
        "Reads of data that was not in memory, for consumers and look-ups: a thread fetched it from the disk.",
        "threads for the disk",
    ),
    Metric("odradek_cold_reads_waiting", _GAUGE, (), "Of those, waiting for the disk now.", "threads for the disk"),
    Metric("odradek_compaction_rounds_total", _COUNTER, (), "Rounds of compaction over a log.", "log cleaner"),
    Metric("odradek_compaction_failing_logs", _GAUGE, (), "Logs whose last round of compaction failed.", "log cleaner"),
    Metric(
        "odradek_request_memory_limit_bytes", _GAUGE, (), "Either half of the memory for requests.", "request memory"
    ),
    Metric(
        "odradek_request_memory_bytes",
        _GAUGE,
        ("use",),
        "Memory held by `requests` that arrive or wait, by `answers` that clients do not read, and by `work`.",
        "request memory",
    ),
    Metric(
        "odradek_request_memory_waiting",
        _GAUGE,
        (),
        "Connections that are not read because memory for requests is short.",
        "request memory",
    ),
    Metric(
        "odradek_log_directory_free_bytes",
        _GAUGE,
        ("directory",),
        "Free space of the file system that the log directory is on.",
        "file system",
    ),
    Metric(
        "odradek_log_directory_size_bytes",
        _GAUGE,
        ("directory",),
        "Size of the file system that the log directory is on.",
        "file system",
    ),
    Metric(
        "odradek_transactional_ids",
        _GAUGE,
        ("state",),
        "Transactional ids that this broker coordinates, by the state of their transaction.",
        "transaction coordinator",
    ),
    Metric("odradek_scrape_seconds", _GAUGE, (), "How long collecting this answer took.", "this page"),
)

_PROCESS = "the operating system (Linux)"

PROCESS: Final = (
    Metric("process_cpu_seconds_total", _COUNTER, (), "Processor time of the process.", _PROCESS),
    Metric("process_resident_memory_bytes", _GAUGE, (), "Memory that is resident.", _PROCESS),
    Metric("process_virtual_memory_bytes", _GAUGE, (), "Size of the address space.", _PROCESS),
    Metric("process_open_fds", _GAUGE, (), "Open file descriptors.", _PROCESS),
    Metric("process_max_fds", _GAUGE, (), "Most file descriptors that may be open.", _PROCESS),
    Metric("process_start_time_seconds", _GAUGE, (), "When the process began, in seconds since 1970 UTC.", _PROCESS),
)
