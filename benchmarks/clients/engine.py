"""The storage engine alone, in this process, without a broker around it: appends, and lookups of offsets.

The one load that imports our own packages: here they are what is measured.
"""

from __future__ import annotations

import gc
import os
import random
import time
from array import array
from dataclasses import dataclass
from pathlib import Path

from benchmarks import records
from benchmarks.statistics import Percentiles, percentiles
from odradek.config.topic import topic_config
from odradek.storage.deletions import PendingDeletions
from odradek.storage.files import PosixFiles
from odradek.storage.log.log import Log
from odradek.storage.names import TopicPartition
from odradek.storage.opening.loader import Opening, open_log

_SAMPLES = 50_000
_AS_SENT = bytes(8)


@dataclass(frozen=True, slots=True)
class Appended:
    """Appends of one kind: how long each took (µs), and the CPU seconds for each GB (1e9 bytes) of batches."""

    each: Percentiles
    cpu_per_gigabyte: float


def append(directory: str, batch_records: int, value_size: int, total_bytes: int) -> Appended:
    """Append batches of so many records to a new log until so many bytes are in it."""
    log = _new_log(directory)
    batch = _batch(batch_records, value_size)
    samples = array("q")
    gc.disable()
    clock, now_ms = time.perf_counter_ns, _now_ms()
    cpu = time.process_time()
    while log.size < total_bytes:
        batch[:8] = _AS_SENT  # the log has given it its offset, in place
        view = memoryview(batch)
        began = clock()
        log.append(view, 0, now_ms)
        samples.append(clock() - began)
    cpu = time.process_time() - cpu
    size = log.size
    log.close()
    return Appended(percentiles(samples).scaled(1e-3), cpu / (size / 1e9))


def append_floor(path: str, batch_records: int, value_size: int, total_bytes: int) -> Appended:
    """Write the same bytes to a file."""
    batch = _batch(batch_records, value_size)
    samples = array("q")
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    gc.disable()
    clock = time.perf_counter_ns
    cpu = time.process_time()
    for _ in range(-(-total_bytes // len(batch))):
        began = clock()
        os.write(file, batch)
        samples.append(clock() - began)
    cpu = time.process_time() - cpu
    os.close(file)
    return Appended(percentiles(samples).scaled(1e-3), cpu / (len(samples) * len(batch) / 1e9))


def look_up(directory: str, batch_bytes: int, total_bytes: int) -> Percentiles:
    """Fill one segment with batches of that size, then find random offsets: µs from offset to a region of the file."""
    log = _new_log(directory)
    batch = _batch(max(1, batch_bytes // 1034), 1024)
    now_ms = _now_ms()
    while log.size < total_bytes:
        batch[:8] = _AS_SENT
        log.append(memoryview(batch), 0, now_ms)
    assert len(log.segments) == 1, "one segment was asked for"  # the sizes are ours
    end = log.log_end_offset
    pick = random.Random(1)
    samples = array("q")
    gc.disable()
    clock = time.perf_counter_ns
    for _ in range(_SAMPLES):
        offset = pick.randrange(end)
        began = clock()
        log.read(offset, 1 << 20, end, True)
        samples.append(clock() - began)
    log.close()
    return percentiles(samples).scaled(1e-3)


def _new_log(directory: str) -> Log:
    Path(directory).mkdir(parents=True)
    files = PosixFiles()
    opening = Opening(TopicPartition("bench", 0), f"{directory}/bench-0", topic_config({}, {}), _now_ms())
    log, _findings = open_log(files, opening, PendingDeletions(files))
    return log


def _batch(count: int, value_size: int) -> bytearray:
    return records.build_batch(records.values_of(1, value_size) * count, _now_ms())


def _now_ms() -> int:
    return int(time.time() * 1000)
