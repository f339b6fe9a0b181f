"""Sees that Chromium and its driver are there for the tests of the console in a browser: Debian's packages.

Run as a program (`python -m tests.support.chromium`) it installs them where root may, or says in one line why not.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

INSTALL_TIMEOUT_S = 900
PROGRAMS = ("chromium", "chromedriver")
LEFT_OUT = (
    "tests in a browser are left out: chromium and chromedriver are missing and cannot be installed here (install them "
    "with: apt-get install chromium chromium-driver)"
)


def are_there() -> bool:
    """Say whether both programs are installed."""
    return all(shutil.which(each) for each in PROGRAMS)


def install() -> bool:
    """Install what is missing where that can be done; says whether both are there then."""
    if are_there():
        return True
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        return False
    quietly = ["apt-get", "install", "-y", "-qq", "--no-install-recommends", "chromium", "chromium-driver"]
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    for command in (["apt-get", "update", "-qq"], quietly):
        try:
            subprocess.run(command, capture_output=True, check=True, timeout=INSTALL_TIMEOUT_S, env=environment)
        except (subprocess.SubprocessError, OSError):
            return False
    return are_there()


def main() -> int:
    """Install; fail only in continuous integration, where no test may be left out."""
    if install():
        return 0
    sys.stderr.write(f"{LEFT_OUT}\n")
    return 1 if os.environ.get("CI") == "true" else 0


if __name__ == "__main__":
    sys.exit(main())
