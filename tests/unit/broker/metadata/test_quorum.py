"""Whose metadata log it is."""

import pytest

from odradek.broker.metadata.errors import CorruptMetadataError, UnsupportedMetadataError
from odradek.broker.metadata.quorum import Quorum
from odradek.protocol.codec import encode
from odradek.protocol.messages.control_records import (
    KRaftVersionRecord,
    LeaderChangeMessage,
    Voter,
    VotersRecord,
    VotersRecordVoter,
)
from odradek.protocol.records.control import ControlType


def leader_change(leader: int, *voters: int, version: int = 0) -> bytes:
    """Return the value of a leader change."""
    listed = [Voter(voter_id=voter) for voter in voters]
    return encode(LeaderChangeMessage(version=version, leader_id=leader, voters=listed), version)


def test_single_voter_owns_its_log() -> None:
    """The newest leader change counts."""
    quorum = Quorum()
    quorum.check_owner(1)
    quorum.note(ControlType.LEADER_CHANGE, leader_change(7, 7), 0)
    quorum.note(ControlType.LEADER_CHANGE, leader_change(1, 1, version=1), 9)
    quorum.check_owner(1)
    with pytest.raises(UnsupportedMetadataError):
        quorum.check_owner(7)


def test_quorum_of_several_nodes_is_refused() -> None:
    """Even on its leader: the others would go on without it."""
    quorum = Quorum()
    quorum.note(ControlType.LEADER_CHANGE, leader_change(1, 1, 2, 3), 0)
    with pytest.raises(UnsupportedMetadataError, match=r"node\(s\) 1, 2, 3"):
        quorum.check_owner(1)


def test_voters_record_takes_the_place_of_older_voters() -> None:
    """Dynamic quorums (KIP-853) keep their voters in the log."""
    quorum = Quorum()
    quorum.note(ControlType.KRAFT_VERSION, encode(KRaftVersionRecord(kraft_version=1), 0), 0)
    quorum.note(ControlType.KRAFT_VOTERS, encode(VotersRecord(voters=[VotersRecordVoter(voter_id=4)]), 0), 1)
    quorum.check_owner(4)
    with pytest.raises(UnsupportedMetadataError):
        quorum.check_owner(1)


def test_newer_kraft_version_and_newer_messages_are_refused() -> None:
    """They may mean something that is not known here."""
    with pytest.raises(UnsupportedMetadataError, match=r"kraft.version 2"):
        Quorum().note(ControlType.KRAFT_VERSION, encode(KRaftVersionRecord(kraft_version=2), 0), 0)
    with pytest.raises(UnsupportedMetadataError, match=r"LeaderChangeMessage at offset 5 .* version 9"):
        Quorum().note(ControlType.LEADER_CHANGE, b"\x00\x09" + leader_change(1, 1)[2:], 5)


@pytest.mark.parametrize("value", [None, b"", b"\x00\x00\x00", leader_change(1, 1)[:-4]])
def test_control_record_that_cannot_be_read_is_corrupt(value: bytes | None) -> None:
    """Nothing is guessed."""
    with pytest.raises(CorruptMetadataError):
        Quorum().note(ControlType.LEADER_CHANGE, value, 0)


def test_other_control_records_say_nothing_of_the_quorum() -> None:
    """Snapshot headers and footers, and what a newer Kafka may add."""
    quorum = Quorum()
    for kind in (ControlType.SNAPSHOT_HEADER, ControlType.SNAPSHOT_FOOTER, ControlType.UNKNOWN):
        quorum.note(kind, b"", 0)
    assert quorum == Quorum()
