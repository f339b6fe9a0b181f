"""`odradek quotas`: how much users, client ids and addresses may take."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from typer import Argument, Option

from odradek.cli.arguments import pairs
from odradek.cli.command import group, online
from odradek.cluster.connection import ClusterClients
from odradek.cluster.quotas import (
    CLIENT_ID,
    IP,
    KINDS,
    USER,
    Entity,
    alter_quotas,
    keys_of,
    list_quotas,
    name_of,
    quotas_of,
)
from odradek.documents import quotas as documents
from odradek.terminal.errors import CommandError, WrongUsageError
from odradek.terminal.output import CommandOutput

app = group("quotas", "List, set and delete how much users, client ids and addresses may take.")

User = Annotated[str | None, Option("--user", metavar="NAME", help="A user, without `User:`.")]
DefaultUser = Annotated[bool, Option("--default-user", help="Every user that has no quota by name.")]
Client = Annotated[str | None, Option("--client-id", metavar="ID", help="A client id.")]
DefaultClient = Annotated[bool, Option("--default-client-id", help="Every client id that has no quota by name.")]
Address = Annotated[str | None, Option("--ip", metavar="ADDRESS", help="An address, or the name of a host.")]
DefaultAddress = Annotated[bool, Option("--default-ip", help="Every address that has no quota by name.")]


@online(
    app,
    "list",
    document=documents.LISTED,
    examples="""\
    odradek quotas list
    odradek quotas list --user anna --json
    odradek quotas list --default-ip""",
)
def list_(
    cluster: ClusterClients,
    output: CommandOutput,
    user: User = None,
    default_user: DefaultUser = False,
    client_id: Client = None,
    default_client_id: DefaultClient = False,
    ip: Address = None,
    default_ip: DefaultAddress = False,
) -> None:
    """Show what is set, for everybody or for those that are named, also together with others."""
    wanted = _entity(user, default_user, client_id, default_client_id, ip, default_ip)
    found = list_quotas(cluster, wanted)
    if output.json:
        output.document({"quotas": [_document(one.entity, one.values) for one in found]})
    elif found:
        rows = [
            (*(_cell(one.entity, kind) for kind in KINDS), key, _number(value))
            for one in found
            for key, value in one.values.items()
        ]
        output.table(["USER", "CLIENT ID", "IP", "QUOTA", ">LIMIT"], rows)
    else:
        output.note("no quotas are set" if not wanted else f"no quotas are set for {name_of(wanted)}")


@online(
    app,
    "set",
    document=documents.CHANGED,
    examples="""\
    odradek quotas set --user anna producer_byte_rate=1048576 consumer_byte_rate=2097152
    odradek quotas set --default-user --client-id reports request_percentage=20
    odradek quotas set --default-user controller_mutation_rate=5
    odradek quotas set --default-ip connection_creation_rate=20""",
)
def set_(
    cluster: ClusterClients,
    output: CommandOutput,
    quotas: Annotated[list[str], Argument(metavar="QUOTA=LIMIT...", help="What may be taken in a second.")],
    user: User = None,
    default_user: DefaultUser = False,
    client_id: Client = None,
    default_client_id: DefaultClient = False,
    ip: Address = None,
    default_ip: DefaultAddress = False,
) -> None:
    """Set quotas; others of the same user, client id or address stay.

    For users and client ids there are producer_byte_rate, consumer_byte_rate, request_percentage (100 is one thread)
    and controller_mutation_rate (partitions), for addresses connection_creation_rate. With a user and a client id a
    quota is for what comes with both.
    """
    entity = _one(_entity(user, default_user, client_id, default_client_id, ip, default_ip))
    changes = _limits(quotas, entity)
    alter_quotas(cluster, entity, changes)
    _told(output, entity, {**quotas_of(cluster, entity), **changes})


@online(
    app,
    "delete",
    document=documents.CHANGED,
    examples="""\
    odradek quotas delete --user anna consumer_byte_rate
    odradek quotas delete --default-ip""",
)
def delete(
    cluster: ClusterClients,
    output: CommandOutput,
    quotas: Annotated[list[str] | None, Argument(metavar="[QUOTA...]", help="These only.")] = None,
    user: User = None,
    default_user: DefaultUser = False,
    client_id: Client = None,
    default_client_id: DefaultClient = False,
    ip: Address = None,
    default_ip: DefaultAddress = False,
) -> None:
    """Delete quotas of a user, a client id or an address, all of them if none is named."""
    entity = _one(_entity(user, default_user, client_id, default_client_id, ip, default_ip))
    before = quotas_of(cluster, entity)
    doomed = list(dict.fromkeys(quotas or before))
    missing = [key for key in doomed if key not in before]
    if missing or not doomed:
        raise CommandError(f"{name_of(entity)} has no {' and no '.join(missing) or 'quotas'}")
    alter_quotas(cluster, entity, {}, doomed)
    _told(output, entity, {key: value for key, value in before.items() if key not in doomed})


def _entity(
    user: str | None,
    default_user: bool,
    client_id: str | None,
    default_client_id: bool,
    ip: str | None,
    default_ip: bool,
) -> Entity:
    entity: dict[str, str | None] = {}
    for kind, name, is_default in (
        (USER, user, default_user),
        (CLIENT_ID, client_id, default_client_id),
        (IP, ip, default_ip),
    ):
        if name is not None and is_default:
            raise WrongUsageError(f"give either --{kind} or --default-{kind}")
        if name == "":
            raise WrongUsageError(f"--{kind} is empty; --default-{kind} is for all that have no quota by name")
        if name is not None or is_default:
            entity[kind] = name
    if IP in entity and len(entity) > 1:
        raise WrongUsageError("an address has quotas of its own: give --ip without a user or a client id")
    return entity


def _one(entity: Entity) -> Entity:
    if not entity:
        raise WrongUsageError("say whose quotas: --user, --client-id or --ip, or a default of these")
    return entity


def _limits(given: list[str], entity: Entity) -> dict[str, float]:
    keys = keys_of(entity)
    limits: dict[str, float] = {}
    for key, text in pairs(given, "the quota"):
        if key not in keys:
            raise WrongUsageError(f"{key} is no quota of {name_of(entity)}: there is {', '.join(keys)}")
        if key in limits:
            raise WrongUsageError(f"{key} stands there twice")
        try:
            limits[key] = float(text)
        except ValueError:
            raise WrongUsageError(f"{key}: {text!r} is no number") from None
        if not limits[key] > 0:
            raise WrongUsageError(f"{key}: {text} is not above 0; `odradek quotas delete` takes a quota back")
    return limits


def _told(output: CommandOutput, entity: Entity, values: Mapping[str, float]) -> None:
    if output.json:
        output.document(_document(entity, dict(sorted(values.items()))))
    else:
        told = ", ".join(f"{key}={_number(value)}" for key, value in sorted(values.items()))
        output.note(f"{name_of(entity)}: {told or 'no quotas'}")


def _document(entity: Entity, values: Mapping[str, float]) -> dict[str, object]:
    return {
        "entity": [{"type": kind, "name": name} for kind, name in entity.items()],
        "values": [{"quota": key, "value": value} for key, value in values.items()],
    }


def _cell(entity: Entity, kind: str) -> str:
    if kind not in entity:
        return ""
    name = entity[kind]
    return "(default)" if name is None else name


def _number(value: float) -> str:
    return str(int(value)) if value == value // 1 and value < 1e15 else f"{value:g}"
