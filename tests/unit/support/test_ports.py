"""Ports that tests give to processes."""

from itertools import pairwise

from tests.support.ports import HIGHEST, LOWEST, WORKERS, free_ports, ports_of


def test_no_two_workers_have_a_port_in_common() -> None:
    """A process binds what it was given seconds later."""
    shares = [ports_of(f"gw{number}") for number in range(WORKERS)]
    assert all(one.stop <= following.start for one, following in pairwise(shares))
    assert shares[0].start == LOWEST
    assert shares[-1].stop <= HIGHEST + 1
    assert ports_of("") == ports_of("master") == range(LOWEST, HIGHEST + 1)


def test_no_port_is_given_twice() -> None:
    """One that was killed comes back to its own."""
    assert len({port for _ in range(50) for port in free_ports(3)}) == 150
