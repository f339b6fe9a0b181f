"""`odradek service`: a broker that systemd runs."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Final, NamedTuple

from typer import Argument, Option

from odradek.cli.command import group, offline
from odradek.config.errors import ConfigError
from odradek.config.loading import load_settings
from odradek.config.own_keys import AUDIT_LOG
from odradek.config.settings import BrokerSettings
from odradek.documents.service import INSTALLED, STATUS, UNINSTALLED
from odradek.service.account import ServiceAccount, find_account, first_closed, may_write
from odradek.service.systemd import ServiceState, Systemd, SystemdError
from odradek.service.unit import ServiceUnit, UnitTextError, unit_text
from odradek.terminal.errors import EXIT_FAILED, EXIT_OK, CommandError, WrongUsageError
from odradek.terminal.output import CommandOutput

DEFAULT_NAME: Final = "odradek"
DEFAULT_ACCOUNT: Final = "odradek"
SYSTEM_DATA: Final = "/var/lib/odradek"
_NAME = re.compile(r"[A-Za-z0-9:_.-]{1,200}\Z")
_ACCOUNT = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,30}\$?\Z")
_LOW_PORT = 1024

app = group("service", "A broker that systemd starts with the machine, watches, and stops in order.")

Name = Annotated[str, Option("--name", metavar="NAME", help="What the service is called.")]
User = Annotated[bool, Option("--user", help="A service of your own user, without root.")]


@offline(
    app,
    "install",
    document=INSTALLED,
    examples="""
    sudo odradek service install /etc/odradek/server.properties          runs as the user odradek
    sudo odradek service install --run-as kafka --override log.dirs=/srv/kafka
    odradek service install --user                                       data in ~/.local/share/odradek
    odradek service install --print > odradek.service
    """,
)
def install(
    output: CommandOutput,
    properties: Annotated[
        Path | None, Argument(metavar="[server.properties]", help="The broker's configuration file.")
    ] = None,
    override: Annotated[
        list[str] | None, Option("--override", metavar="KEY=VALUE", help="Set a config, over the file.")
    ] = None,
    run_as: Annotated[
        str, Option("--run-as", metavar="USER", help="The user that the broker runs as; not with --user.")
    ] = DEFAULT_ACCOUNT,
    name: Name = DEFAULT_NAME,
    user: User = False,
    print_only: Annotated[bool, Option("--print", help="Print the unit, and change nothing.")] = False,
    start: Annotated[bool, Option("--start/--no-start", help="Start it now, or only with the machine.")] = True,
) -> None:
    """Write a unit of systemd for this installation, enable it, and start it.

    The unit runs this Python with this odradek. It is started again when it fails or stands still, may open a million
    files, and, as a service of the machine, may write nowhere but where its data is. Directories of data that are not
    there are made. A unit that an earlier install wrote is written anew; one of somebody else is left alone.
    """
    wanted = _wanted(properties, override or [], user)
    account = None if user else _account(run_as)
    text = _text(wanted, account, None if user else run_as)
    systemd = _systemd(name, user)
    result = {
        "name": name,
        "unit": str(systemd.unit_path(name)),
        "text": text,
        "directories": wanted.directories,
        "account": None if user else run_as,
        "status": None,
    }
    if not print_only:
        _check_may_install(systemd, name, user)
        if not user:
            _prepare(_existing(account, run_as), wanted)
        else:
            for directory in wanted.directories:
                Path(directory).mkdir(mode=0o750, parents=True, exist_ok=True)
        state = _install(systemd, name, text, start)
        result["status"] = state.status if start else None
    if output.json:
        output.document(result)
    elif print_only:
        output.text(text)
    else:
        output.line(f"{result['unit']}: " + (f"{state.active}, {state.status}" if start else "enabled, not started"))
        if user:
            output.note("it ends with your last log-in; `loginctl enable-linger` keeps it running")


@offline(
    app,
    "uninstall",
    document=UNINSTALLED,
    examples="""
    sudo odradek service uninstall
    odradek service uninstall --user
    """,
)
def uninstall(output: CommandOutput, name: Name = DEFAULT_NAME, user: User = False) -> None:
    """Stop the service in order, and remove its unit; its data and its configuration stay."""
    systemd = _systemd(name, user)
    _check_may_install(systemd, name, user)
    if not systemd.is_ours(name):
        raise CommandError(f"there is no {systemd.unit_path(name)}, so nothing was removed")
    try:
        systemd.ask("disable", "--now", f"{name}.service")
        path = systemd.remove(name)
    except SystemdError as failed:
        raise CommandError(str(failed)) from failed
    if output.json:
        output.document({"name": name, "unit": str(path)})
    else:
        output.line(f"{path} removed; data and configuration are where they were")


@offline(
    app,
    "status",
    document=STATUS,
    examples="""
    odradek service status
    odradek service status --user --json
    """,
)
def status(output: CommandOutput, name: Name = DEFAULT_NAME, user: User = False) -> int:
    """Say how the service is; the exit code is 0 while it serves, otherwise 1."""
    systemd = _systemd(name, user)
    _check_is_there(systemd)
    try:
        state = systemd.state(name)
    except SystemdError as failed:
        raise CommandError(str(failed)) from failed
    if state.unit is None:
        raise CommandError(f"there is no service {name}; `odradek service install` makes one")
    if output.json:
        fields = ("active", "detail", "status", "pid", "restarts", "enabled", "unit")
        output.document({"name": name} | {field: getattr(state, field) for field in fields})
    else:
        output.table(
            ["SERVICE", "STATE", "STATUS", ">PID", ">RESTARTS", "ENABLED", "UNIT"],
            [
                [
                    name,
                    f"{state.active} ({state.detail})",
                    state.status or None,
                    state.pid,
                    state.restarts,
                    "yes" if state.enabled else "no",
                    state.unit,
                ]
            ],
        )
    return EXIT_OK if state.active == "active" else EXIT_FAILED


class _Wanted(NamedTuple):
    """What a unit is to run, with paths that stand for themselves."""

    properties: Path | None
    overrides: Sequence[str]
    directories: Sequence[str]
    low_ports: bool


def _wanted(properties: Path | None, overrides: list[str], user: bool) -> _Wanted:
    path = None if properties is None else properties.absolute()
    if path is None and not any(one.partition("=")[0].strip() in ("log.dirs", "log.dir") for one in overrides):
        overrides = [*overrides, f"log.dirs={_user_data() if user else SYSTEM_DATA}"]
    try:
        settings = load_settings(None if path is None else str(path), overrides)
    except ConfigError as wrong:
        raise WrongUsageError(str(wrong)) from wrong
    ports = [one.port for one in settings.all_listeners]
    ports += [settings.http_listener.port] if settings.http_listener else []
    low_ports = any(0 < port < _LOW_PORT for port in ports)
    return _Wanted(path, overrides, _written(settings), low_ports)


def _written(settings: BrokerSettings) -> list[str]:
    """Return the directories that the broker writes to; refuse those that depend on where it is started."""
    for key in ("log.dirs", "log.dir", "metadata.log.dir", AUDIT_LOG):
        for path in settings.values.get(key, "").split(","):
            if path.strip() and not os.path.isabs(path.strip()):
                raise WrongUsageError(
                    f"{key}={path.strip()} is a relative path, and a service is started in no directory of its own: "
                    "write an absolute one"
                )
    audit = settings.values.get(AUDIT_LOG)
    directories = [*settings.log_dirs, settings.metadata_log_dir, *([os.path.dirname(audit)] if audit else [])]
    return list(dict.fromkeys(map(os.path.normpath, directories)))


def _user_data() -> str:
    shared = os.environ.get("XDG_DATA_HOME", "")
    return os.path.join(shared if os.path.isabs(shared) else Path.home() / ".local/share", "odradek")


def _text(wanted: _Wanted, account: ServiceAccount | None, run_as: str | None) -> str:
    properties = None if wanted.properties is None else str(wanted.properties)
    unit = ServiceUnit(
        interpreter=os.path.abspath(sys.executable),
        properties=properties,
        overrides=wanted.overrides,
        written=wanted.directories,
        account=run_as,
        group=account.group_name if account else None,
        low_ports=wanted.low_ports,
    )
    try:
        return unit_text(unit)
    except UnitTextError as wrong:
        raise WrongUsageError(str(wrong)) from wrong


def _systemd(name: str, user: bool) -> Systemd:
    if not _NAME.match(name):
        raise WrongUsageError(f"--name: {name!r} is no name of a service: letters, digits and :_.- are")
    return Systemd(user, Path("/"), Path.home())


def _check_is_there(systemd: Systemd) -> None:
    if not systemd.is_there:
        raise CommandError(
            "this machine is not run by systemd (there is no /run/systemd/system); `odradek service install --print`"
            " shows the unit for one that is, and `odradek serve` is what any other supervisor has to run"
        )


def _check_may_install(systemd: Systemd, name: str, user: bool) -> None:
    _check_is_there(systemd)
    if not user and os.geteuid() != 0:
        raise CommandError("a service of the machine needs root: use sudo, or --user for a service of your own")
    path = systemd.unit_path(name)
    if path.exists() and not systemd.is_ours(name):
        raise CommandError(f"{path} was not written by `odradek service install` and is left alone; choose a --name")


def _account(run_as: str) -> ServiceAccount | None:
    if not _ACCOUNT.match(run_as):
        raise WrongUsageError(f"--run-as: {run_as!r} is no name of a user")
    return find_account(run_as)


def _existing(account: ServiceAccount | None, run_as: str) -> ServiceAccount:
    if account is None:
        raise CommandError(
            f"there is no user {run_as}: `useradd --system --home-dir {SYSTEM_DATA} --shell /usr/sbin/nologin {run_as}`"
            " makes it, --run-as names another"
        )
    return account


def _prepare(account: ServiceAccount, wanted: _Wanted) -> None:
    """Make directories that are missing, and see that the user reaches everything, before systemd fails at it."""
    for needed in (Path(sys.executable), Path(__file__), *([wanted.properties] if wanted.properties else [])):
        closed = first_closed(account, needed)
        if closed is not None:
            raise CommandError(
                f"the user {account.name} cannot read {closed}, which {needed} needs; change its permissions, or"
                " install odradek where every user may read, for example with `python3 -m venv /opt/odradek`"
            )
    for directory in map(Path, wanted.directories):
        if not directory.exists():
            directory.mkdir(mode=0o750, parents=True)
            os.chown(directory, account.uid, account.gid)
        closed = first_closed(account, directory)
        if closed is not None or not may_write(account, directory):
            raise CommandError(
                f"the user {account.name} cannot write to {directory}"
                + (f", since {closed} is closed to it" if closed not in (None, directory) else "")
                + f": `chown -R {account.name}: {directory}` lets it, where no other broker uses the directory"
            )


def _install(systemd: Systemd, name: str, text: str, start: bool) -> ServiceState:
    try:
        systemd.write(name, text)
        systemd.ask("enable", f"{name}.service")
        if start:
            systemd.ask("restart", f"{name}.service")
        return systemd.state(name)
    except SystemdError as failed:
        raise CommandError(f"{failed}; `journalctl -u {name} -n 20` has what the broker said") from failed
