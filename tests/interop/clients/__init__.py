"""Clients that are not Python as members of groups: Apache Kafka's own, franz-go (Go), kafkajs (Node).

The programs in Go and JavaScript lie beside this module; they are built in the user's cache directory, once for each
version of their sources. Environment: XDG_CACHE_HOME.
"""

import fcntl
import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from subprocess import CompletedProcess

from tests.integration.groups import Command, MemberSettings
from tests.support.broker import java_command

SOURCES = Path(__file__).parent
BUILD_TIMEOUT_S = 300
LOGIN_TIMEOUT_S = 60
_GO = ("go.mod", "go.sum", "member.go")
_GO_COPIER = ("go.mod", "go.sum", "copier/copier.go")
_GO_LOGIN = ("go.mod", "go.sum", "login/login.go")
_NODE = ("package.json", "package-lock.json", "member.js")
_NODE_LOGIN = ("package.json", "package-lock.json", "login.js")
_JAVA_ASSIGNORS = {
    "range": "RangeAssignor",
    "roundrobin": "RoundRobinAssignor",
    "sticky": "StickyAssignor",
    "cooperative-sticky": "CooperativeStickyAssignor",
}


def java_member(directory: Path) -> Command:
    """Return how to run Apache Kafka's VerifiableConsumer; `directory` takes its file of settings."""

    def command(settings: MemberSettings) -> list[str]:
        properties = directory / f"{settings.group_protocol}-{settings.session_timeout}.properties"
        lines = ["fetch.max.wait.ms=100", "reconnect.backoff.max.ms=300"]
        if settings.group_protocol == "classic":
            lines.append(f"heartbeat.interval.ms={settings.session_timeout // 10}")
        properties.write_text("\n".join(lines) + "\n")
        given = ["--bootstrap-server", settings.bootstrap, "--topic", settings.topic, "--group-id", settings.group]
        given += ["--group-protocol", settings.group_protocol, "--command-config", str(properties)]
        if settings.group_protocol == "classic":
            assignor = f"org.apache.kafka.clients.consumer.{_JAVA_ASSIGNORS[settings.assignor]}"
            given += ["--assignment-strategy", assignor, "--session-timeout", str(settings.session_timeout)]
        elif settings.assignor:
            given += ["--group-remote-assignor", settings.assignor]
        if settings.instance_id:
            given += ["--group-instance-id", settings.instance_id]
        if settings.auto_commit:
            given.append("--enable-autocommit")
        return java_command("org.apache.kafka.tools.VerifiableConsumer", *given, heap="128m")

    return command


def go_member(settings: MemberSettings) -> list[str]:
    """Return how to run the member with franz-go."""
    return [str(_built(_GO, ["go", "build", "-o", "member", "."]) / "member"), *settings.options()]


def go_copier() -> list[str]:
    """Return how to run the copier with franz-go, of which clients/copier/copier.go names the arguments."""
    return [str(_built(_GO_COPIER, ["go", "build", "-o", "copier", "."]) / "copier")]


def go_login() -> list[str]:
    """Return how to run the client with franz-go that logs in, for `run_login`."""
    return [str(_built(_GO_LOGIN, ["go", "build", "-o", "login", "."]) / "login")]


def node_login() -> list[str]:
    """Return how to run the client with kafkajs that logs in, likewise."""
    directory = _built(_NODE_LOGIN, ["npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts"])
    return ["node", str(directory / "login.js")]


def run_login(program: Sequence[str], port: int, mechanism: str, user: str, secret: str) -> CompletedProcess[str]:
    """Have a client log in with a password or a token, produce a record and read it: then it prints "read"."""
    topic = f"{Path(program[-1]).stem}-{mechanism.lower()}"
    given = ["--bootstrap", f"127.0.0.1:{port}", "--topic", topic, "--mechanism", mechanism, "--user", user]
    environment = {**os.environ, "PASSWORD": secret}
    return subprocess.run(
        [*program, *given], env=environment, capture_output=True, text=True, timeout=LOGIN_TIMEOUT_S, check=False
    )


def node_member(settings: MemberSettings) -> list[str]:
    """Return how to run the member with kafkajs."""
    directory = _built(_NODE, ["npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts"])
    return ["node", str(directory / "member.js"), *settings.options()]


def missing(*programs: str) -> list[str]:
    """Return which of these programs are not installed."""
    return [program for program in programs if shutil.which(program) is None]


def _built(sources: Sequence[str], command: Sequence[str]) -> Path:
    """Return the directory in which a program was built, after building it if that was not done before."""
    digest = hashlib.sha256(b"".join((SOURCES / name).read_bytes() for name in sources)).hexdigest()[:16]
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "odradek" / "clients"
    directory = cache / f"{command[0]}-{digest}"
    cache.mkdir(parents=True, exist_ok=True)
    with (cache / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not directory.exists():
            with tempfile.TemporaryDirectory(dir=cache) as work:
                for name in sources:
                    shutil.copy(SOURCES / name, work)
                done = subprocess.run(
                    command, cwd=work, capture_output=True, text=True, timeout=BUILD_TIMEOUT_S, check=False
                )
                assert done.returncode == 0, f"{' '.join(command)} failed:\n{done.stdout}\n{done.stderr}"
                shutil.copytree(work, directory)
    return directory
