"""ApiVersions, and frames that are not what they should be."""

import struct

from tests.interop.differential.play import Ask, Frame, Steps

KEYS = {"Produce": 0, "Fetch": 1, "Metadata": 3, "ApiVersions": 18}


def framing() -> Steps:
    """Ask for versions that do not exist, and send what does not parse."""
    for api, key in KEYS.items():
        yield Frame(f"{api} v99", struct.pack(">hhih", key, 99, 7, 1) + b"x")
        yield Frame(f"{api} v99 with tags", struct.pack(">hhih", key, 99, 7, 1) + b"x\0")
        yield Frame(f"{api} v-1", struct.pack(">hhih", key, -1, 7, 1) + b"x")
    yield Frame("unknown key", struct.pack(">hhih", 999, 0, 1, 1) + b"x")
    yield Frame("empty frame", b"")
    yield Frame("two bytes", b"\0\1")
    yield Frame("huge array", struct.pack(">hhih", 3, 1, 1, 1) + b"x\x7f\xff\xff\xff")
    yield Frame("negative client id", struct.pack(">hhih", 3, 1, 1, -7) + b"x")
    names = {"client_software_name": "bad name!", "client_software_version": "1"}
    for version in (3, 4):
        yield Ask("bad client name", "ApiVersions", version, names)
