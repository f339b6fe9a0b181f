"""The tests that also run on the compiled build, and how: `python -m tests.support.compiled [ARGUMENTS OF PYTEST]`.

The extension modules of a compiled wheel are put into a copy of the checkout, beside their source, and the tests run
there: in their processes and in those of brokers that they start. What was compiled is kept in build/compiled by what
it was made from, so that a second run compiles nothing.
"""

from __future__ import annotations

import fcntl
import hashlib
import importlib.metadata
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import tomllib
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
SOURCES = ("broker", "config", "protocol", "storage", "odradek")
"""What compiled modules are, and are compiled against."""
KEPT = REPOSITORY / "build" / "compiled"
TESTS = (
    "tests/unit/protocol/records",
    "tests/unit/storage/log",
    "tests/unit/storage/segment",
    "tests/unit/storage/validation",
    "tests/unit/storage/producers",
    "tests/unit/broker/dispatch",
    "tests/unit/broker/handlers/test_usual_produce.py",
    "tests/unit/broker/handlers/test_fetch.py",
    "tests/unit/broker/handlers/test_fetch_many.py",
    "tests/unit/broker/handlers/test_fetch_sessions.py",
    "tests/unit/broker/handlers/test_fetch_waiting.py",
    "tests/unit/broker/handlers/test_fetch_with_sessions.py",
    "tests/unit/broker/handlers/test_cold_fetch.py",
    "tests/unit/broker/handlers/test_old_fetch.py",
    "tests/unit/broker/handlers/test_replica_fetch.py",
    "tests/unit/broker/network",
    "tests/unit/broker/partitions",
    "tests/property/test_hot_codecs.py",
    "tests/property/test_records_hostile.py",
    "tests/crash/test_log_crash.py",
    "tests/integration/test_durability.py",
)
"""Those of the modules that are compiled, of hostile input to them, of crashes; and a broker that is killed."""
AT_ONCE = ("-q", "-n", "3", "--dist", "loadgroup")


def main(arguments: Sequence[str]) -> int:
    """Compile if need be, and run the tests; returns the exit code of pytest, 0 where this machine cannot compile."""
    missing = missing_for_compiling()
    if missing:
        sys.stderr.write(f"tests of the compiled build are left out: {missing} not found\n")
        return 1 if os.environ.get("CI") == "true" else 0
    if "--only-compile" in arguments:
        compiled_wheel()
        return 0
    with tempfile.TemporaryDirectory(prefix="odradek-compiled-") as directory:
        tree = compiled_checkout(Path(directory) / "odradek")
        environment = {**os.environ, "PYTHONPATH": str(tree)}
        check_compiled(tree, environment)
        command = [sys.executable, "-m", "pytest", *(arguments or (*AT_ONCE, *TESTS))]
        return subprocess.run(command, cwd=tree, env=environment, check=False).returncode


def missing_for_compiling() -> str:
    """Return what this machine lacks, empty where it can compile."""
    compiler = (sysconfig.get_config_var("CC") or "cc").split()[0]
    if shutil.which(compiler) is None:
        return f"a C compiler ({compiler})"
    headers = Path(sysconfig.get_path("include"), "Python.h")
    return "" if headers.exists() else f"Python's headers ({headers})"


def compiled_checkout(tree: Path) -> Path:
    """Copy the checkout to `tree`, with the extension modules where their sources are; returns `tree`."""
    built = compiled_wheel()
    shutil.copytree(REPOSITORY, tree, symlinks=True, ignore=_not_copied)
    with zipfile.ZipFile(built) as wheel:
        wheel.extractall(tree, [name for name in wheel.namelist() if name.endswith(".so")])
    return tree


def compiled_wheel() -> Path:
    """Return the compiled wheel of this state of the sources, made now where there is none."""
    kept = KEPT / _state()
    KEPT.mkdir(parents=True, exist_ok=True)
    with open(KEPT / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not kept.is_dir():
            for older in KEPT.iterdir():
                if older.is_dir():
                    shutil.rmtree(older)
            unfinished = KEPT / "unfinished"
            command = [sys.executable, "-P", "-m", "build", "--no-isolation", "--wheel", "--outdir", str(unfinished)]
            environment = {**os.environ, "ODRADEK_COMPILE": "1"}
            subprocess.run([*command, str(REPOSITORY)], env=environment, check=True, stdout=subprocess.DEVNULL)
            unfinished.rename(kept)
    return next(kept.glob("*.whl"))


def check_compiled(tree: Path, environment: dict[str, str]) -> None:
    """See to it that what runs there is compiled, every module of it."""
    script = (
        "import importlib, sys\n"
        "from odradek.build_kind import build_kind\n"
        "plain = [n for n in sys.argv[1:] if not importlib.import_module(n).__file__.endswith('.so')]\n"
        "assert build_kind() == 'compiled' and not plain, plain\n"
    )
    names = [path.removesuffix(".py").replace("/", ".") for path in compiled_paths()]
    subprocess.run([sys.executable, "-c", script, *names], cwd=tree, env=environment, check=True)


def compiled_paths() -> list[str]:
    """Return the modules that a compiled wheel has, by their paths."""
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())
    compiled: list[str] = project["tool"]["hatch"]["build"]["hooks"]["custom"]["compiled"]
    return compiled


def _state() -> str:
    """Return a name for all that the wheel is made from: the sources, how it is made, the compiler, this Python."""
    digest = hashlib.sha256(f"{sys.version} {importlib.metadata.version('mypy')} {compiled_paths()}".encode())
    for path in _sources():
        digest.update(f"{path.relative_to(REPOSITORY)}\0".encode() + path.read_bytes())
    return digest.hexdigest()[:32]


def _sources() -> Iterator[Path]:
    yield REPOSITORY / "hatch_build.py"
    for folder in SOURCES:
        yield from sorted((REPOSITORY / folder).rglob("*.py"))


def _not_copied(directory: str, names: list[str]) -> list[str]:
    """What is no part of the checkout: caches, what was built, environments, data of brokers."""
    of_root = Path(directory) == REPOSITORY
    return [
        name
        for name in names
        if name == "__pycache__" or (of_root and (name.startswith((".", "odradek-")) or name in ("build", "dist")))
    ]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
