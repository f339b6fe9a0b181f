"""How a package is built: what is asked for, and what is refused."""

from __future__ import annotations

import importlib.util
import tomllib
from pathlib import Path
from typing import Any

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
VARIABLE = "ODRADEK_COMPILE"


def _hook(target: str = "wheel") -> Any:
    spec = importlib.util.spec_from_file_location("hatch_build", REPOSITORY / "hatch_build.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.CustomBuildHook(str(REPOSITORY), {"compiled": []}, None, None, "", target)


def _compiled() -> list[str]:
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())
    compiled: list[str] = project["tool"]["hatch"]["build"]["hooks"]["custom"]["compiled"]
    return compiled


@pytest.mark.parametrize("said", [None, "", "0"])
def test_nothing_is_compiled_unless_it_is_asked_for(monkeypatch: pytest.MonkeyPatch, said: str | None) -> None:
    """A wheel is for any Python, and needs no compiler."""
    monkeypatch.delenv(VARIABLE, raising=False)
    if said is not None:
        monkeypatch.setenv(VARIABLE, said)
    build_data: dict[str, Any] = {}
    hook = _hook()
    assert hook.dependencies() == []
    hook.initialize("standard", build_data)
    assert build_data == {}


def test_a_source_distribution_is_never_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """It has the sources alone; a wheel that is made of it may be compiled."""
    monkeypatch.setenv(VARIABLE, "1")
    build_data: dict[str, Any] = {}
    _hook("sdist").initialize("standard", build_data)
    assert build_data == {}


def test_an_editable_installation_is_never_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """It would go on to run what was compiled when its source has changed: who asks for that is told so."""
    monkeypatch.setenv(VARIABLE, "1")
    with pytest.raises(SystemExit, match="an editable installation is never compiled"):
        _hook().initialize("editable", {})


def test_the_compiler_is_asked_for_with_the_compiled_wheel(monkeypatch: pytest.MonkeyPatch) -> None:
    """pip installs it for the build, and leaves none behind."""
    monkeypatch.setenv(VARIABLE, "1")
    assert {each.partition(">")[0] for each in _hook().dependencies()} == {"mypy", "setuptools"}


def test_what_is_compiled_is_there() -> None:
    """A module that was moved would else fail the build of the compiled wheel alone; and none is named twice."""
    compiled = _compiled()
    assert len(compiled) == len(set(compiled))
    assert [path for path in compiled if not (REPOSITORY / path).is_file()] == []


def test_no_compiled_module_stands_in_the_checkout() -> None:
    """It would be imported in place of its source, whatever has become of that."""
    folders = {Path(path).parent for path in _compiled()} | {Path("odradek")}
    found = [found for folder in folders for found in (REPOSITORY / folder).glob("*.so")]
    assert found == []
