"""From the options that all commands share to the cluster they mean: its addresses and the settings of its clients.

What is closer counts more: `--bootstrap-server`; `bootstrap.servers` in `-X` or `--command-config`; the profile that
`--profile` or ODRADEK_PROFILE names; ODRADEK_BOOTSTRAP; the profile in use; this machine. The settings of the profile
in use, which may be passwords, go to its own addresses alone.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, NamedTuple

from odradek.cli.arguments import pairs
from odradek.cli.options import BOOTSTRAP_VARIABLE, DEFAULT_BOOTSTRAP, PROFILE_VARIABLE
from odradek.cluster.client_settings import read_client_settings, translated
from odradek.cluster.profiles import BOOTSTRAP, Profiles, configuration_directory


@dataclass(frozen=True, slots=True)
class ClusterArguments:
    """What a command line says of the cluster; None or nothing for what it does not say."""

    bootstrap_server: str | None = None
    command_config: Path | None = None
    profile: str | None = None
    settings: Sequence[str] = ()
    """Each `KEY=VALUE`."""


class ClusterTarget(NamedTuple):
    """Where a cluster is, and the settings of its clients by librdkafka's names."""

    bootstrap: str
    settings: Mapping[str, str]


def cluster_target(
    given: ClusterArguments, environment: Mapping[str, str] = os.environ, profiles: Profiles | None = None
) -> ClusterTarget:
    """Return the cluster that is meant.

    Raises:
        WrongUsageError: a file or a setting cannot be understood.
        CommandError: there is no such profile.
    """
    kept = profiles or Profiles(configuration_directory(environment))
    own = read_client_settings(given.command_config) if given.command_config is not None else {}
    own |= translated(dict(pairs(given.settings, "-X")), "-X")
    addresses = given.bootstrap_server or own.get(BOOTSTRAP)
    in_environment = environment.get(BOOTSTRAP_VARIABLE)
    name = given.profile or environment.get(PROFILE_VARIABLE)
    if not name and not addresses and not in_environment:
        name = kept.in_use()
    of_profile = dict(kept.read(name).settings) if name else {}
    bootstrap = addresses or of_profile.get(BOOTSTRAP) or in_environment or DEFAULT_BOOTSTRAP
    return ClusterTarget(bootstrap, {**of_profile, **own})


def cluster_arguments(given: Mapping[str, Any]) -> ClusterArguments:
    """Return the options of the cluster among the arguments of a command."""
    named = {each.name: given[each.name] for each in fields(ClusterArguments) if given.get(each.name)}
    return ClusterArguments(**named)
