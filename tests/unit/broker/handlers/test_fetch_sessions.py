"""Incremental fetch sessions (KIP-227) as pure state."""

import itertools
from dataclasses import dataclass

import pytest

from odradek.broker.handlers.fetch_sessions import LAST_EPOCH, MIN_IDLE_BEFORE_EVICTION_MS, FetchSession, FetchSessions
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.hot.fetch import FetchResult
from odradek.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic, ForgottenTopic


@dataclass
class Records:
    """Stands for data."""

    length: int = 10


def request(
    *partitions: int, topic: str = "t", session_id: int = 0, epoch: int = 0, forget: tuple[int, ...] = ()
) -> FetchRequest:
    return FetchRequest(
        session_id=session_id,
        session_epoch=epoch,
        topics=[FetchTopic(topic=topic, partitions=[FetchPartition(partition=p) for p in partitions])]
        if partitions
        else [],
        forgotten_topics_data=[ForgottenTopic(topic=topic, partitions=list(forget))] if forget else [],
    )


@pytest.fixture
def sessions() -> FetchSessions:
    return FetchSessions(2, itertools.count(1).__next__)


def begin(sessions: FetchSessions, *partitions: int, now_ms: int = 0) -> FetchSession:
    session = sessions.begin(request(*partitions), False, now_ms)
    assert session is not None
    return session


def served(session: FetchSession) -> list[tuple[object, int]]:
    return [(ref, wanted.partition) for ref, partitions in session.wanted() for wanted in partitions]


def test_a_session_remembers_what_was_asked(sessions: FetchSessions) -> None:
    """An incremental request without topics asks for all that the session holds."""
    session = begin(sessions, 0, 1)
    resumed = sessions.resume(request(session_id=session.session_id, epoch=1), False, 1)
    assert resumed is session
    assert served(resumed) == [("t", 0), ("t", 1)]


def test_partitions_are_added_and_forgotten(sessions: FetchSessions) -> None:
    """The session follows the changes that the client sends."""
    session = begin(sessions, 0, 1)
    sessions.resume(request(2, session_id=session.session_id, epoch=1, forget=(0,)), False, 1)
    assert served(session) == [("t", 1), ("t", 2)]


def test_epochs_count_up_and_wrap_to_one(sessions: FetchSessions) -> None:
    """After 2147483647 comes 1: 0 would mean a new session."""
    session = begin(sessions, 0)
    session.epoch = LAST_EPOCH
    sessions.resume(request(session_id=session.session_id, epoch=LAST_EPOCH), False, 1)
    assert session.epoch == 1


@pytest.mark.parametrize(
    ("session_id", "epoch", "by_id", "code"),
    [
        (99, 1, False, ErrorCode.FETCH_SESSION_ID_NOT_FOUND),
        (1, 7, False, ErrorCode.INVALID_FETCH_SESSION_EPOCH),
        (1, 1, True, ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR),
    ],
)
def test_a_request_that_does_not_fit_its_session_is_refused(
    sessions: FetchSessions, session_id: int, epoch: int, by_id: bool, code: ErrorCode
) -> None:
    """Each way of not fitting has Kafka's own code."""
    begin(sessions, 0)
    with pytest.raises(KafkaError) as refused:
        sessions.resume(request(session_id=session_id, epoch=epoch), by_id, 1)
    assert refused.value.code is code


def test_only_news_is_told(sessions: FetchSessions) -> None:
    """A partition without data is told only when its high watermark or log start moved, or after an error."""
    session = begin(sessions, 0)
    unchanged = FetchResult(0, 0, 5, 5, 0)
    assert session.news([("t", [unchanged])])
    assert session.news([("t", [unchanged])]) == []
    assert session.news([("t", [FetchResult(0, 0, 6, 6, 0)])])
    assert session.news([("t", [FetchResult(0, 0, 6, 6, 2)])])
    assert session.news([("t", [FetchResult(0, ErrorCode.OFFSET_OUT_OF_RANGE)])])
    assert session.news([("t", [FetchResult(0, 0, 6, 6, 2)])])


def test_after_a_divergence_the_high_watermark_is_told_again(sessions: FetchSessions) -> None:
    """A follower that cuts its log looks at nothing else of the answer."""
    session = begin(sessions, 0)
    [partition] = session.partitions.values()
    assert partition.is_news(FetchResult(0, 0, 289, -1, 0, diverging=(1, 289)))
    assert partition.is_news(FetchResult(0, 0, 289, -1, 0))
    assert not partition.is_news(FetchResult(0, 0, 289, -1, 0))


def test_partitions_that_returned_data_move_to_the_end(sessions: FetchSessions) -> None:
    """With a limit on the answer's size every partition gets its turn."""
    session = begin(sessions, 0, 1, 2)
    session.news([("t", [FetchResult(0, 0, 5, 5, 0, Records())])])
    assert served(session) == [("t", 1), ("t", 2), ("t", 0)]


def test_a_full_cache_gives_no_session_until_one_is_idle(sessions: FetchSessions) -> None:
    """A new consumer evicts only a session that was not used for two minutes."""
    begin(sessions, 0)
    begin(sessions, 0)
    assert sessions.begin(request(0), False, MIN_IDLE_BEFORE_EVICTION_MS) is None
    assert sessions.begin(request(0), False, MIN_IDLE_BEFORE_EVICTION_MS + 1) is not None
    assert len(sessions) == 2


def test_a_closed_session_is_gone(sessions: FetchSessions) -> None:
    """Epoch -1 frees the slot at once."""
    session = begin(sessions, 0)
    sessions.end(session.session_id)
    assert len(sessions) == 0
