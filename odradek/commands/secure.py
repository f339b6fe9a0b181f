"""`odradek secure`: keys, users and a configuration in one step, and what a configuration leaves open."""

from __future__ import annotations

import os
import secrets
import socket
from pathlib import Path
from typing import Annotated, Final

from typer import Argument, Option

from odradek.cli.command import group, offline
from odradek.cluster.scram_argument import parse_scram_argument
from odradek.commands.format import format_with_users
from odradek.config.errors import ConfigError
from odradek.config.exposure import Danger, Exposure, find_exposures
from odradek.config.loading import load_settings
from odradek.config.secret import Secret
from odradek.config.settings import BrokerSettings
from odradek.config.tls import read_tls
from odradek.documents.secure import CHECKED, SECURED, SIGNED
from odradek.terminal.errors import EXIT_FAILED, EXIT_OK, CommandError, WrongUsageError
from odradek.terminal.output import CommandOutput
from odradek.tls.contexts import server_context
from odradek.tls.errors import TlsError
from odradek.tls.secure_directory import (
    ADMINISTRATOR,
    CA,
    CA_KEY,
    CONFIGURATION,
    MECHANISM,
    SECRET,
    SecureFile,
    Wanted,
    secure_files,
)

LOCAL_NAMES: Final = ("localhost", "127.0.0.1", "::1")
PASSWORD_BYTES: Final = 24

app = group("secure", "Encryption, log-ins and rights: set them up, and see what is open.")


@offline(
    app,
    "init",
    document=SECURED,
    examples="""
    odradek secure init /etc/odradek                                  for this machine's name
    odradek secure init secure --host kafka.example.com --host 10.0.0.7 --port 9093
    odradek serve secure/server.properties
    odradek topics list --bootstrap-server localhost:9092 --command-config secure/client.properties
    """,
)
def init(
    output: CommandOutput,
    directory: Annotated[Path, Argument(metavar="DIR", help="Where to write; a directory that is new or empty.")],
    host: Annotated[
        list[str] | None,
        Option("--host", metavar="NAME", help="A name or address under which clients connect; may be repeated."),
    ] = None,
    port: Annotated[int, Option("--port", help="The port that the broker listens on.", min=1, max=65535)] = 9092,
) -> None:
    """Make what a broker needs that lets nobody in but who logs in over TLS.

    An authority and a certificate of it, a first administrator with a password that nobody has seen, a
    server.properties that starts as it is, and the settings for clients: librdkafka, Java and Python. Files with
    secrets can be read by their owner alone.
    """
    try:
        from odradek.tls.authority import issue, make_authority

        names = [*(host or [socket.gethostname()]), *LOCAL_NAMES]
        authority = make_authority(f"odradek authority of {names[0]}"[:64])
        server = issue(authority, names[0][:64], list(dict.fromkeys(names)))
    except ImportError:
        raise CommandError("it needs one more package: pip install 'odradek[security]'") from None
    except TlsError as wrong:
        raise WrongUsageError(f"--host: {wrong}") from None
    path = directory.absolute()
    wanted = Wanted(str(path), names[0], port, Secret(secrets.token_urlsafe(PASSWORD_BYTES)))
    files = secure_files(wanted, authority, server)
    _write(path, files)
    settings = load_settings(str(path / CONFIGURATION))
    user = parse_scram_argument(f"{MECHANISM}=[name={ADMINISTRATOR},passwordfile={path / SECRET}]")
    format_with_users(settings, None, [user])
    if output.json:
        output.document(
            {
                "directory": str(path),
                "bootstrap_server": f"{names[0]}:{port}",
                "names": list(dict.fromkeys(names)),
                "administrator": ADMINISTRATOR,
                "files": [
                    {"file": str(path / one.name), "is_secret": one.is_secret, "purpose": one.purpose} for one in files
                ],
            }
        )
        return
    output.table(["FILE", "FOR"], [[str(directory / one.name), one.purpose] for one in files])


