"""What a user gets: wheel and source distribution have the packages under three names, and nothing else."""

import os
import re
import shutil
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from odradek import __version__
from tests.support.broker import REPOSITORY
from tests.support.distributions import INSTALLED, Distributions, InstalledEnvironment, build, run

pytestmark = pytest.mark.xdist_group("packages")

LINKS = ("broker", "config", "pipeline", "protocol", "storage")


def _files(wheel: Path) -> set[str]:
    """Return the files of a wheel, but for the notes about it."""
    return {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}


def test_the_wheel_has_every_module_and_no_test(distributions: Distributions) -> None:
    """Modules and tables of the three packages are there with the linked ones inside odradek; no test, no benchmark."""
    wanted = {
        f"{Path(directory).relative_to(REPOSITORY)}/{file}"
        for package in INSTALLED
        for directory, _, files in os.walk(REPOSITORY / package, followlinks=True)
        for file in files
        if not directory.endswith("__pycache__")
    }
    assert _files(distributions.wheel) == wanted
    assert {f"odradek/{name}/__init__.py" for name in LINKS} < wanted


def test_the_source_distribution_builds_the_same_wheel(distributions: Distributions) -> None:
    """A wheel that is built from the source distribution, which has no links, has the same files."""
    assert _files(distributions.wheel_of_sdist) == _files(distributions.wheel)
    assert distributions.wheel_of_sdist.read_bytes() == distributions.wheel.read_bytes()
    with tarfile.open(distributions.sdist) as sdist:
        assert all(each.isfile() for each in sdist)
        folders = {each.name.split("/")[1] for each in sdist if each.name.count("/") > 1}
    assert folders == set(INSTALLED)


def test_the_version_is_the_same_everywhere(distributions: Distributions) -> None:
    """In the names of the files, in the package, and in the newest part of the changelog."""
    assert distributions.wheel.name.startswith(f"odradek-{__version__}-")
    assert distributions.sdist.name == f"odradek-{__version__}.tar.gz"
    newest = re.search(r"^## (\S+)", (REPOSITORY / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert newest is not None
    assert newest[1].rstrip(",") == __version__


def test_twine_finds_nothing_wrong(distributions: Distributions) -> None:
    """A package index takes the distributions and shows their description."""
    done = run(
        sys.executable, "-m", "twine", "check", "--strict", distributions.sdist, distributions.wheel, cwd=Path("/")
    )
    assert done.returncode == 0, done.stdout


def test_installing_adds_three_names(installed: InstalledEnvironment) -> None:
    """A name such as `config` or `storage` stays the user's own."""
    assert installed.names_after - installed.names_before == set(INSTALLED)
    generic = [*LINKS, "tests", "benchmarks", "hatch_build"]
    found = installed.run(
        "python",
        "-c",
        f"import importlib.util; print([n for n in {generic!r} if importlib.util.find_spec(n)])",
        cwd=installed.bin,
    )
    assert found.stdout == "[]\n", found.stderr


def test_the_image_is_built_from_all_of_it(distributions: Distributions, tmp_path: Path) -> None:
    """What Docker's file copies, links as links, and .dockerignore lets through gives the same wheel, byte for byte, as
    does the same state of the sources anywhere else and at any time; with the changelog also the same archive."""
    steps, install, _ = (REPOSITORY / "docker" / "Dockerfile").read_text().partition("RUN pip install")
    assert install
    let_through = (REPOSITORY / ".dockerignore").read_text().splitlines()
    for sources in re.findall(r"^COPY (.*) \S+$", steps, re.MULTILINE):
        for name in sources.split():
            assert f"!{name}" in let_through
            if (REPOSITORY / name).is_dir():
                shutil.copytree(REPOSITORY / name, tmp_path / name, symlinks=True)
            else:
                shutil.copy(REPOSITORY / name, tmp_path / name)
    for name in (".gitignore", "CHANGELOG.md"):
        shutil.copy(REPOSITORY / name, tmp_path / name)
    built = build(tmp_path, tmp_path / "built", "--wheel", "--sdist")
    assert (built / distributions.wheel.name).read_bytes() == distributions.wheel.read_bytes()
    assert (built / distributions.sdist.name).read_bytes() == distributions.sdist.read_bytes()


def test_a_checkout_without_links_is_refused(tmp_path: Path) -> None:
    """Where git or an archive made small files of the links, building ends with a sentence and no broken wheel."""
    for name in ("pyproject.toml", "hatch_build.py", "README.md", "LICENSE"):
        shutil.copy(REPOSITORY / name, tmp_path / name)
    shutil.copytree(REPOSITORY / "odradek", tmp_path / "odradek", symlinks=True)
    for name in LINKS:
        link = tmp_path / "odradek" / name
        target = link.readlink()
        link.unlink()
        link.write_text(str(target))
    done = run(sys.executable, "-P", "-m", "build", "--no-isolation", "--wheel", tmp_path, cwd=tmp_path)
    assert done.returncode != 0
    assert "odradek/broker is no link to the folder broker/: this copy of the repository" in done.stderr
