"""Java, which Spark needs: whether it is there and new enough."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Mapping
from typing import Final

from odradek.pipeline.errors import PipelineError

LEAST: Final = 17
HOW: Final = (
    f"install it with `apt-get install openjdk-{LEAST}-jre-headless` (Debian, Ubuntu), `brew install openjdk@{LEAST}`"
    " (macOS) or from https://adoptium.net, and set JAVA_HOME if it is not on the PATH"
)
TIMEOUT_S: Final = 30


def check(environment: Mapping[str, str] = os.environ, run: Callable[[str], str] | None = None) -> None:
    """Raise PipelineError with a sentence that says how to get Java, unless the one Spark would start is new enough."""
    home = environment.get("JAVA_HOME")
    program = f"{home}/bin/java" if home else "java"
    if shutil.which(program, path=environment.get("PATH")) is None:
        where = f"JAVA_HOME is {home}, and there is no bin/java in it" if home else "there is no `java`"
        raise PipelineError(f"Spark needs Java {LEAST} or newer and {where}: {HOW}")
    version = major_version((run or _version_text)(program))
    if version is not None and version < LEAST:
        raise PipelineError(f"Spark needs Java {LEAST} or newer and `{program}` is Java {version}: {HOW}")


def major_version(text: str) -> int | None:
    """Return the version in what `java -version` prints, None where none can be found: `1.8.0_402` is 8."""
    found = re.search(r'version "(\d+)(?:\.(\d+))?', text)
    if found is None:
        return None
    first, second = found.groups()
    return int(second) if first == "1" and second else int(first)


def _version_text(program: str) -> str:
    try:
        done = subprocess.run([program, "-version"], capture_output=True, timeout=TIMEOUT_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as failed:
        raise PipelineError(f"`{program} -version` does not work: {failed}") from failed
    return (done.stderr + done.stdout).decode("utf-8", "replace")
