"""The examples of the README do what it says, run as they stand but for the port."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import IN_CI
from tests.support.broker import REPOSITORY, BrokerProcess

README = (REPOSITORY / "README.md").read_text()


def test_the_python_example(broker: BrokerProcess) -> None:
    """The ten lines produce a record and print it."""
    [example] = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    program = example.replace("127.0.0.1:9092", broker.bootstrap)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout == "b'hello'\n", done.stderr


@pytest.mark.skipif(shutil.which("kcat") is None and not IN_CI, reason="kcat is not installed (apt-get install kcat)")
def test_the_kcat_example(broker: BrokerProcess, tmp_path: Path) -> None:
    """A file of lines piped through kcat is read back identical."""
    lines = [line.strip() for line in README.splitlines() if line.startswith(("    seq ", "    kcat "))]
    assert len(lines) == 3
    script = "set -e\n" + "\n".join(lines).replace("127.0.0.1:9092", broker.bootstrap)
    done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, timeout=60, check=False, cwd=tmp_path)
    assert done.stdout == "identical\n", done.stderr
