"""Users of SCRAM in a cluster: who there is, new ones, new passwords, and who goes (KIP-554).

The password is salted and hashed here, and never leaves this process.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from typing import Final, NamedTuple

from odradek.cluster.broker_requests import check
from odradek.cluster.connection import ClusterClients
from odradek.protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from odradek.protocol.messages.describe_user_scram_credentials import (
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
    UserName,
)
from odradek.protocol.scram import ScramMechanism, salted_password

SALT_BYTES: Final = 24
_UNKNOWN: Final = 91


class ListedScramUser(NamedTuple):
    """A user, and how he may log in."""

    name: str
    mechanisms: tuple[tuple[str, int], ...]
    """Each with its iterations."""


def list_users(cluster: ClusterClients, names: Sequence[str] = ()) -> list[ListedScramUser]:
    """Return the users, all of them or these; CommandError for one that there is not."""
    users = [UserName(name=name) for name in names]
    answer = cluster.requests.ask(
        DescribeUserScramCredentialsRequest(users=users or None), DescribeUserScramCredentialsResponse, "users"
    )
    check(answer.error_code, answer.error_message, "users")
    found = []
    for result in answer.results:
        check(result.error_code, result.error_message, f"user {result.user}")
        mechanisms = sorted((_name(info.mechanism), info.iterations) for info in result.credential_infos)
        found.append(ListedScramUser(result.user, tuple(mechanisms)))
    return sorted(found)


def mechanisms_of(cluster: ClusterClients, name: str) -> tuple[str, ...]:
    """Return the mechanisms by which a user may log in, none where there is no such user."""
    answer = cluster.requests.ask(
        DescribeUserScramCredentialsRequest(users=[UserName(name=name)]),
        DescribeUserScramCredentialsResponse,
        f"user {name}",
    )
    check(answer.error_code, answer.error_message, f"user {name}")
    (result,) = answer.results
    if result.error_code == _UNKNOWN:
        return ()
    check(result.error_code, result.error_message, f"user {name}")
    return tuple(sorted(_name(info.mechanism) for info in result.credential_infos))


def set_password(
    cluster: ClusterClients, name: str, password: str, mechanisms: Sequence[ScramMechanism], iterations: int
) -> None:
    """Let a user log in with a password by these mechanisms; CommandError where that cannot be."""
    for mechanism in mechanisms:  # a request names a user once
        salt = secrets.token_bytes(SALT_BYTES)
        upsertion = ScramCredentialUpsertion(
            name=name,
            mechanism=mechanism,
            iterations=iterations,
            salt=salt,
            salted_password=salted_password(mechanism, password, salt, iterations),
        )
        _alter(cluster, name, AlterUserScramCredentialsRequest(upsertions=[upsertion]))


def delete_user(cluster: ClusterClients, name: str, mechanisms: Sequence[ScramMechanism]) -> None:
    """Take these ways to log in from a user; CommandError where there is one that he does not have."""
    for mechanism in mechanisms:
        deletion = ScramCredentialDeletion(name=name, mechanism=mechanism)
        _alter(cluster, name, AlterUserScramCredentialsRequest(deletions=[deletion]))


def _alter(cluster: ClusterClients, name: str, request: AlterUserScramCredentialsRequest) -> None:
    answer = cluster.requests.ask(request, AlterUserScramCredentialsResponse, f"user {name}")
    for result in answer.results:
        check(result.error_code, result.error_message, f"user {name}")


def _name(mechanism: int) -> str:
    return ScramMechanism(mechanism).sasl_name if mechanism in set(ScramMechanism) else f"mechanism {mechanism}"
