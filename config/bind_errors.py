"""Why an address cannot be listened on, in words: what the system says, and what to do."""

import errno
import os
from typing import Final

_NO_RIGHT: Final = "choose a port from 1024 on, or start it with the right to open this one"
_REMEDIES: Final = {
    errno.EADDRINUSE: "stop what uses the port, or choose another (port 0 takes any free one)",
    errno.EACCES: _NO_RIGHT,
    errno.EPERM: _NO_RIGHT,
    errno.EADDRNOTAVAIL: "give an address of this machine, or none for all of them",
}


def why_not_opened(failed: OSError) -> str:
    """Return why an address cannot be listened on, and what to do; not what asyncio tells around it."""
    number = failed.errno or 0
    if number not in _REMEDIES:
        return failed.strerror or str(failed)
    return f"{os.strerror(number)}; {_REMEDIES[number]}"
