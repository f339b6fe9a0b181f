"""The wheel in a clean environment, used in a folder whose files have the names that every second project has.

The user's modules are the ones that are imported by these names, and everything of odradek works beside them.
"""

import json
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tests.support.broker import OdradekProcess
from tests.support.class_data import quick_java_options
from tests.support.distributions import InstalledEnvironment

pytestmark = [pytest.mark.xdist_group("packages"), pytest.mark.timeout(300)]

NAMES = ("broker", "config", "pipeline", "protocol", "storage")
LINES = ["one word", "another word"]


class InstalledBroker(OdradekProcess):
    """A broker that is started as a user does it, in the user's folder."""

    def __init__(self, directory: Path, installed: InstalledEnvironment) -> None:
        super().__init__(directory)
        self._installed = installed

    def _command(self) -> Sequence[str]:
        return [str(self._installed.python), "-m", *super()._command()[3:]]

    def _environment(self) -> dict[str, str]:
        return {"PATH": str(self._installed.bin), "PYTHONUNBUFFERED": "1"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The user's folder."""
    found = tmp_path_factory.mktemp("project")
    for name in NAMES:
        (found / f"{name}.py").write_text(f'OWNER = "{name[0]}"\n\n\nclass {name.title()}:\n    pass\n')
    shutil.copy(Path(__file__).with_name("users_job.py"), found / "job.py")
    return found


@pytest.fixture(scope="module")
def served(installed: InstalledEnvironment, folder: Path) -> Iterator[OdradekProcess]:
    """A broker started in the user's folder, with a topic of two records."""
    broker = InstalledBroker(folder, installed)
    try:
        broker.start()
        (folder / "lines").write_text("".join(f"{line}\n" for line in LINES))
        for steps in (["topics", "create", "t"], ["produce", "t", "lines"]):
            done = installed.run("odradek", *steps, "--bootstrap-server", broker.bootstrap, cwd=folder)
            assert done.returncode == 0, done.stderr
        yield broker
        assert broker.stop() == 0, broker.log
    finally:
        broker.discard()


def test_the_command_and_the_module(installed: InstalledEnvironment, folder: Path, served: OdradekProcess) -> None:
    """`odradek` and `python -m odradek`, which looks for modules in the user's folder first, do the same."""
    consume = ["consume", "t", "--bootstrap-server", served.bootstrap]
    for command in (["odradek"], ["python", "-m", "odradek"]):
        done = installed.run(*command, *consume, cwd=folder)
        assert done.stdout.splitlines() == LINES, done.stderr


def test_a_job_with_both_sources(installed: InstalledEnvironment, folder: Path, served: OdradekProcess) -> None:
    """Driver and workers of Spark read through the broker and from its files, and use the user's own modules."""
    done = installed.run("python", "job.py", served.bootstrap, "t", served.data, quick_java_options(), cwd=folder)
    assert done.returncode == 0, done.stderr
    rows = [[line, offset, "bcpps odradek.storage.files"] for offset, line in enumerate(LINES)]
    assert json.loads(done.stdout) == {"odradek": rows, "odradek-log": rows}


def test_a_job_of_the_command(installed: InstalledEnvironment, folder: Path, served: OdradekProcess) -> None:
    """`python -m odradek pipeline` runs its jobs in the user's folder."""
    job = ["pipeline", "wordcount", "t", "--available-now", "--json", "--master", "local[1]"]
    job += ["--conf", f"spark.driver.extraJavaOptions={quick_java_options()}"]
    done = installed.run("python", "-m", "odradek", *job, "--bootstrap-server", served.bootstrap, cwd=folder)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1])["words"][0] == {"word": "word", "count": 2}
