"""The bodies of control records: in the metadata log, its snapshots, and the logs of transactions.

The key of a control record says which of these its value is: EndTxnMarker for ABORT and COMMIT, the others belong to
KRaft (KIP-595, KIP-630, KIP-853).
"""

from __future__ import annotations

from uuid import UUID

from odradek.protocol.codec import Message, Struct, array, int16, int32, int64, string, struct, uint16, uuid


class Voter(Struct):
    """A voter of the election."""

    voter_id: int = int32()
    voter_directory_id: UUID = uuid("1+")


class LeaderChangeMessage(Message, versions="0-1", flexible="0+"):
    """A leader was elected for the partition (LEADER_CHANGE)."""

    version: int = int16()
    leader_id: int = int32()
    voters: list[Voter] = array(Voter)
    granting_voters: list[Voter] = array(Voter)


class SnapshotHeaderRecord(Message, versions="0", flexible="0+"):
    """The first record of a snapshot (SNAPSHOT_HEADER): up to when it holds what was written."""

    version: int = int16()
    last_contained_log_timestamp: int = int64()


class SnapshotFooterRecord(Message, versions="0", flexible="0+"):
    """The last record of a snapshot (SNAPSHOT_FOOTER)."""

    version: int = int16()


class KRaftVersionRecord(Message, versions="0", flexible="0+"):
    """The version of the KRaft protocol in use (KRAFT_VERSION)."""

    version: int = int16()
    kraft_version: int = int16()


class Endpoint(Struct):
    """Where a listener of the voter can be reached."""

    name: str = string()
    host: str = string()
    port: int = uint16()


class KRaftVersionFeature(Struct):
    """The versions of the KRaft protocol that the voter can speak."""

    min_supported_version: int = int16()
    max_supported_version: int = int16()


class VotersRecordVoter(Struct):
    """A voter, where it can be reached and what it can speak."""

    voter_id: int = int32()
    voter_directory_id: UUID = uuid()
    endpoints: list[Endpoint] = array(Endpoint)
    kraft_version_feature: KRaftVersionFeature = struct(KRaftVersionFeature)


class VotersRecord(Message, versions="0", flexible="0+"):
    """The voters of the partition (KRAFT_VOTERS)."""

    version: int = int16()
    voters: list[VotersRecordVoter] = array(VotersRecordVoter)


class EndTxnMarker(Message, versions="0"):
    """The outcome of a transaction (ABORT, COMMIT)."""

    coordinator_epoch: int = int32()
