"""Asking a group's coordinator while there is none yet."""

from __future__ import annotations

from concurrent.futures import Future

import pytest
from confluent_kafka import KafkaError, KafkaException

from odradek.cluster.coordinators import PAUSE_S, ask_coordinator
from odradek.cluster.errors import ANSWER_TIMEOUT_S
from odradek.terminal.errors import CommandError

PASSING = (
    KafkaError.COORDINATOR_NOT_AVAILABLE,
    KafkaError.NOT_COORDINATOR,
    KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
)


class Asked:
    """Gives out answers in turn, the last one for ever; its time passes by sleeping only."""

    def __init__(self, *answers: object) -> None:
        self.answers = list(answers)
        self.times = 0
        self.now = 0.0

    def __call__(self) -> Future[object]:
        self.times += 1
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        future: Future[object] = Future()
        if isinstance(answer, BaseException):
            future.set_exception(answer)
        else:
            future.set_result(answer)
        return future

    def clock(self) -> float:
        """Return the time."""
        return self.now

    def sleep(self, seconds: float) -> None:
        """Let time pass."""
        self.now += seconds


def _raised(code: int) -> KafkaException:
    return KafkaException(KafkaError(code))


def test_it_asks_again_until_there_is_a_coordinator() -> None:
    """Errors that only say that none answers yet are waited out."""
    asked = Asked(*map(_raised, PASSING), "members")
    assert ask_coordinator(asked, "group g", clock=asked.clock, sleep=asked.sleep) == "members"
    assert asked.now == pytest.approx(len(PASSING) * PAUSE_S)


def test_errors_inside_an_answer_count_too() -> None:
    """An answer that holds such an error is asked for again; one with another error is for the caller."""
    asked = Asked(KafkaError(KafkaError.NOT_COORDINATOR), KafkaError(KafkaError.GROUP_ID_NOT_FOUND))
    found = ask_coordinator(asked, "group g", refused=lambda each: each, clock=asked.clock, sleep=asked.sleep)
    assert isinstance(found, KafkaError)
    assert found.code() == KafkaError.GROUP_ID_NOT_FOUND
    assert asked.times == 2


def test_it_gives_up_when_the_time_of_a_request_is_over() -> None:
    """A cluster that never has a coordinator is told in a sentence."""
    asked = Asked(_raised(KafkaError.COORDINATOR_NOT_AVAILABLE))
    with pytest.raises(CommandError, match="group g: no coordinator yet"):
        ask_coordinator(asked, "group g", clock=asked.clock, sleep=asked.sleep)
    assert asked.now == pytest.approx(ANSWER_TIMEOUT_S, abs=2 * PAUSE_S)


def test_other_errors_are_told_at_once() -> None:
    """What does not pass by itself is not asked again."""
    asked = Asked(_raised(KafkaError.GROUP_ID_NOT_FOUND))
    with pytest.raises(CommandError, match="group g does not exist"):
        ask_coordinator(asked, "group g", clock=asked.clock, sleep=asked.sleep)
    assert asked.times == 1
