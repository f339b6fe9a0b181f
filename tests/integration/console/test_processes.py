"""The console as a command, and beside a broker."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from tests.conftest import AGAINST_APACHE_KAFKA
from tests.support.broker import REPOSITORY, BrokerProcess
from tests.support.waiting import eventually


def _run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "odradek", "console", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60, cwd=REPOSITORY)


def test_arguments_that_do_not_fit(tmp_path: Path) -> None:
    """What it cannot be started with is one sentence."""
    (tmp_path / "short").write_text("short")
    for arguments, sentence in (
        (("--listen", "8090"), "--listen 8090: expected host:port"),
        (("--token-file", str(tmp_path / "short")), "give at least 16 characters"),
        (("--token-file", str(tmp_path / "none")), "No such file"),
        (("-b", ":x"), "is no address to connect to"),
    ):
        done = _run(*arguments)
        assert done.returncode in (1, 2)
        assert sentence in done.stderr
        assert done.stderr.count("\n") == 1


def test_missing_libraries_are_told(tmp_path: Path) -> None:
    """Without the extra there is one sentence that says how to get it."""
    (tmp_path / "starlette").mkdir()
    (tmp_path / "starlette" / "__init__.py").write_text("raise ModuleNotFoundError('gone', name='starlette')")
    command = [sys.executable, "-c", "from odradek.__main__ import main; raise SystemExit(main(['console']))"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), str(REPOSITORY)])}
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60, env=environment)
    assert done.returncode == 1
    assert done.stderr == "odradek: starlette is not installed: pip install 'odradek[console]'\n"


@pytest.mark.skipif(AGAINST_APACHE_KAFKA, reason="it is started by odradek's own command")
def test_console_lives_with_its_broker(tmp_path: Path) -> None:
    """`odradek serve --console` gives a page of that broker, which goes when the broker goes, even by a crash."""
    command = [sys.executable, "-m", "odradek", "serve", "--console", "127.0.0.1:0"]
    settings = ["--override", "listeners=PLAINTEXT://127.0.0.1:0", "--override", f"log.dirs={tmp_path / 'data'}"]
    log = tmp_path / "log"
    with log.open("wb") as output, subprocess.Popen([*command, *settings], cwd=REPOSITORY, stderr=output) as process:

        def address() -> str:
            found = re.search(r"console of \S+ at (http://\S+/);", log.read_text())
            assert process.poll() is None, log.read_text()
            return found[1] if found else ""

        url = eventually(address, "the console says where it is")
        page = urllib.request.urlopen(f"{url}topics", timeout=60).read().decode()
        assert "There are no topics yet." in page
        assert "/logs" in page
        process.kill()

    def is_gone() -> bool:
        try:
            urllib.request.urlopen(f"{url}static/icon.svg", timeout=60).close()
        except OSError:
            return True
        return False

    eventually(is_gone, "the console ends")


def test_away_cluster_is_a_page(broker: BrokerProcess) -> None:
    """The console starts without its cluster, and its pages say what is wrong."""
    from tests.support.console_process import console_process

    with console_process("127.0.0.1:1") as url:
        with pytest.raises(urllib.error.HTTPError) as failed:
            urllib.request.urlopen(f"{url}/topics", timeout=60)
        assert failed.value.code == 502
        assert b"othing listens on 127.0.0.1:1" in failed.value.read()
