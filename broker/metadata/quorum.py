"""Who owns the metadata log: the voters of Kafka's controller quorum, as the log tells.

Owns: reading that, and the refusal of a log that is not this node's alone. Must not know: images. A single voter
elects itself, so a log that one node wrote can be continued by it; any other log is a copy of what a quorum elsewhere
decided (KIP-595, KIP-853).
"""

from dataclasses import dataclass
from typing import Final, TypeVar

from odradek.broker.metadata.errors import CorruptMetadataError, UnsupportedMetadataError
from odradek.protocol.codec import DecodeError, Message, decode
from odradek.protocol.messages.control_records import KRaftVersionRecord, LeaderChangeMessage, VotersRecord
from odradek.protocol.records.control import ControlType

M = TypeVar("M", bound=Message)

_NEWEST_KRAFT_VERSION: Final = 1


@dataclass(slots=True)
class Quorum:
    """What the control records of the log say, newest last."""

    leader: int | None = None
    voters: frozenset[int] | None = None
    kraft_version: bytes | None = None
    voters_record: bytes | None = None

    @property
    def notes(self) -> list[tuple[ControlType, bytes]]:
        """What a snapshot must carry on: the voters of a quorum that keeps them in the log (KIP-853)."""
        found = ((ControlType.KRAFT_VERSION, self.kraft_version), (ControlType.KRAFT_VOTERS, self.voters_record))
        return [(kind, value) for kind, value in found if value is not None]

    def note(self, kind: ControlType, value: bytes | None, offset: int) -> None:
        """Take in one control record."""
        body = value or b""
        match kind:
            case ControlType.LEADER_CHANGE:
                change = _decode(LeaderChangeMessage, body, offset)
                self.leader = change.leader_id
                if change.voters:
                    self.voters = frozenset(voter.voter_id for voter in change.voters)
            case ControlType.KRAFT_VOTERS:
                self.voters = frozenset(voter.voter_id for voter in _decode(VotersRecord, body, offset).voters)
                self.voters_record = body
            case ControlType.KRAFT_VERSION:
                version = _decode(KRaftVersionRecord, body, offset).kraft_version
                if version > _NEWEST_KRAFT_VERSION:
                    raise UnsupportedMetadataError(
                        f"the metadata log has kraft.version {version}; this version of odradek knows it up to"
                        f" {_NEWEST_KRAFT_VERSION}"
                    )
                self.kraft_version = body

    def check_owner(self, node_id: int) -> None:
        """Raise UnsupportedMetadataError unless this node is the only voter."""
        owners = self.voters
        if owners is None:
            owners = frozenset() if self.leader is None else frozenset({self.leader})
        if owners and owners != {node_id}:
            raise UnsupportedMetadataError(
                f"the metadata belongs to the controller quorum of node(s) {', '.join(map(str, sorted(owners)))}, and"
                f" this is node {node_id}: odradek serves a directory whose only controller it is. Go on with Apache"
                " Kafka, or let it make this node the only controller first (kafka-metadata-quorum.sh"
                " remove-controller)"
            )


def _decode(kind: type[M], value: bytes, offset: int) -> M:
    what = f"{kind.__name__} at offset {offset} of the metadata log"
    version = int.from_bytes(value[:2], "big")  # each of these messages begins with its own version
    if version > kind.SCHEMA.versions.last:
        raise UnsupportedMetadataError(f"{what} has version {version}: a newer Kafka wrote it")
    try:
        return decode(kind, value, version)[0]
    except DecodeError as error:
        raise CorruptMetadataError(f"{what} cannot be read: {error}") from error
