"""The interpreter of Spark's workers."""

import os
import subprocess
import sys
from pathlib import Path

from odradek.pipeline.interpreter import worker_interpreter


def test_the_archives_of_spark_are_left_out(tmp_path: Path) -> None:
    """It is this interpreter, and arguments and the rest of the path stay as they are, also blanks and stars."""
    rest = ["/a b", "/c*", "/lib/pyspark.zip.d"]
    path = ["/x/lib/pyspark.zip", "/x/lib/py4j-0.10.9.9-src.zip", *rest]
    code = "import os, sys; print(sys.executable, os.environ['PYTHONPATH'], sys.argv[1:], sep='|')"
    for given, kept in ((":".join(path), ":".join(rest)), ("", "")):
        done = subprocess.run(
            [worker_interpreter(tmp_path), "-c", code, "a b", "*"],
            env=os.environ | {"PYTHONPATH": given},
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout.strip() == f"{sys.executable}|{kept}|['a b', '*']"
