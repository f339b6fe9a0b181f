"""`odradek users`: who may log in with a password, in a cluster (SCRAM) or in a file of a broker (PLAIN)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from odradek.cli.command import group, online
from odradek.cluster.connection import ClusterClients
from odradek.cluster.passwords import read_password
from odradek.cluster.scram_users import delete_user, list_users, mechanisms_of, set_password
from odradek.cluster.users_file import hashed, read_users, write_users
from odradek.documents import users as documents
from odradek.protocol.scram import MAX_ITERATIONS, MECHANISM_BY_NAME, MIN_ITERATIONS, ScramMechanism
from odradek.protocol.scram_users import FileUser
from odradek.terminal.errors import CommandError, WrongUsageError
from odradek.terminal.output import CommandOutput

app = group("users", "List, create, alter and delete users who log in with a password.")

Name = Annotated[str, Argument(metavar="USER", help="The user's name.")]
Mechanisms = Annotated[
    list[str] | None,
    Option("--mechanism", metavar="MECHANISM", help="SCRAM-SHA-512 (the default) or SCRAM-SHA-256; repeatable."),
]
Iterations = Annotated[
    int, Option("--iterations", min=MIN_ITERATIONS, max=MAX_ITERATIONS, help="Of the hash that is kept.")
]
PasswordFile = Annotated[Path | None, Option("--password-file", metavar="FILE", help="Read the password there.")]
PasswordEnv = Annotated[str | None, Option("--password-env", metavar="NAME", help="Take it from this variable.")]
UsersFile = Annotated[
    Path | None,
    Option("--file", metavar="FILE", help="Users of PLAIN in this file (odradek.sasl.users.file), not the cluster's."),
]
_DEFAULT_ITERATIONS = 8192


def _is_of_file(given: Mapping[str, object]) -> bool:
    return given["file"] is not None


@online(
    app,
    "list",
    document=documents.LISTED,
    alone=_is_of_file,
    examples="""\
    odradek users list
    odradek users list anna --json
    odradek users list --file users.txt""",
)
def list_(
    cluster: ClusterClients | None,
    output: CommandOutput,
    names: Annotated[list[str] | None, Argument(metavar="[USER...]", help="These users only.")] = None,
    file: UsersFile = None,
) -> None:
    """Show the users, and by which mechanisms each may log in. Nobody is told passwords or what they are hashed to."""
    if cluster is not None:
        users = [(user.name, user.mechanisms) for user in list_users(cluster, names or ())]
    else:
        assert file is not None
        found = read_users(file)
        _check_known(file, found, names or ())
        users = [
            (name, ((user.mechanism.sasl_name, user.credential.iterations),))
            for name, user in sorted(found.items())
            if not names or name in names
        ]
    if output.json:
        output.document(
            {
                "users": [
                    {"name": name, "mechanisms": [{"mechanism": one, "iterations": count} for one, count in mechanisms]}
                    for name, mechanisms in users
                ]
            }
        )
    elif users:
        rows = [(name, one, count) for name, mechanisms in users for one, count in mechanisms]
        output.table(["USER", "MECHANISM" if file is None else "HASH", ">ITERATIONS"], rows)
    else:
        output.note("there are no users")


@online(
    app,
    "create",
    document=documents.CHANGED,
    alone=_is_of_file,
    examples="""\
    odradek users create anna                                               asks for the password
    odradek users create app --password-file /run/secrets/app
    odradek users create anna --mechanism SCRAM-SHA-256 --mechanism SCRAM-SHA-512
    odradek users create anna --file users.txt                              for PLAIN, in a file of the broker's""",
)
def create(
    cluster: ClusterClients | None,
    output: CommandOutput,
    name: Name,
    mechanism: Mechanisms = None,
    iterations: Iterations = _DEFAULT_ITERATIONS,
    password_file: PasswordFile = None,
    password_env: PasswordEnv = None,
    file: UsersFile = None,
) -> None:
    """Make a user who logs in with a password, which is asked for, or read from a file or a variable.

    Only a hash of it is sent and kept. A user that there is already is refused; `alter` changes one.
    """
    mechanisms = _mechanisms(mechanism)
    is_known = bool(mechanisms_of(cluster, name)) if cluster is not None else name in _users_of(file)
    if is_known:
        raise CommandError(f"there is a user {name} already; `odradek users alter {name}` gives him a new password")
    _set(cluster, output, name, read_password(name, password_file, password_env), mechanisms, iterations, file)


