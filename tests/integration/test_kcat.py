"""kcat from the system's packages: files piped in and read back identical."""

import os
import random
import shutil
import subprocess

import pytest

from tests.conftest import IN_CI
from tests.support.broker import BrokerProcess

TIMEOUT_S = 60

pytestmark = pytest.mark.skipif(
    shutil.which("kcat") is None and not IN_CI, reason="kcat is not installed (apt-get install kcat)"
)


def _kcat(broker: BrokerProcess, *arguments: str, stdin: bytes = b"") -> bytes:
    done = subprocess.run(
        ["kcat", "-b", broker.bootstrap, *arguments], input=stdin, capture_output=True, timeout=TIMEOUT_S, check=False
    )
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


def _lines(count: int) -> bytes:
    words = random.Random(11)
    return b"".join(
        b"line %d %s\n" % (number, words.randbytes(words.randint(0, 60)).hex().encode()) for number in range(count)
    )


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_a_file_of_lines_comes_back_identical(broker: BrokerProcess, topic: str, codec: str) -> None:
    """The first thing a user tries: pipe a file in, read the topic from the beginning, compare."""
    lines = _lines(2_000)
    _kcat(broker, "-P", "-t", topic, "-p", "0", "-z", codec, stdin=lines)
    assert _kcat(broker, "-C", "-t", topic, "-p", "0", "-o", "beginning", "-e", "-q") == lines


def test_keys_headers_and_nulls(broker: BrokerProcess, topic: str) -> None:
    """Keys, headers and empty values taken as null come back as kcat prints them."""
    _kcat(broker, "-P", "-t", topic, "-p", "0", "-K", ":", "-Z", "-H", "origin=test", stdin=b"k1:v1\nk2:\n")
    format_ = "%o %k %s %S %h\n"
    read = _kcat(broker, "-C", "-t", topic, "-p", "0", "-o", "beginning", "-e", "-q", "-Z", "-f", format_)
    assert read == b"0 k1 v1 2 origin=test\n1 k2 NULL -1 origin=test\n"


def test_reading_from_offset_tail_and_timestamp(broker: BrokerProcess, topic: str) -> None:
    """An absolute offset, an offset from the end and a time each give the records they should."""
    _kcat(broker, "-P", "-t", topic, "-p", "0", stdin=b"".join(b"%d\n" % number for number in range(10)))
    read = ["-C", "-t", topic, "-p", "0", "-e", "-q"]
    assert _kcat(broker, *read, "-o", "7") == b"7\n8\n9\n"
    assert _kcat(broker, *read, "-o", "-2") == b"8\n9\n"
    first_timestamp = _kcat(broker, *read, "-o", "beginning", "-c", "1", "-f", "%T").decode()
    assert _kcat(broker, *read, "-o", f"s@{first_timestamp}").splitlines()[:1] == [b"0"]
    answer = _kcat(broker, "-Q", "-t", f"{topic}:0:-1").decode()
    assert answer.split() == [topic, "[0]", "offset", "10"]


def test_metadata_listing_names_broker_and_topic(broker: BrokerProcess, topic: str) -> None:
    """`kcat -L` tells the broker's advertised address and the topic's partitions."""
    _kcat(broker, "-P", "-t", topic, "-p", "0", stdin=b"x\n")
    listing = _kcat(broker, "-L", "-t", topic).decode()
    assert f"broker 1 at 127.0.0.1:{broker.port}" in listing
    assert f'topic "{topic}" with 1 partitions' in listing


def test_a_binary_file_as_one_message(broker: BrokerProcess, topic: str, tmp_path: os.PathLike[str]) -> None:
    """A whole file sent as one message comes back as the same bytes."""
    content = random.Random(5).randbytes(500_000)
    path = os.path.join(tmp_path, "file")
    with open(path, "wb") as file:
        file.write(content)
    _kcat(broker, "-P", "-t", topic, "-p", "0", path)
    assert _kcat(broker, "-C", "-t", topic, "-p", "0", "-o", "beginning", "-e", "-q", "-f", "%s") == content
