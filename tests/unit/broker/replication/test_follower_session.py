"""The session of a follower with a leader: what that one has to be told, and when all of it again."""

from uuid import UUID

from odradek.broker.replication.follower_session import FetchPosition, FollowerSession, ReplicaId
from odradek.protocol.messages.fetch import FetchRequest, FetchResponse


class Followed:
    """A replica that is followed."""

    def __init__(self, partition: int) -> None:
        self.replica = ReplicaId(UUID(int=1), partition)


def asked(session: FollowerSession[Followed], *wanted: Followed, offset: int = 5) -> FetchRequest:
    """Ask for these partitions, and no others."""
    for one in [one for one in session.told if one not in wanted]:
        session.leave_out(one)
    for one in wanted:
        session.want(one, FetchPosition(offset, 1, 1, 0))
    request = FetchRequest()
    session.ask(request)
    return request


def named(request: FetchRequest) -> list[int]:
    return [one.partition for topic in request.topics for one in topic.partitions]


def forgotten(request: FetchRequest) -> list[int]:
    return [one for topic in request.forgotten_topics_data for one in topic.partitions]


def test_only_what_is_new_is_told_once_there_is_a_session() -> None:
    """Partitions where they were are not named, those that are not wanted any more are forgotten."""
    session: FollowerSession[Followed] = FollowerSession(100)
    first, second = Followed(0), Followed(1)
    assert named(asked(session, first, second)) == [0, 1]
    assert session.answered(FetchResponse(session_id=7))
    assert named(asked(session, first, second)) == []
    assert session.answered(FetchResponse(session_id=7))
    request = asked(session, second)
    assert (named(request), forgotten(request)) == ([], [0])
    assert (request.session_id, request.session_epoch) == (7, 2)


def test_only_what_changes_is_looked_at() -> None:
    """What is wanted stays so: a request names what was wanted at another place since the one before."""
    session: FollowerSession[Followed] = FollowerSession(100)
    first, second = Followed(0), Followed(1)
    asked(session, first, second)
    session.answered(FetchResponse(session_id=7))
    session.want(second, FetchPosition(6, 1, 1, 0))
    request = FetchRequest()
    session.ask(request)
    assert named(request) == [1]
    session.failed()
    session.ask(request)
    assert (named(request), request.session_epoch) == ([0, 1], 0)


def test_what_is_wanted_again_before_the_leader_heard_otherwise_is_not_told() -> None:
    """A partition that rested between two requests is where it was."""
    session: FollowerSession[Followed] = FollowerSession(100)
    first, second = Followed(0), Followed(1)
    asked(session, first, second)
    session.answered(FetchResponse(session_id=7))
    session.leave_out(first)
    assert (named(request := asked(session, first, second)), forgotten(request)) == ([], [])


def test_a_replica_that_is_followed_anew_is_told_of_with_all_others_in_a_new_session() -> None:
    """The leader believes that it has said where the high watermark is, to a follower that was no more."""
    session: FollowerSession[Followed] = FollowerSession(100)
    first, second = Followed(0), Followed(1)
    asked(session, first, second)
    session.answered(FetchResponse(session_id=7))
    request = asked(session, Followed(0), second)
    assert (request.session_id, request.session_epoch) == (7, 0)
    assert (sorted(named(request)), forgotten(request)) == ([0, 1], [])
