"""Java is looked at before Spark starts."""

from pathlib import Path

import pytest

from odradek.pipeline import java
from odradek.pipeline.errors import PipelineError


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ('openjdk version "17.0.15" 2025-04-15', 17),
        ('java version "1.8.0_402"', 8),
        ('openjdk version "25" 2025-09-16', 25),
        ('Picked up JAVA_TOOL_OPTIONS: -Xmx1g\nopenjdk version "11.0.22"', 11),
        ("something else", None),
    ],
)
def test_the_version_is_found(text: str, version: int | None) -> None:
    """The major version stands in what `java -version` prints, in the old form and the new one."""
    assert java.major_version(text) == version


def _java(directory: Path) -> Path:
    program = directory / "bin" / "java"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    return program


def test_a_java_that_is_too_old_is_named(tmp_path: Path) -> None:
    """One sentence has the version, where it is, and how to get a newer one."""
    program = _java(tmp_path)
    with pytest.raises(PipelineError, match=rf"needs Java 17 or newer and `{program}` is Java 11: install it with"):
        java.check({"JAVA_HOME": str(tmp_path)}, lambda _: 'openjdk version "11.0.22"')


def test_a_java_home_without_java_is_named(tmp_path: Path) -> None:
    """A JAVA_HOME that leads nowhere is told, even where the PATH has a Java."""
    _java(tmp_path)
    environment = {"JAVA_HOME": f"{tmp_path}/other", "PATH": f"{tmp_path}/bin"}
    with pytest.raises(PipelineError, match=f"JAVA_HOME is {tmp_path}/other, and there is no bin/java in it"):
        java.check(environment)


@pytest.mark.parametrize("text", ['openjdk version "17.0.1"', 'openjdk version "21"', "GraalVM of some kind"])
def test_a_java_that_may_do_is_taken(tmp_path: Path, text: str) -> None:
    """17 and newer pass, and so does one whose version cannot be told."""
    _java(tmp_path)
    java.check({"PATH": f"{tmp_path}/bin"}, lambda _: text)
