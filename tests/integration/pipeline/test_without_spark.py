"""What works where Spark is not installed, or Java is not there."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import BrokerFactory
from tests.support.broker import REPOSITORY, BrokerProcess, OdradekProcess

TIMEOUT_S = 60
WITHOUT = ("pyspark", "py4j", "pyarrow", "numpy", "numba", "pandas", "redis", "kazoo")
BLOCK = """\
import sys
from importlib.abc import MetaPathFinder

class Without(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in PACKAGES:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Without())
"""


@pytest.fixture
def without_spark(tmp_path: Path) -> dict[str, str]:
    """The environment of a Python in which nothing of the extra `pipeline` can be imported."""
    return _without(tmp_path, WITHOUT)


def _without(tmp_path: Path, packages: tuple[str, ...]) -> dict[str, str]:
    (tmp_path / "without").mkdir()
    (tmp_path / "without" / "sitecustomize.py").write_text(BLOCK.replace("PACKAGES", repr(packages)))
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path / "without"), str(REPOSITORY)])}


def _odradek(environment: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-P", "-m", "odradek", *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)


def test_serving_needs_nothing_of_it(
    tmp_path: Path, without_spark: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A broker starts and stops without it."""

    class WithoutSpark(OdradekProcess):
        def _environment(self) -> dict[str, str]:
            return without_spark | {"PYTHONUNBUFFERED": "1"}

    broker = WithoutSpark(tmp_path / "broker")
    try:
        broker.start()
        assert broker.stop() == 0, broker.log
    finally:
        broker.discard()


def test_the_other_commands_and_all_help_need_nothing_of_it(without_spark: dict[str, str]) -> None:
    """The command can be imported and shows its help, that of the jobs too."""
    for arguments in (["--help"], ["pipeline", "--help"], ["pipeline", "archive", "--help"]):
        done = _odradek(without_spark, *arguments)
        assert done.returncode == 0, done.stderr
    packages = "import odradek.broker, odradek.protocol, odradek.storage"
    imported = subprocess.run([sys.executable, "-c", packages], env=without_spark, check=False)
    assert imported.returncode == 0


@pytest.mark.parametrize(
    "arguments",
    [["archive", "t", "--output", "x"], ["wordcount", "t"], ["progress", "--offsets", "redis://127.0.0.1:1"]],
    ids=lambda arguments: arguments[0],
)
def test_jobs_say_what_to_install(without_spark: dict[str, str], arguments: list[str]) -> None:
    """Without the extra a job is one sentence with the command that installs it."""
    done = _odradek(without_spark, "pipeline", *arguments)
    assert done.returncode == 1
    (told,) = done.stderr.splitlines()
    assert "pip install 'odradek[pipeline]'" in told


def test_jobs_say_how_to_get_java(new_broker: BrokerFactory, topic: str, tmp_path: Path) -> None:
    """Without Java a job is one sentence that says how to get it."""
    broker: BrokerProcess = new_broker()
    broker.start()
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY), "PATH": str(tmp_path)}
    environment.pop("JAVA_HOME", None)
    made = _odradek(environment, "topics", "create", topic, "--bootstrap-server", broker.bootstrap)
    assert made.returncode == 0, made.stderr
    done = _odradek(environment, "pipeline", "wordcount", topic, "--bootstrap-server", broker.bootstrap)
    assert done.returncode == 1
    (told,) = done.stderr.splitlines()
    assert told.startswith("odradek: Spark needs Java 17 or newer and there is no `java`: install it with")


@pytest.mark.parametrize(
    ("package", "extra", "arguments"),
    [
        ("deltalake", "delta", ["archive", "t", "--output", "there", "--format", "delta"]),
        ("pyiceberg", "iceberg", ["archive", "t", "--output", "there", "--format", "iceberg"]),
        ("obstore", "s3", ["archive", "t", "--output", "s3://bucket/there"]),
        ("obstore", "s3", ["upkeep", "--output", "s3a://bucket/there"]),
    ],
)
def test_an_extra_that_is_missing_is_told_first(tmp_path: Path, package: str, extra: str, arguments: list[str]) -> None:
    """Without what a format or a place needs a job is one sentence, and no archive is begun that others then meet."""
    environment = _without(tmp_path, (package,)) | {"PATH": str(tmp_path)}  # no Java either, which would come later
    done = _odradek(environment, "pipeline", *arguments)
    assert done.returncode == 1
    assert done.stderr == f"odradek: this needs {package}, which is not installed: pip install 'odradek[{extra}]'\n"
    assert not (REPOSITORY / "there").exists()
