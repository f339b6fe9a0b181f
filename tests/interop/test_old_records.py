"""Logs that are written here in the formats of before Kafka 0.11, read by Apache Kafka 4.3's own tool."""

from pathlib import Path

import pytest

from odradek.protocol.records.batch import Codec
from odradek.protocol.records.legacy_building import build_message_set
from odradek.protocol.records.record import Record
from odradek.storage.files import PosixFiles
from tests.interop.hand_over import inspect
from tests.support.legacy_logs import records_of_dump
from tests.support.logs import NOW_MS, check_log, open_at, small_config

pytestmark = [pytest.mark.interop, pytest.mark.xdist_group("apache-kafka")]

CODECS = [Codec.NONE, Codec.GZIP, Codec.SNAPPY, Codec.LZ4]


def test_kafka_reads_what_is_written_in_old_formats(tmp_path: Path) -> None:
    """Every record of every codec, wrapped or not, is what it was; indexes and checksums have no fault, nor have those
    that a recovery makes."""
    directory = tmp_path / "spool-0"
    log = open_at(PosixFiles(), small_config(segment_bytes=3000), directory=str(directory))
    written: list[Record] = []
    for round_number in range(3):
        for magic in (0, 1):
            for codec in CODECS:
                append_time = NOW_MS + 5 if magic and round_number == 2 else None
                first = log.log_end_offset
                records = [
                    Record(
                        first + i,
                        -1 if not magic else append_time or NOW_MS + first + i,
                        None if i == 3 else b"key-%d" % (first + i),
                        None if i == 4 else b"value %d" % i * 30,
                    )
                    for i in range(6)
                ]
                data = build_message_set(records, magic, codec, append_time)
                log.append_as_follower(memoryview(data), NOW_MS)
                written += records
    assert len(log.segments) > 3
    check_log(log)
    log.flush()
    log.close()
    _hold_against_kafka(directory, written)
    again = open_at(PosixFiles(), small_config(segment_bytes=3000), directory=str(directory))
    assert again.log_end_offset == len(written)
    again.flush()
    again.close()
    _hold_against_kafka(directory, written)


def _hold_against_kafka(directory: Path, written: list[Record]) -> None:
    logs = sorted(directory.glob("*.log"))
    dump = inspect(logs, "--deep-iteration", "--print-data-log")
    assert records_of_dump(dump) == written
    assert "isValid: false" not in dump
    indexes = sorted([*directory.glob("*.index"), *directory.glob("*.timeindex")])
    inspect(indexes, "--verify-index-only")
    inspect(indexes, "--index-sanity-check")
