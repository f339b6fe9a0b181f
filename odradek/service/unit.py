"""The unit of systemd that runs a broker: what it says, as text. Pure.

Sources: systemd.service(5), systemd.exec(5), systemd.syntax(7).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

MARK: Final = "# Written by `odradek service install`; your own settings belong in `systemctl edit`, not here."
"""The first line of a unit of ours, which may be written anew."""
DESCRIPTORS: Final = 1_048_576
STOP_S: Final = 180
"""Leaderships are moved and everything is written to the disk; what takes longer is ended."""
WATCHDOG_S: Final = 120
"""A loop that stands still for so long will not go on: the longest step of it takes a second."""
SHARED_TEMPORARY: Final = ("/tmp", "/var/tmp")  # noqa: S108
HOMES: Final = ("/home", "/root", "/run/user")


class UnitTextError(ValueError):
    """Something that cannot stand in a unit."""


@dataclass(frozen=True, slots=True)
class ServiceUnit:
    """What differs from one service to the next. Paths are absolute."""

    interpreter: str
    properties: str | None
    overrides: Sequence[str]
    written: Sequence[str]
    """Directories that the broker writes to."""
    account: str | None = None
    """The user that it runs as; None for a service of the one who installs it."""
    group: str | None = None
    low_ports: bool = False
    """Whether it listens on a port below 1024."""

    @property
    def is_system(self) -> bool:
        """Whether it is one of the machine, and not of a single user."""
        return self.account is not None


def unit_text(unit: ServiceUnit) -> str:
    """Return the unit. Raises UnitTextError where a path or a setting has a character that no unit can have."""
    sections: list[list[str | None]] = [
        [
            MARK,
            "[Unit]",
            "Description=odradek, an Apache Kafka-compatible broker",
            "Wants=network-online.target" if unit.is_system else None,
            "After=network-online.target" if unit.is_system else None,
            f"RequiresMountsFor={' '.join(map(_path, unit.written))}" if unit.is_system else None,
            "StartLimitIntervalSec=300",
            "StartLimitBurst=10",
        ],
        ["[Service]", *_process(unit), *_hardening(unit)],
        ["[Install]", f"WantedBy={'multi-user' if unit.is_system else 'default'}.target"],
    ]
    return "\n\n".join("\n".join(filter(None, lines)) for lines in sections) + "\n"


def _process(unit: ServiceUnit) -> list[str | None]:
    command = [unit.interpreter, "-P", "-m", "odradek", "serve"]
    command += [] if unit.properties is None else [unit.properties]
    for each in unit.overrides:
        command += ["--override", each]
    return [
        "Type=notify",
        f"ExecStart={' '.join(map(_argument, command))}",
        f"User={unit.account}" if unit.account else None,
        f"Group={unit.group}" if unit.group else None,
        "# Checking the logs after a power cut takes as long as there is much to check.",
        "TimeoutStartSec=infinity",
        "# SIGTERM goes to the broker alone, which ends its own helpers.",
        "KillMode=mixed",
        f"TimeoutStopSec={STOP_S}",
        "Restart=on-failure",
        "RestartSec=5",
        f"WatchdogSec={WATCHDOG_S}",
        f"LimitNOFILE={DESCRIPTORS}",
        "UMask=0027",
        "NoNewPrivileges=yes",
    ]


def _hardening(unit: ServiceUnit) -> list[str | None]:
    """Return what keeps a broker of the machine from what it does not need; users' managers have no means for it."""
    if not unit.is_system:
        return []
    needed = [unit.interpreter, *unit.written, *([unit.properties] if unit.properties else [])]
    capability = "CAP_NET_BIND_SERVICE" if unit.low_ports else ""
    return [
        "# It reads the system and writes where its data is.",
        "ProtectSystem=strict",
        f"ReadWritePaths={' '.join(map(_path, unit.written))}",
        f"ProtectHome={'read-only' if _any_below(needed, HOMES) else 'yes'}",
        None if _any_below(needed, SHARED_TEMPORARY) else "PrivateTmp=yes",
        "PrivateDevices=yes",
        "ProtectClock=yes",
        "ProtectControlGroups=yes",
        "ProtectHostname=yes",
        "ProtectKernelLogs=yes",
        "ProtectKernelModules=yes",
        "ProtectKernelTunables=yes",
        "ProtectProc=invisible",
        f"CapabilityBoundingSet={capability}",
        f"AmbientCapabilities={capability}" if capability else None,
        "RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6",
        "RestrictNamespaces=yes",
        "RestrictRealtime=yes",
        "RestrictSUIDSGID=yes",
        "LockPersonality=yes",
        "SystemCallArchitectures=native",
        "SystemCallFilter=@system-service",
        "SystemCallErrorNumber=EPERM",
    ]


def _any_below(paths: Sequence[str], directories: Sequence[str]) -> bool:
    return any(path == above or path.startswith(f"{above}/") for path in paths for above in directories)


def _argument(text: str) -> str:
    """Return an argument of a command as systemd reads it: no variable, no specifier, no second argument in it."""
    return _quoted(_checked(text).replace("$", "$$"))


def _path(text: str) -> str:
    return _quoted(_checked(text))


def _quoted(text: str) -> str:
    text = text.replace("%", "%%")
    plain = text and not set(text) & set(" \t'\"\\;")
    return text if plain else '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _checked(text: str) -> str:
    if not text.isprintable():
        raise UnitTextError(f"{text!r} has a character that cannot stand in a unit of systemd")
    return text
