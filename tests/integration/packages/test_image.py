"""The image of docker/Dockerfile, as far as it can be had without Docker.

What is installed is what it installs, and the broker is started by its entry point, with the arguments and variables
that a user of the image gives.
"""

import os
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path

import pytest

from odradek.config.loading import load_settings
from tests.support.broker import REPOSITORY, OdradekProcess
from tests.support.distributions import InstalledEnvironment
from tests.support.dockerfile import last_of, read_stages
from tests.support.wire import WireClient

pytestmark = pytest.mark.xdist_group("packages")

STAGES = read_stages(REPOSITORY / "docker" / "Dockerfile")
BROKER, PIPELINE = STAGES["broker"], STAGES["pipeline"]


class Container(OdradekProcess):
    """The broker of the image, with a directory in the place of its volume."""

    def __init__(self, directory: Path, installed: InstalledEnvironment, arguments: Sequence[str]) -> None:
        super().__init__(directory)
        self._installed = installed
        self._arguments = arguments

    def _command(self) -> Sequence[str]:
        entry = last_of(BROKER, "ENTRYPOINT")
        assert entry is not None
        assert last_of(BROKER, "CMD") is None  # it would be gone as soon as somebody gives an argument
        program, *given = entry.words
        return [str(self._installed.bin / program), *given, *self._arguments]

    def _environment(self) -> dict[str, str]:
        return {
            "PATH": str(self._installed.bin),
            "KAFKA_LISTENERS": f"PLAINTEXT://0.0.0.0:{self.port}",
            "KAFKA_LOG_DIRS": str(self.data),
            "KAFKA_HEAP_OPTS": "-Xmx1G",
            "CLUSTER_ID": "MkU3OEVBNTcwNTJENDM2Qk",
            "ODRADEK_LISTENERS_FILE": str(self.directory / "listeners"),
        }

    def _find_port(self) -> bool:
        listeners = self.directory / "listeners"
        if self.port == 0 and listeners.exists():
            self.port = int(listeners.read_text().split()[2])
        return self.port != 0


def health(directory: Path) -> int:
    """Return the exit code of the image's check."""
    [copied] = [one.words for one in BROKER if one.name == "COPY" and "healthcheck.py" in one.arguments]
    check = last_of(BROKER, "HEALTHCHECK")
    assert check is not None
    assert copied[1] in check.arguments
    command = [sys.executable, str(REPOSITORY / copied[0])]
    environment = os.environ | {"ODRADEK_LISTENERS_FILE": str(directory / "listeners")}
    return subprocess.run(command, env=environment, capture_output=True, timeout=30, check=False).returncode


def test_a_broker_of_the_image(installed: InstalledEnvironment, tmp_path: Path) -> None:
    """An argument adds to what the image says: other addresses reach it, it is healthy, SIGTERM ends it in order, and
    its data is where the volume is, of the cluster that was named."""
    container = Container(tmp_path, installed, ["--override", "num.partitions=3"])
    try:
        container.start()
        with WireClient(container.port, address="127.0.0.2") as outside:
            topic = {"name": "t", "num_partitions": -1, "replication_factor": -1, "assignments": [], "configs": []}
            outside.ask("CreateTopics", 4, topics=[topic], timeout_ms=10_000, validate_only=False)
        assert health(tmp_path) == 0
        assert container.stop() == 0, container.log
    finally:
        container.discard()
    assert sorted(path.name for path in container.data.glob("t-*")) == ["t-0", "t-1", "t-2"]
    assert "cluster.id=MkU3OEVBNTcwNTJENDM2Qk" in (container.data / "meta.properties").read_text()
    assert health(tmp_path) != 0


def test_the_volume_is_the_users_who_runs_the_broker() -> None:
    """The directory is made for the user before it becomes a volume, and is where a container keeps its data."""
    for stage in (BROKER, PIPELINE):
        volume, user, stop = (last_of(stage, name) for name in ("VOLUME", "USER", "STOPSIGNAL"))
        assert volume is not None
        assert user is not None
        assert stop is not None
        assert stop.arguments == "SIGTERM"
        names = [one.name for one in stage]
        [made] = [one.arguments for one in stage if one.name == "RUN" and "install -d" in one.arguments]
        assert f"install -d -o {user.arguments} -g {user.arguments} {volume.arguments}" in made
        assert f"useradd --system --uid 1000 --create-home {user.arguments}" in made
        assert names.index("USER") > max(index for index, name in enumerate(names) if name == "RUN")
    assert load_settings(container={}).log_dirs == ("/var/lib/odradek",)
    assert list(STAGES)[-1] == "broker"  # what is built without --target


def test_the_extras_of_the_images_are_there() -> None:
    """What pip is told to install are extras of the project: those of a broker, and those of a job with its Java."""
    extras = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    for stage, wanted in (
        (BROKER, {"console", "metrics", "schemas", "security"}),
        (PIPELINE, {"delta", "pipeline", "s3", "schemas", "security"}),
    ):
        [install] = [one.arguments for one in stage if one.name == "RUN" and "pip install" in one.arguments]
        asked = set(install.partition("[")[2].partition("]")[0].split(","))
        assert asked == wanted <= set(extras)
    assert any("default-jre-headless" in one.arguments for one in PIPELINE)
    entry = last_of(PIPELINE, "ENTRYPOINT")
    assert entry is not None
    assert entry.words == ["odradek", "pipeline"]
