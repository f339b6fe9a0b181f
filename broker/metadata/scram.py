"""SCRAM credentials of users in the metadata (KIP-900): the values, what a record does to them, and as records again.

Pure. Whoever authenticates looks them up by user and mechanism in the image; must not know: exchanges, requests.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from odradek.protocol.messages.metadata_records import RemoveUserScramCredentialRecord, UserScramCredentialRecord
from odradek.protocol.scram_values import ScramCredential


class ScramKey(NamedTuple):
    """Whose credential, and for which mechanism; the mechanism is a number since a log may hold one of tomorrow."""

    user: str
    mechanism: int


ScramCredentials = Mapping[ScramKey, ScramCredential]


def apply_scram(
    credentials: dict[ScramKey, ScramCredential], message: UserScramCredentialRecord | RemoveUserScramCredentialRecord
) -> None:
    """Take in the effect of a record."""
    key = ScramKey(message.name, message.mechanism)
    if isinstance(message, RemoveUserScramCredentialRecord):
        credentials.pop(key, None)
    else:
        credentials[key] = ScramCredential(
            bytes(message.salt), bytes(message.stored_key), bytes(message.server_key), message.iterations
        )


def scram_record(key: ScramKey, credential: ScramCredential) -> UserScramCredentialRecord:
    """Return the record that sets a credential."""
    return UserScramCredentialRecord(
        name=key.user,
        mechanism=key.mechanism,
        salt=credential.salt,
        stored_key=credential.stored_key,
        server_key=credential.server_key,
        iterations=credential.iterations,
    )


def scram_records(credentials: ScramCredentials) -> Iterator[UserScramCredentialRecord]:
    """Yield the records that a snapshot has of all of them."""
    for key, credential in credentials.items():
        yield scram_record(key, credential)
