"""Opening the listeners of a role."""

import errno
import socket
from typing import cast

import pytest

from odradek.broker.servers.host import ServerNetwork
from odradek.broker.servers.listeners import ServerListeners
from odradek.config.loading import load_settings

AN_ADDRESS = "give in listeners an address of this machine"


class Refusing:
    """A network that opens nothing."""

    def __init__(self, failure: OSError) -> None:
        self._failure = failure

    def bind(self, _name: str, _host: str, _port: int) -> None:
        """Refuse."""
        raise self._failure


@pytest.mark.parametrize(
    ("failure", "remedy"),
    [
        (
            socket.gaierror(socket.EAI_NONAME, "Name or service not known"),
            AN_ADDRESS,
        ),
        (
            OSError(errno.EADDRNOTAVAIL, "Cannot assign requested address"),
            AN_ADDRESS,
        ),
        (OSError(errno.EACCES, "Permission denied"), "choose a port from 1024 on"),
        (OSError(errno.EADDRINUSE, "Address already in use"), "stop what uses the port"),
    ],
)
def test_a_listener_that_cannot_be_opened(failure: OSError, remedy: str) -> None:
    """The error names it, says why in the system's words, and what to do about that."""
    settings = load_settings(None, ["listeners=PLAINTEXT://kafka.example:9092"])
    listeners = ServerListeners(settings.listeners, lambda: settings)
    with pytest.raises(OSError, match=f"listener PLAINTEXT://kafka.example:9092 .*: {failure.strerror}; {remedy}"):
        listeners.bind(cast("ServerNetwork", Refusing(failure)))
