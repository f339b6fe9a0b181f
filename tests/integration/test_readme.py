"""The examples of the README do what it says, run as they stand but for the port."""

import json
import os
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
    section = README[: README.index("```python")]
    lines = [line.strip() for line in section.splitlines() if line.startswith(("    seq ", "    kcat "))]
    assert len(lines) == 3
    script = "set -e\n" + "\n".join(lines).replace("127.0.0.1:9092", broker.bootstrap)
    done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, timeout=60, check=False, cwd=tmp_path)
    assert done.stdout == "identical\n", done.stderr


def test_the_examples_of_the_command(broker: BrokerProcess) -> None:
    """The five lines run one after the other, and the last one prints the topic as JSON."""
    _, _, section = README.partition("## The command\n")
    lines = [line.strip() for line in section.partition("\n## ")[0].splitlines() if line.startswith("    ")]
    assert len(lines) == 5
    script = f'set -e; odradek() {{ {sys.executable} -P -m odradek "$@"; }}\n' + "\n".join(lines)
    done = subprocess.run(
        ["sh", "-c", script],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY), "ODRADEK_BOOTSTRAP": broker.bootstrap},
    )
    assert done.returncode == 0, done.stderr
    [topic] = json.loads(done.stdout[done.stdout.index("{") :])["topics"]
    assert sum(partition["end"] for partition in topic["partitions"]) == 1000
