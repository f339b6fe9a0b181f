"""The file `quorum-state`: what this node knows of the quorum's epochs, and whom it has voted for.

Owns the file beside the metadata log. It is written, and on the disk, before anything is done that depends on it, so
that a node never goes back to an epoch that it has been in. Kafka's form (KIP-595, KIP-853, `FileQuorumStateStore`):
JSON of version 0 where the voters stand in the configuration (kraft.version 0), of version 1 where they stand in the
log.
"""

from typing import Final, NamedTuple
from uuid import UUID

from odradek.broker.metadata.errors import CorruptMetadataError
from odradek.protocol.uuids import ZERO_UUID, from_text, to_text
from odradek.storage.files import FileSystem

QUORUM_STATE_FILE: Final = "quorum-state"
NOBODY: Final = -1
_LARGEST_ID: Final = (1 << 31) - 1


class QuorumState(NamedTuple):
    """The newest epoch, who leads in it, and who was voted for."""

    leader_id: int = NOBODY
    leader_epoch: int = 0
    voted_id: int = NOBODY
    voted_directory_id: UUID = ZERO_UUID
    voters: tuple[int, ...] = ()
    """Of a quorum whose voters stand in the configuration."""
    data_version: int = 0


def read_quorum_state(fs: FileSystem, directory: str) -> QuorumState:
    """Return what the file in the metadata log's directory says, the beginning of everything if there is none.

    Raises CorruptMetadataError if it cannot be read.
    """
    path = f"{directory}/{QUORUM_STATE_FILE}"
    try:
        content = fs.read_bytes(path)
    except FileNotFoundError:
        return QuorumState()
    import json  # 5 ms that most starts need not spend

    try:
        found = json.loads(content)
        return QuorumState(
            leader_id=_number(path, "leader id", found.get("leaderId", NOBODY), NOBODY),
            leader_epoch=_number(path, "leader epoch", found["leaderEpoch"], 0),
            voted_id=_number(path, "voted id", found.get("votedId", NOBODY), NOBODY),
            voted_directory_id=from_text(found.get("votedDirectoryId", to_text(ZERO_UUID))),
            voters=tuple(_number(path, "voter", one["voterId"], 0) for one in found.get("currentVoters") or ()),
            data_version=_number(path, "version", found.get("data_version", 0), 0),
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise CorruptMetadataError(f"{path} is not a quorum state of Kafka: {error}") from error


def write_quorum_state(fs: FileSystem, directory: str, state: QuorumState) -> None:
    """Replace the file; durable on return. Raises OSError."""
    import json

    if state.data_version == 0:
        content = {
            "clusterId": "",
            "leaderId": state.leader_id,
            "leaderEpoch": state.leader_epoch,
            "votedId": state.voted_id,
            "appliedOffset": 0,
            "currentVoters": [{"voterId": voter} for voter in state.voters],
            "data_version": 0,
        }
    else:
        content = {
            "leaderId": state.leader_id,
            "leaderEpoch": state.leader_epoch,
            "votedId": state.voted_id,
            "votedDirectoryId": to_text(state.voted_directory_id),
            "data_version": state.data_version,
        }
    text = json.dumps(content, separators=(",", ":"))
    fs.write_atomic(f"{directory}/{QUORUM_STATE_FILE}", text.encode())


def _number(path: str, what: str, value: object, least: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= _LARGEST_ID:
        raise CorruptMetadataError(f"{path} has the {what} {value!r}")
    return value
