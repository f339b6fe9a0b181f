"""Limits of connections whose settings name hosts."""

import socket

import pytest

from odradek.broker.connection_limits import ConnectionLimitsFollower, connection_limits
from odradek.broker.network.admission import ConnectionLimits
from odradek.config.loading import load_settings
from odradek.config.settings import BrokerSettings
from tests.support.manual_loop import HandExecutor, ManualLoop

ADDRESSES = {"a.example": "192.0.2.1", "b.example": "192.0.2.2"}


def settings(overrides: str = "", in_all: int = 100) -> BrokerSettings:
    """Return settings with limits for hosts."""
    return load_settings(None, [f"max.connections={in_all}", f"max.connections.per.ip.overrides={overrides}"])


class Following:
    """What is put in force, on threads that a test works."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.looked_up: list[str] = []
        monkeypatch.setattr(socket, "gethostbyname", self._look_up)
        self.loop = ManualLoop()
        self.threads = HandExecutor()
        self.in_force: list[ConnectionLimits] = []
        self.follower = ConnectionLimitsFollower(self.loop, self.threads, settings(), self.in_force.append)

    def _look_up(self, host: str) -> str:
        self.looked_up.append(host)
        if host not in ADDRESSES:
            raise socket.gaierror("unknown")
        return ADDRESSES[host]

    def look_up(self) -> None:
        """Let the name server answer."""
        self.threads.run()
        self.loop.settle()


@pytest.fixture
def following(monkeypatch: pytest.MonkeyPatch) -> Following:
    """A follower of settings that begin without limits for hosts."""
    return Following(monkeypatch)


def test_hosts_are_looked_up_off_the_event_loop(following: Following) -> None:
    """The limits hold once the name server has answered; a host that it does not know has none."""
    following.follower.follow(settings("a.example:7,none.example:8"))
    assert (following.looked_up, following.in_force) == ([], [])
    following.look_up()
    assert [limits.max_connections_per_ip_overrides for limits in following.in_force] == [{"192.0.2.1": 7}]


def test_settings_that_change_something_else_look_nothing_up(following: Following) -> None:
    """Every change of a dynamic config comes by here."""
    following.follower.follow(settings("a.example:7"))
    following.look_up()
    following.follower.follow(settings("a.example:7"))
    assert len(following.threads) == 0
    following.follower.follow(settings("a.example:7", in_all=5))
    following.look_up()
    assert [limits.broker.max_connections for limits in following.in_force] == [100, 5]


@pytest.mark.parametrize(("last", "expected"), [("b.example:9", {"192.0.2.2": 9}), ("", {})])
def test_the_newest_settings_win(following: Following, last: str, expected: dict[str, int]) -> None:
    """Also where a name server answers late."""
    following.follower.follow(settings("a.example:7"))
    following.follower.follow(settings(last))
    following.look_up()
    assert [limits.max_connections_per_ip_overrides for limits in following.in_force] == [expected]


def test_at_start_the_limits_are_there_before_anybody_connects(following: Following) -> None:
    """So whoever builds the listeners waits for them."""
    assert connection_limits(settings("b.example:3")).max_connections_per_ip_overrides == {"192.0.2.2": 3}
