"""Addresses that cannot be listened on, and what is said of them."""

import errno

import pytest

from odradek.config.bind_errors import why_not_opened


@pytest.mark.parametrize(
    ("failed", "reason"),
    [
        (
            OSError(errno.EADDRINUSE, "error while attempting to bind on address ('127.0.0.1', 9404)"),
            "Address already in use; stop what uses the port, or choose another (port 0 takes any free one)",
        ),
        (OSError(errno.EACCES, ""), "Permission denied; choose a port from 1024 on"),
        (OSError(errno.EADDRNOTAVAIL, ""), "Cannot assign requested address; give an address of this machine"),
        (OSError(-2, "Name or service not known"), "Name or service not known"),
    ],
)
def test_a_port_that_cannot_be_opened_is_told_with_what_to_do(failed: OSError, reason: str) -> None:
    """Whatever the library around the socket has made of the error."""
    assert why_not_opened(failed).startswith(reason)
