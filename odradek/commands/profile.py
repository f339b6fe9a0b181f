"""`odradek profile`: clusters under names."""

from __future__ import annotations

import os
from typing import Annotated

from typer import Argument, Option

from odradek.cli import options
from odradek.cli.arguments import pairs
from odradek.cli.command import group, offline
from odradek.cli.profile_names import profile_names
from odradek.cluster.client_settings import read_client_settings, translated
from odradek.cluster.profiles import BOOTSTRAP, Profile, Profiles, configuration_directory
from odradek.cluster.reaching import parse_addresses
from odradek.commands.deletion import delete_each
from odradek.documents import profile as documents
from odradek.terminal.errors import WrongUsageError
from odradek.terminal.output import CommandOutput

app = group("profile", "Keep clusters with the settings of their clients under names, and choose the one to use.")

Name = Annotated[
    str, Argument(metavar="NAME", help="Name of the profile.", show_default=False, autocompletion=profile_names)
]
Names = Annotated[
    list[str], Argument(metavar="NAME...", help="Names of profiles.", show_default=False, autocompletion=profile_names)
]


def _profiles() -> Profiles:
    return Profiles(configuration_directory(os.environ))


@offline(
    app,
    "set",
    document=documents.KEPT,
    examples="""\
    odradek profile set local -b 127.0.0.1:9092
    odradek profile set prod -b kafka-1:9092,kafka-2:9092 --command-config client.properties
    odradek profile set prod -X client.id=reports
    odradek profile set prod --remove client.id""",
)
def set_profile(
    output: CommandOutput,
    name: Name,
    bootstrap_server: Annotated[
        str | None, Option("--bootstrap-server", "-b", metavar="HOST:PORT", help="Where the cluster is reached.")
    ] = None,
    command_config: options.CommandConfig = None,
    settings: options.ClientSettings = None,
    remove: Annotated[list[str] | None, Option("--remove", metavar="KEY", help="Forget a setting; repeatable.")] = None,
) -> None:
    """Keep a cluster under a name: its addresses and the settings of its clients.

    Of a profile that exists only what is given changes. The file is the user's alone, as it may hold a password: give
    that in --command-config rather than with -X, where other users of the machine may see it.
    """
    profiles = _profiles()
    before = dict(profiles.read(name).settings) if name in profiles.names() else {}
    given = read_client_settings(command_config) if command_config is not None else {}
    given |= translated(dict(pairs(settings or (), "-X")), "-X")
    if bootstrap_server is not None:
        given[BOOTSTRAP] = bootstrap_server
    if not given and not remove:
        raise WrongUsageError("nothing to keep; give --bootstrap-server, --command-config, -X or --remove")
    if missing := [key for key in remove or () if key not in before]:
        raise WrongUsageError(f"profile {name} has no {missing[0]}; `odradek profile show {name}` shows what it has")
    after = {key: value for key, value in {**before, **given}.items() if key not in (remove or ())}
    if BOOTSTRAP not in after:
        raise WrongUsageError(f"profile {name} would not say where its cluster is; give --bootstrap-server")
    parse_addresses(after[BOOTSTRAP])
    profile = Profile(name, after)
    path = profiles.write(profile)
    if output.json:
        output.document({**_json(profile, profiles.in_use()), "file": str(path)})
    else:
        hint = "" if profiles.in_use() == name else f"; `odradek profile use {name}` makes it the one to use"
        output.line(f"profile {name} kept in {path}{hint}")


@offline(app, "list", document=documents.LISTED, examples="odradek profile list\nodradek profile list --json")
def list_profiles(output: CommandOutput) -> None:
    """List the profiles, with where their clusters are and which one is in use."""
    profiles = _profiles()
    in_use = profiles.in_use()
    found = [profiles.read(name) for name in profiles.names()]
    if output.json:
        output.document({"profiles": [_json(each, in_use) for each in found]})
    elif found:
        rows = [["*" if each.name == in_use else "", each.name, each.settings.get(BOOTSTRAP)] for each in found]
        output.table(["", "PROFILE", "CLUSTER"], rows)
    else:
        output.note("there are no profiles yet; `odradek profile set NAME -b HOST:PORT` makes one")


@offline(app, "show", document=documents.SHOWN, examples="odradek profile show prod\nodradek profile show prod --json")
def show(output: CommandOutput, name: Name) -> None:
    """Show the settings of a profile; values that are secret stay hidden."""
    profiles = _profiles()
    profile = profiles.read(name)
    if output.json:
        output.document(_json(profile, profiles.in_use()))
        return
    for key, value in profile.shown().items():
        output.line(f"{key}={value}")


@offline(
    app,
    "use",
    document=documents.CHOSEN,
    examples="odradek profile use prod\nodradek profile use --none",
)
def use(
    output: CommandOutput,
    name: Annotated[
        str | None,
        Argument(metavar="[NAME]", help="Name of the profile.", show_default=False, autocompletion=profile_names),
    ] = None,
    none: Annotated[bool, Option("--none", help="None of them: back to this machine.")] = False,
) -> None:
    """Choose the profile that all commands use which are not told another cluster."""
    if (name is None) != none:
        raise WrongUsageError("give either the name of a profile or --none")
    profiles = _profiles()
    profiles.use(name)
    if output.json:
        output.document({"in_use": name})
    elif name is None:
        output.line("no profile is in use any more")
    else:
        output.line(f"profile {name} is in use: {profiles.read(name).settings.get(BOOTSTRAP, 'it names no cluster')}")
        for variable in (options.PROFILE_VARIABLE, options.BOOTSTRAP_VARIABLE):
            if os.environ.get(variable):
                output.note(f"{variable} is set to {os.environ[variable]} here, and counts more")


@offline(app, "delete", document=documents.DELETED, examples="odradek profile delete prod")
def delete(output: CommandOutput, names: Names) -> None:
    """Forget profiles."""
    delete_each(output, "profile", names, _profiles().delete)


def _json(profile: Profile, in_use: str | None) -> dict[str, object]:
    return {"name": profile.name, "in_use": profile.name == in_use, "settings": profile.shown()}
