"""Addresses, and whether anything is there."""

import socket

import pytest

from odradek.cluster.reaching import check_reachable, parse_addresses
from odradek.terminal.errors import CommandError, WrongUsageError
from tests.support.ports import free_ports


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("localhost:9092", [("localhost", 9092)]),
        ("localhost", [("localhost", 9092)]),
        ("a:1, b:2,", [("a", 1), ("b", 2)]),
        ("[::1]:9093,[::1]", [("::1", 9093), ("::1", 9092)]),
        ("SASL_SSL://a:1", [("a", 1)]),
    ],
)
def test_addresses(text: str, expected: list[tuple[str, int]]) -> None:
    """Several with commas, IPv6 in brackets, 9092 where no port is given."""
    assert parse_addresses(text) == expected


@pytest.mark.parametrize("text", ["", ",", "a:b", "a:0", "a:65536", ":9092", "a:-1"])
def test_what_is_no_address(text: str) -> None:
    """It is refused."""
    with pytest.raises(WrongUsageError):
        parse_addresses(text)


def test_one_that_answers_is_enough() -> None:
    """Where several are named, one may be down; where all are, each is named."""
    dead, dead_too = free_ports(2)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        check_reachable([("127.0.0.1", dead), ("127.0.0.1", listener.getsockname()[1])])
    with pytest.raises(CommandError) as raised:
        check_reachable([("127.0.0.1", dead), ("127.0.0.1", dead_too)])
    assert str(raised.value) == "; ".join(
        f"nothing listens on 127.0.0.1:{port}; start one with `odradek serve`" for port in (dead, dead_too)
    )


def test_a_name_that_leads_nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """A name that is not known, an address that is silent, and one that cannot be reached each have their sentence."""
    reasons = {
        socket.gaierror(8, "not known"): "the name x leads to no address; is it spelled right in --bootstrap-server?",
        TimeoutError(): "x:1 does not answer within 3 seconds; is it the right address?",
        OSError(113, "No route to host"): "x:1 cannot be reached: No route to host",
    }
    for failed, sentence in reasons.items():

        def fail(*_: object, failed: OSError = failed) -> socket.socket:
            raise failed

        monkeypatch.setattr(socket, "create_connection", fail)
        with pytest.raises(CommandError) as raised:
            check_reachable([("x", 1)])
        assert str(raised.value) == sentence
