"""Where a ZooKeeper is."""

import pytest

from odradek.zookeeper.address import ZooKeeperAddress, parse_address


def test_everything_that_an_address_can_have() -> None:
    """Several servers, a port that is left out, a chroot, and an account with characters that a URL quotes."""
    found = parse_address("zookeeper://me:p%40ss@one:2182,two,[::1]:2183/kafka/old/")
    assert found == ZooKeeperAddress(("one:2182", "two:2181", "[::1]:2183"), "/kafka/old", "me:p@ss")
    assert parse_address("zookeeper://127.0.0.1") == ZooKeeperAddress(("127.0.0.1:2181",))


def test_a_password_is_not_shown() -> None:
    """An address in an error message or a log line has no account in it."""
    found = parse_address("zookeeper://me:secret@one/kafka")
    assert "secret" not in f"{found} {found!r}"
    assert str(found) == "one:2181/kafka"


@pytest.mark.parametrize(
    "url",
    [
        "127.0.0.1:2181",
        "redis://127.0.0.1",
        "zookeeper://",
        "zookeeper:///kafka",
        "zookeeper://one:70000",
        "zookeeper://one,,two",
        "zookeeper://me@one",
        "zookeeper://one/a//b",
        "zookeeper://one/a b",
    ],
)
def test_what_is_no_address_is_refused(url: str) -> None:
    """What cannot be meant is told before anybody connects."""
    with pytest.raises(ValueError, match="zookeeper://"):
        parse_address(url)
