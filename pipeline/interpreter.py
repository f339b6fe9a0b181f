"""The interpreter of Spark's workers on this machine: this one, but with PySpark from where it is installed.

Spark puts `pyspark.zip` first on their path, from which nothing is compiled for the next time: each process of Python
(there are six before the first rows) would compile all of PySpark again, which is three quarters of its start.
"""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

_SCRIPT = """\
#!/bin/sh
# PySpark is installed for this interpreter: its archives, which Spark puts before all else, are left out.
set -f
IFS=:
path=
for each in $PYTHONPATH; do
    case $each in
        */pyspark.zip | */py4j-*-src.zip) ;;
        *) path=$path:$each ;;
    esac
done
unset IFS
PYTHONPATH=${path#:}
export PYTHONPATH
exec %s "$@"
"""


def worker_interpreter(directory: Path, interpreter: str = sys.executable) -> str:
    """Write one that runs `interpreter` into a directory that stays as long as Spark, and return its path."""
    path = directory / "python"
    path.write_text(_SCRIPT % shlex.quote(interpreter))
    path.chmod(0o700)
    return str(path)