@offline(
    app,
    "certificate",
    document=SIGNED,
    examples="""
    odradek secure certificate /etc/odradek server --host kafka.example.com --replace     the broker's, renewed
    odradek secure certificate /etc/odradek anna                                          for a client: User:CN=anna
    """,
)
def certificate(
    output: CommandOutput,
    directory: Annotated[Path, Argument(metavar="DIR", help="Where `odradek secure init` wrote ca.key and ca.pem.")],
    name: Annotated[str, Argument(metavar="NAME", help="The name of the file, NAME.pem, and in the certificate.")],
    host: Annotated[
        list[str] | None,
        Option("--host", metavar="NAME", help="A name or address that it is for; this machine's are added to it."),
    ] = None,
    replace: Annotated[bool, Option("--replace", help="Take the place of a file that is there.")] = False,
) -> None:
    """Sign a new key: for a client, for another broker, or for the broker whose certificate is about to end.

    A broker that serves takes over a file that was replaced within seconds.
    """
    path = directory.absolute() / f"{name}.pem"
    if path.parent != directory.absolute() or name in ("", "ca"):
        raise WrongUsageError(f"{name!r} cannot be the name of the file")
    was_there = path.exists()
    if was_there and not replace:
        raise WrongUsageError(f"{path} is there already; --replace takes its place")
    names = list(dict.fromkeys([*host, *LOCAL_NAMES])) if host else []
    subject = host[0][:64] if host else name[:64]
    try:
        from odradek.tls.authority import SignedKey, issue

        authority = SignedKey(Secret(_read(directory / CA_KEY)), _read(directory / CA))
        signed = issue(authority, subject, names)
    except ImportError:
        raise CommandError("it needs one more package: pip install 'odradek[security]'") from None
    except TlsError as wrong:
        raise CommandError(str(wrong)) from None
    new = path.with_suffix(".new")
    new.unlink(missing_ok=True)
    _write_file(new, signed.key.reveal() + signed.certificate + authority.certificate, 0o600)
    new.replace(path)
    if output.json:
        output.document({"file": str(path), "subject": f"CN={subject}", "names": names, "replaced": was_there})
    else:
        output.line(f"{directory / path.name}: CN={subject}" + (f", for {', '.join(names)}" if names else ""))


def _read(path: Path) -> str:
    return path.read_text(encoding="ascii", errors="replace")


@offline(
    app,
    "check",
    document=CHECKED,
    examples="""
    odradek secure check server.properties
    odradek secure check --override listeners=PLAINTEXT://:9092
    """,
)
def check(
    output: CommandOutput,
    properties: Annotated[
        Path | None, Argument(metavar="[server.properties]", help="The broker's configuration file.")
    ] = None,
    override: Annotated[
        list[str] | None, Option("--override", metavar="KEY=VALUE", help="Set a config, over the file.")
    ] = None,
) -> int:
    """Say what a configuration leaves open, the worst first; the exit code is 1 where something is.

    It looks at listeners, keys, certificates, rights and the permissions of files, without starting anything.
    """
    path = None if properties is None else str(properties)
    try:
        settings = load_settings(path, override or ())
    except ConfigError as wrong:
        raise WrongUsageError(str(wrong)) from wrong
    found = sorted([*_bad_keys(settings), *find_exposures(settings, path)], key=lambda one: one.danger)
    if output.json:
        output.document(
            {
                "findings": [
                    {
                        "danger": one.danger.name.lower(),
                        "subject": one.subject,
                        "problem": one.problem,
                        "remedy": one.remedy,
                    }
                    for one in found
                ]
            }
        )
    elif found:
        rows = [[one.danger.name.lower(), one.subject, one.problem, one.remedy] for one in found]
        output.table(["DANGER", "WHAT", "WHY", "REMEDY"], rows)
    else:
        output.line("nothing is open")
    return EXIT_FAILED if found else EXIT_OK


def _bad_keys(settings: BrokerSettings) -> list[Exposure]:
    """Return the listeners with TLS that could not speak it."""
    found = []
    for listener in settings.all_listeners:
        if listener.uses_tls:
            try:
                server_context(read_tls(settings.of_listener(listener.name), listener.protocol))
            except (ConfigError, TlsError, OSError) as wrong:
                subject = f"listener {listener}"
                found.append(
                    Exposure(Danger.OPEN, subject, f"it cannot speak TLS: {wrong}", "the broker does not start")
                )
    return found


def _write(directory: Path, files: list[SecureFile]) -> None:
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        if any(directory.iterdir()):
            raise WrongUsageError(f"{directory} is not empty; name a new directory, so that no key is overwritten")
        for file in files:
            _write_file(directory / file.name, file.text.reveal(), 0o600 if file.is_secret else 0o644)
    except OSError as failed:
        raise CommandError(f"{directory} cannot be written: {failed.strerror or failed}") from failed


def _write_file(path: Path, text: str, mode: int) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
        stream.write(text)
