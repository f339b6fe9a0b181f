"""Finding records by their time in one go, as a broker does in steps that others need not wait for."""

from odradek.storage.log.log import Log
from odradek.storage.log.log_values import TimestampAndOffset
from odradek.storage.log.timestamps import TimestampSearch, by_max_timestamp, by_timestamp


def offset_for_timestamp(log: Log, timestamp: int, upto: int) -> TimestampAndOffset | None:
    """Return the first record that is not earlier than `timestamp` (ms), None if there is none below `upto`.

    Raises CorruptRecord, StorageError.
    """
    return _find(log, by_timestamp(log, timestamp, upto), upto)


def max_timestamp_record(log: Log, upto: int) -> TimestampAndOffset | None:
    """Return the first record that has the largest timestamp of the log, None if it is not below `upto`.

    Also None where no record has a timestamp. Raises CorruptRecord, StorageError.
    """
    return _find(log, by_max_timestamp(log), upto)


def _find(log: Log, search: TimestampSearch, upto: int) -> TimestampAndOffset | None:
    start_offset = 0
    while (candidate := search(start_offset, True)) is not None:
        with log.local.translated("read from"):
            found = candidate.record_in(candidate.read())
        if found is not None:
            return found if found.offset < upto else None
        start_offset = candidate.next_offset
    return None
