"""Profiles: the client settings of clusters under names, in the user's configuration directory.

    ~/.config/odradek/profiles/prod.properties    settings as --command-config takes them, with bootstrap.servers
    ~/.config/odradek/profile                     the name of the profile that is in use

Files are the user's alone (0600), as they may have passwords in them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

from odradek.cluster.client_settings import read_client_settings
from odradek.terminal.errors import CommandError, WrongUsageError

BOOTSTRAP: Final = "bootstrap.servers"
HIDDEN: Final = "(secret)"

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_SUFFIX: Final = ".properties"
_SECRET: Final = re.compile(r"password|secret|jaas|token|key\.pem|sasl\.oauthbearer\.config", re.IGNORECASE)
_IS_NO_SECRET: Final = frozenset({"sasl.oauthbearer.token.endpoint.url"})
_LONGEST_NAME: Final = 200
_ESCAPES: Final = {"\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\f": "\\f"}


class Profile(NamedTuple):
    """The settings of one cluster, by librdkafka's names."""

    name: str
    settings: Mapping[str, str]

    def shown(self) -> dict[str, str]:
        """Return the settings as they may be shown: without what is secret."""
        return {key: HIDDEN if is_secret(key) else value for key, value in self.settings.items()}


def configuration_directory(environment: Mapping[str, str]) -> Path:
    """Return where a user's configuration of odradek is, by the XDG Base Directory Specification."""
    given = environment.get("XDG_CONFIG_HOME", "")
    base = Path(given) if os.path.isabs(given) else Path(environment.get("HOME") or Path.home()) / ".config"
    return base / "odradek"


def is_secret(key: str) -> bool:
    """Return whether the value of a setting is not to be shown."""
    return key not in _IS_NO_SECRET and _SECRET.search(key) is not None


class Profiles:
    """The profiles in a configuration directory, which need not exist."""

    def __init__(self, directory: Path) -> None:
        self._files = directory / "profiles"
        self._in_use = directory / "profile"

    def names(self) -> list[str]:
        """Return the names of all profiles, sorted."""
        try:
            found = [each.name.removesuffix(_SUFFIX) for each in self._files.iterdir() if each.suffix == _SUFFIX]
        except FileNotFoundError:
            return []
        return sorted(name for name in found if _NAME.fullmatch(name))

    def in_use(self) -> str | None:
        """Return the name of the profile that commands use by themselves, None where there is none."""
        try:
            with self._in_use.open(encoding="utf-8", errors="replace") as file:
                return file.read(_LONGEST_NAME).strip() or None
        except FileNotFoundError:
            return None

    def read(self, name: str) -> Profile:
        """Return a profile. CommandError where there is none of this name, WrongUsageError where it is unreadable."""
        path = self._path(name)
        if not path.exists():
            there = f"there are {', '.join(self.names())}" if self.names() else "there are none"
            raise CommandError(f"there is no profile {name}, {there}; `odradek profile set {name}` makes it")
        return Profile(name, read_client_settings(path))

    def write(self, profile: Profile) -> Path:
        """Keep a profile in place of what was kept under its name; returns its file."""
        path = self._path(profile.name)
        lines = [f"{_escaped(key, is_key=True)}={_escaped(value)}\n" for key, value in profile.settings.items()]
        _replace(path, "".join(lines))
        return path

    def use(self, name: str | None) -> None:
        """Make commands use a profile by themselves, or none; CommandError where there is none of this name."""
        if name is None:
            self._in_use.unlink(missing_ok=True)
            return
        self.read(name)
        _replace(self._in_use, f"{name}\n")

    def delete(self, name: str) -> None:
        """Forget a profile; CommandError where there is none of this name."""
        self.read(name)
        self._path(name).unlink()
        if self.in_use() == name:
            self.use(None)

    def _path(self, name: str) -> Path:
        if not _NAME.fullmatch(name):
            raise WrongUsageError(f"{name!r} is no name of a profile: letters, digits, dots, dashes and underscores")
        return self._files / f"{name}{_SUFFIX}"


def _replace(path: Path, text: str) -> None:
    """Write a file that the user alone may read; it has the old content or the new one, never a part."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    new = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        with open(descriptor, "w", encoding="latin-1") as file:
            file.write(text)
        os.replace(new, path)
    except BaseException:
        new.unlink(missing_ok=True)
        raise


def _escaped(text: str, *, is_key: bool = False) -> str:
    """Return text as a properties file has it: Latin-1 with escapes, and in a key no separators."""
    special = "=: #!" if is_key else ""
    shown = "".join(f"\\{each}" if each in special else _ESCAPES.get(each, each) for each in text)
    shown = f"\\{shown}" if shown.startswith(" ") else shown
    return "".join(each if " " <= each <= "~" else _unicode(each) for each in shown)


def _unicode(character: str) -> str:
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[each : each + 2].hex()}" for each in range(0, len(units), 2))
