"""Hosts as Java reads them."""

import pytest

from odradek.broker.runtime.addresses import literal_address, look_up, plain_host


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("10.0.0.1", "10.0.0.1"),
        ("::1", "::1"),
        ("0:0:0:0:0:0:0:1", "::1"),
        ("[::1]", "::1"),
        ("::ffff:10.0.0.1", "10.0.0.1"),
        ("127.1", "127.0.0.1"),
        ("2130706433", "127.0.0.1"),
        ("010.0.0.2", "10.0.0.2"),
        ("1.2.300", "1.2.1.44"),
        ("300.0.0.2", None),
        ("1.2.3.4.5", None),
        ("4294967296", None),
        ("[10.0.0.1]", None),
        (" 10.0.0.2", None),
        ("localhost", None),
        ("", None),
        ("1..2", None),
        ("\u0661.0.0.1", None),
    ],
)
def test_an_address_needs_no_name_server(text: str, address: str | None) -> None:
    """Decimal parts, as many as Java takes, brackets around IPv6."""
    assert literal_address(text) == address


@pytest.mark.parametrize("text", ["", " ", "no such host!", "a\0b", "x" * 300, "300.0.0.2"])
def test_what_is_no_host_has_no_address(text: str) -> None:
    """Nor does it raise."""
    assert look_up(text) is None


def test_a_name_has_an_address() -> None:
    """IPv4 where a host has both."""
    assert look_up("localhost") == "127.0.0.1"


def test_an_address_of_a_socket_is_shown_in_its_usual_form() -> None:
    """IPv4 over IPv6, and without the scope."""
    assert [plain_host(one) for one in ("::ffff:1.2.3.4", "fe80::1%eth0", "1.2.3.4", "::1")] == [
        "1.2.3.4",
        "fe80::1",
        "1.2.3.4",
        "::1",
    ]
