"""The lowest versions that the data sources for Spark work with, in a virtual environment of their own.

Tests run on the highest ones, which `pip` chooses. Installed once, by `make tools` or by the first test that asks.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import subprocess
import sys
import venv
from pathlib import Path

from tests.support.broker import REPOSITORY

DIRECTORY = REPOSITORY / ".venv-spark-low"
REQUIREMENTS = (
    "pyspark==4.0.0",
    "pyarrow==18.0.0",
    "pandas==2.2.3",
    "numpy==2.1.3",
    "numba==0.61.0",
    "crc32c>=2.7,<3",
    "crcmod-plus>=2.3,<3",
    "cramjam>=2.10,<3",
    "confluent-kafka>=2.8,<3",
)
_STAMP = DIRECTORY / ".installed"


def ensure_lowest_spark() -> Path:
    """Return the interpreter of the environment, made if it is not there; raises CalledProcessError."""
    wanted = hashlib.sha256("\n".join(REQUIREMENTS).encode()).hexdigest()
    python = DIRECTORY / "bin" / "python"
    DIRECTORY.mkdir(exist_ok=True)
    lock = os.open(DIRECTORY / ".lock", os.O_RDWR | os.O_CREAT)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)  # tests run in several processes
        if not _STAMP.exists() or _STAMP.read_text() != wanted:
            venv.create(DIRECTORY, with_pip=True)
            pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
            subprocess.run([*pip, *REQUIREMENTS], check=True)
            _STAMP.write_text(wanted)
    finally:
        os.close(lock)
    return python


if __name__ == "__main__":
    sys.stdout.write(f"{ensure_lowest_spark()}\n")
