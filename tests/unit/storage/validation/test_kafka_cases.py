"""Every batch of the table is answered as Apache Kafka 4.3 answers it, or otherwise on purpose."""

import pytest

from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.records.batch import check_crc, read_header
from odradek.storage.validation import ValidatedBatch, check_produce_records, validate_client_batch
from tests.unit.storage.validation.validation_cases import CASES, RULES, Case

NOW = 1_795_246_204_644
PRODUCE_VERSION = 11


def put(case: Case, now: int = NOW) -> ValidatedBatch:
    """Do with the batch what a produce request does before the log is asked."""
    data = memoryview(bytearray(case.build(now)))
    check_produce_records(data, PRODUCE_VERSION)
    return validate_client_batch(data, RULES[case.topic], now)


def answer(case: Case) -> ErrorCode:
    """Return the error code of the answer."""
    try:
        put(case)
    except KafkaError as refused:
        return refused.code
    return ErrorCode.NONE


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_answer_is_apache_kafkas(case: Case) -> None:
    """The error code, or its absence, is that of the table."""
    assert answer(case) is case.expected


@pytest.mark.parametrize("case", [case for case in CASES if not case.expected], ids=lambda case: case.name)
def test_what_is_stored_is_sound(case: Case) -> None:
    """An accepted batch is exactly its size, has the checksum of its bytes, and the header that validation tells of."""
    stored = put(case)
    assert stored.header == read_header(stored.data)
    assert stored.header.size == len(stored.data)
    check_crc(stored.data, stored.header)
    assert stored.header.max_timestamp == stored.max_timestamp
    assert stored.header.is_log_append_time == (stored.log_append_time_ms != -1) == RULES[case.topic].log_append_time


def test_names_are_unique() -> None:
    """Every case can be called by its name."""
    assert len({case.name for case in CASES}) == len(CASES)