@online(
    app,
    "alter",
    document=documents.CHANGED,
    alone=_is_of_file,
    examples="""\
    odradek users alter anna                              asks for the new password
    odradek users alter anna --iterations 16384 --password-env PASSWORD""",
)
def alter(
    cluster: ClusterClients | None,
    output: CommandOutput,
    name: Name,
    mechanism: Mechanisms = None,
    iterations: Iterations = _DEFAULT_ITERATIONS,
    password_file: PasswordFile = None,
    password_env: PasswordEnv = None,
    file: UsersFile = None,
) -> None:
    """Give a user a new password, for all the mechanisms that he has unless some are named.

    Who is connected stays connected.
    """
    if cluster is None:
        _check_known(file, _users_of(file), [name])
        mechanisms = _mechanisms(mechanism)
    else:
        has = mechanisms_of(cluster, name)
        if not has:
            raise CommandError(f"there is no user {name}; `odradek users create {name}` makes one")
        mechanisms = _mechanisms(mechanism or [one for one in has if one in MECHANISM_BY_NAME])
    _set(cluster, output, name, read_password(name, password_file, password_env), mechanisms, iterations, file)


@online(
    app,
    "delete",
    document=documents.DELETED,
    alone=_is_of_file,
    examples="""\
    odradek users delete anna
    odradek users delete anna --mechanism SCRAM-SHA-256
    odradek users delete anna --file users.txt""",
)
def delete(
    cluster: ClusterClients | None,
    output: CommandOutput,
    name: Name,
    mechanism: Mechanisms = None,
    file: UsersFile = None,
) -> None:
    """Delete a user, or some of the ways in which he may log in; who is connected stays connected."""
    if cluster is None:
        assert file is not None
        users = read_users(file)
        _check_known(file, users, [name])
        mechanisms = [users.pop(name).mechanism]
        write_users(file, users)
    else:
        has = mechanisms_of(cluster, name)
        if not has:
            raise CommandError(f"there is no user {name}")
        mechanisms = _mechanisms(mechanism or has)
        delete_user(cluster, name, mechanisms)
    if output.json:
        output.document({"name": name, "mechanisms": [one.sasl_name for one in mechanisms]})
    else:
        output.line(f"user {name} deleted ({', '.join(one.sasl_name for one in mechanisms)})")


def _set(
    cluster: ClusterClients | None,
    output: CommandOutput,
    name: str,
    password: str,
    mechanisms: Sequence[ScramMechanism],
    iterations: int,
    file: Path | None,
) -> None:
    if cluster is None:
        assert file is not None
        users = read_users(file)
        users[name] = hashed(name, password, mechanisms[0], iterations)
        write_users(file, users)
        told = ["PLAIN"]
    else:
        set_password(cluster, name, password, mechanisms, iterations)
        told = [one.sasl_name for one in mechanisms]
    if output.json:
        output.document({"name": name, "mechanisms": told})
    else:
        output.line(f"user {name} may log in by {' and '.join(told)}")


def _mechanisms(names: Sequence[str] | None) -> list[ScramMechanism]:
    found = []
    for name in dict.fromkeys(names or [ScramMechanism.SCRAM_SHA_512.sasl_name]):
        mechanism = MECHANISM_BY_NAME.get(name.upper())
        if mechanism is None:
            raise WrongUsageError(f"--mechanism: {name} is none of {', '.join(MECHANISM_BY_NAME)}")
        found.append(mechanism)
    return found


def _users_of(file: Path | None) -> dict[str, FileUser]:
    assert file is not None, "users are a cluster's or a file's"
    return read_users(file)


def _check_known(file: Path | None, users: Mapping[str, FileUser], names: Sequence[str]) -> None:
    for name in names:
        if name not in users:
            raise CommandError(f"there is no user {name} in {file}")
