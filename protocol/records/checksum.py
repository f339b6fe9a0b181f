"""CRC-32C (Castagnoli), the checksum of V2 batches and of Kafka's producer snapshots.

The package `crc32c` computes it in hardware (about 30 GB/s) and takes any contiguous buffer without a copy. Importing
that package runs `importlib.metadata` to learn its own version, which costs more than ten times all else it does, at
every start of the broker; so its extension module is loaded on its own. Where there is no such extension, `crcmod`
serves: sixty times slower, the same result.
"""

from collections.abc import Callable
from importlib.machinery import PathFinder
from importlib.util import module_from_spec
from typing import TypeAlias

Buffer: TypeAlias = bytes | bytearray | memoryview
Checksum: TypeAlias = Callable[[Buffer, int], int]


def load_extension() -> Checksum | None:
    """Return CRC-32C of the extension module inside the package `crc32c`, or None where there is none."""
    package = PathFinder.find_spec("crc32c")
    if package is None or package.submodule_search_locations is None:
        return None
    spec = PathFinder.find_spec("crc32c._crc32c", package.submodule_search_locations)
    if spec is None or spec.loader is None:
        return None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    function: Checksum = module.crc32c
    return function


def load_fallback() -> Checksum:
    """Return CRC-32C as computed by `crcmod`."""
    from crcmod.predefined import mkPredefinedCrcFun

    function: Checksum = mkPredefinedCrcFun("crc-32c")
    return function


crc32c: Checksum = load_extension() or load_fallback()
"""``crc32c(data, value)``: the checksum of `data`; `value` continues an earlier one (0 starts afresh)."""
