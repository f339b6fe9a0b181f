"""How a package is built: what is checked before, and the compiled wheel.

The links in odradek/ must be there as links: a checkout without them (an archive or a file system that has none) has
small text files in their place.

With `ODRADEK_COMPILE=1` a wheel also has the modules of the hot path (`compiled` in pyproject.toml) as extension
modules, which mypyc makes of the same source. It is one for this platform and this Python. Nothing of it is ever put
into the checkout, so that no changed source is passed over for what was made of it before.
"""

import contextlib
import os
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

LINKED = ("broker", "config", "pipeline", "protocol", "storage")
COMPILE_VARIABLE = "ODRADEK_COMPILE"
COMPILER = ["mypy>=2.1,<3", "setuptools>=65"]
"""What compiling needs; the first one has mypyc."""
SHARED_MODULE = "odradek.hot"
"""What mypyc names the module after that has the code of all others: `odradek.build_kind` looks for it."""


class CustomBuildHook(BuildHookInterface[Any]):
    """Refuses to build from a tree in which parts of `odradek` are missing, and compiles where that is asked for."""

    def dependencies(self) -> list[str]:
        """What is to be installed before: the compiler, where it is asked for."""
        return COMPILER if _is_asked() else []

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the extension modules to a wheel; end with a sentence where a part is no directory, or what is asked for
        cannot be compiled."""
        missing = [name for name in LINKED if not Path(self.root, "odradek", name).is_dir()]
        if missing:
            raise SystemExit(
                f"odradek/{missing[0]} is no link to the folder {missing[0]}/: this copy of the repository was made"
                " without symbolic links. Clone it with git on a file system that has them (git config core.symlinks"
                " true), or install a wheel"
            )
        if not _is_asked() or self.target_name != "wheel":
            return
        if version == "editable":
            raise SystemExit(
                f"{COMPILE_VARIABLE} is set: an editable installation is never compiled, since it would go on to run"
                " what was compiled after its source has changed. Unset it, or build a wheel"
            )
        self._scratch = tempfile.TemporaryDirectory(prefix="odradek-compile-")
        built = compile_modules(Path(self.root), self.config["compiled"], Path(self._scratch.name))
        build_data["force_include"].update({str(file): place for place, file in built.items()})
        build_data["pure_python"] = False
        build_data["infer_tag"] = True

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove what was only needed for the wheel."""
        del version, build_data, artifact_path
        if hasattr(self, "_scratch"):
            self._scratch.cleanup()


def compile_modules(root: Path, modules: Sequence[str], scratch: Path) -> dict[str, Path]:
    """Compile modules, given by their paths below `root`; return the files made, by their places below it."""
    try:
        from mypyc.build import mypycify
        from setuptools import Distribution
        from setuptools.command.build_ext import build_ext
    except ImportError as missing:
        raise SystemExit(f"{COMPILE_VARIABLE} is set, and {missing.name} is not installed: {COMPILER}") from None
    options = ["--config-file=", "--ignore-missing-imports", f"--cache-dir={scratch / 'cache'}"]
    with _in_directory(root):
        extensions = mypycify(
            [*options, *modules],
            opt_level=os.environ.get("MYPYC_OPT_LEVEL", "1"),
            debug_level="0",
            group_name=SHARED_MODULE,
            target_dir=str(scratch / "c"),
        )
        command = build_ext(Distribution({"name": "odradek", "ext_modules": extensions}))
        command.build_lib, command.build_temp = str(scratch / "built"), str(scratch / "objects")
        command.parallel = os.cpu_count()
        command.ensure_finalized()
        command.run()
    built = scratch / "built"
    return {str(file.relative_to(built)): file for file in sorted(built.rglob("*")) if file.is_file()}


def _is_asked() -> bool:
    return os.environ.get(COMPILE_VARIABLE, "") not in ("", "0")


@contextlib.contextmanager
def _in_directory(directory: Path) -> Iterator[None]:
    before = os.getcwd()
    os.chdir(directory)
    try:
        yield
    finally:
        os.chdir(before)
