"""`odradek tokens`: delegation tokens, with which programs log in for a user for a while."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

from typer import Option

from odradek.cli.command import group, online
from odradek.cluster.connection import ClusterClients
from odradek.cluster.passwords import read_password
from odradek.cluster.tokens import Token, create_token, expire_token, list_tokens, renew_token
from odradek.documents import tokens as documents
from odradek.terminal.output import CommandOutput

app = group("tokens", "Create, list, renew and end delegation tokens, with which programs log in for a user.")

PasswordFile = Annotated[
    Path | None, Option("--password-file", metavar="FILE", help="Read the token's password there.")
]
PasswordEnv = Annotated[str | None, Option("--password-env", metavar="NAME", help="Take it from this variable.")]
HOUR_MS = 3_600_000


@online(
    app,
    "list",
    document=documents.LISTED,
    examples="""\
    odradek tokens list --command-config anna.properties
    odradek tokens list --owner User:anna --json --command-config admin.properties""",
)
def list_(
    cluster: ClusterClients,
    output: CommandOutput,
    owners: Annotated[
        list[str] | None, Option("--owner", metavar="USER", help="Of these users only; repeatable.")
    ] = None,
) -> None:
    """Show the tokens of whoever asks, and those of others that he may see; no passwords."""
    tokens = list_tokens(cluster, owners or ())
    if output.json:
        output.document({"tokens": [_document(token) for token in tokens]})
    elif tokens:
        rows = [
            (one.token_id, one.owner, ", ".join(one.renewers) or None, _time(one.expires_ms), _time(one.max_ms))
            for one in tokens
        ]
        output.table(["TOKEN", "OWNER", "RENEWERS", "VALID UNTIL", "RENEWABLE UNTIL"], rows)
    else:
        output.note("there are no tokens")


@online(
    app,
    "create",
    document=documents.CREATED,
    examples="""\
    odradek tokens create --command-config anna.properties
    odradek tokens create --renewer User:scheduler --max-hours 24 --json --command-config anna.properties
    odradek tokens create --owner User:anna --command-config admin.properties""",
)
def create(
    cluster: ClusterClients,
    output: CommandOutput,
    owner: Annotated[str | None, Option("--owner", metavar="USER", help="For this user instead of oneself.")] = None,
    renewers: Annotated[
        list[str] | None, Option("--renewer", metavar="USER", help="Who may renew it, too; repeatable.")
    ] = None,
    max_hours: Annotated[
        int | None, Option("--max-hours", min=1, help="How long it can live at all; as the cluster says else.")
    ] = None,
) -> None:
    """Make a token and print its password, once.

    A program logs in with the token's id and its password by SCRAM, with tokenauth=true in its JAAS entry.
    """
    made = create_token(cluster, owner, renewers or (), -1 if max_hours is None else max_hours * HOUR_MS)
    if output.json:
        output.document({**_document(made.token), "password": made.password})
        return
    token = made.token
    rows = [("token", token.token_id), ("password", made.password), ("owner", token.owner)]
    rows += [("valid until", _time(token.expires_ms)), ("renewable until", _time(token.max_ms))]
    output.table(["", ""], rows)


@online(
    app,
    "renew",
    document=documents.CHANGED,
    examples="""\
    odradek tokens renew --password-file token.secret --command-config scheduler.properties
    odradek tokens renew --hours 12 --password-env TOKEN --command-config scheduler.properties""",
)
def renew(
    cluster: ClusterClients,
    output: CommandOutput,
    hours: Annotated[int | None, Option("--hours", min=1, help="For so long; as the cluster says else.")] = None,
    password_file: PasswordFile = None,
    password_env: PasswordEnv = None,
) -> None:
    """Let a token be valid for longer; its password is asked for, or read from a file or a variable."""
    password = read_password("the token", password_file, password_env)
    _show(output, renew_token(cluster, password, -1 if hours is None else hours * HOUR_MS))


@online(
    app,
    "expire",
    document=documents.CHANGED,
    examples="""\
    odradek tokens expire --password-file token.secret --command-config anna.properties
    odradek tokens expire --hours 1 --password-file token.secret --command-config anna.properties""",
)
def expire(
    cluster: ClusterClients,
    output: CommandOutput,
    hours: Annotated[int | None, Option("--hours", min=0, help="Not at once, but after so long.")] = None,
    password_file: PasswordFile = None,
    password_env: PasswordEnv = None,
) -> None:
    """End a token, at once unless --hours says when; its password is asked for, or read from a file or a variable."""
    password = read_password("the token", password_file, password_env)
    _show(output, expire_token(cluster, password, -1 if hours is None else hours * HOUR_MS))


def _show(output: CommandOutput, expires_ms: int) -> None:
    if output.json:
        output.document({"expires_ms": expires_ms})
    else:
        output.line(f"the token is valid until {_time(expires_ms)}")


def _document(token: Token) -> dict[str, object]:
    return {
        "id": token.token_id,
        "owner": token.owner,
        "requester": token.requester,
        "renewers": list(token.renewers),
        "issued_ms": token.issued_ms,
        "expires_ms": token.expires_ms,
        "max_ms": token.max_ms,
    }


def _time(time_ms: int) -> str:
    return datetime.fromtimestamp(time_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
