"""The error codes are Kafka's, all of them."""

from odradek.protocol.errors import RETRIABLE, ErrorCode, KafkaError
from tests.unit.protocol.declared import rows


def test_codes_and_names_are_those_of_kafka() -> None:
    """Every code of Kafka 4.3 is here under Kafka's name, and no other."""
    assert {code.name: code.value for code in ErrorCode} == {
        row["name"]: int(row["code"]) for row in rows("errors.tsv")
    }


def test_retriable_codes_are_those_of_kafka() -> None:
    """A code is retriable exactly where Kafka's exception for it is."""
    assert {code.name for code in RETRIABLE} == {row["name"] for row in rows("errors.tsv") if row["retriable"]}


def test_kafka_error_carries_its_code_and_message() -> None:
    """What is raised can be put on the wire: its code, and a sentence for the client."""
    error = KafkaError(ErrorCode.INVALID_CONFIG, "no such key")
    assert error.code is ErrorCode.INVALID_CONFIG
    assert "no such key" in str(error)


def test_error_that_is_kept_as_an_answer_keeps_nothing_else() -> None:
    """Neither the frames that it came through nor the error behind it, which lead back to the answers."""
    answers = []
    try:
        try:
            raise ValueError("not a number")
        except ValueError as cause:
            raise KafkaError(ErrorCode.INVALID_CONFIG, "no such key") from cause
    except KafkaError as error:
        answers.append(error.detached())
    [kept] = answers
    assert (kept.code, kept.message) == (ErrorCode.INVALID_CONFIG, "no such key")
    assert (kept.__traceback__, kept.__cause__, kept.__context__) == (None, None, None)
