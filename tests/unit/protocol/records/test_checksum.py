"""CRC-32C: the hardware's and the fallback's are the same function, and are found without a costly import."""

import subprocess
import sys
from pathlib import Path

import pytest

from odradek.protocol.records.checksum import Checksum, crc32c, load_extension, load_fallback

EXTENSION = load_extension()
BOTH: list[Checksum] = [load_fallback(), *([EXTENSION] if EXTENSION else [])]


@pytest.mark.parametrize("function", BOTH)
def test_known_checksums(function: Checksum) -> None:
    """The check value of the catalogues, and the vectors of RFC 3720."""
    assert function(b"123456789", 0) == 0xE3069283
    assert function(bytes(32), 0) == 0x8A9136AA
    assert function(b"\xff" * 32, 0) == 0x62A8AB43
    assert function(bytes(range(32)), 0) == 0x46DD794E
    assert function(b"", 0) == 0


@pytest.mark.parametrize("function", BOTH)
def test_a_checksum_continues_an_earlier_one(function: Checksum) -> None:
    """The checksum of two pieces is that of the whole."""
    assert function(b"6789", function(b"12345", 0)) == function(b"123456789", 0)


def test_buffers_of_all_kinds_are_taken() -> None:
    """Bytes, byte arrays and views of them give the same checksum."""
    data = b"some bytes to look at"
    assert crc32c(bytearray(data), 0) == crc32c(memoryview(data), 0) == crc32c(data, 0)
    assert crc32c(memoryview(b"xx" + data)[2:], 0) == crc32c(data, 0)


def test_the_extension_is_used_here() -> None:
    """Where the package has its extension, that is the function in use, and it is the package's own."""
    import crc32c as package

    assert EXTENSION is not None
    assert crc32c(b"abc", 0) == package.crc32c(b"abc")


def test_loading_it_does_not_import_package_metadata() -> None:
    """Start-up time: neither the package `crc32c` nor importlib.metadata is imported for it."""
    code = (
        "import protocol.records.checksum, sys\n"
        "print([name for name in ('crc32c', 'importlib.metadata') if name in sys.modules])"
    )
    root = Path(__file__).parents[4]
    printed = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True).stdout
    assert printed.strip() == "[]"
