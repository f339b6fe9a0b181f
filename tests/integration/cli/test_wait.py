"""odradek wait."""

from tests.integration.cli import Cli
from tests.support.ports import free_ports


def test_who_waits_learns_that_it_serves(cli: Cli) -> None:
    """At once, where it does already."""
    assert cli("wait", "--json").json["brokers"] == 1
    assert cli("wait").error.startswith("1 broker there after ")


def test_who_waits_in_vain_learns_why(cli: Cli) -> None:
    """Nobody is there, or too few are."""
    nobody = f"127.0.0.1:{free_ports(1)[0]}"
    failed = cli("wait", "-b", nobody, "--timeout", "0.1")
    assert (failed.code, f"not after 0.1 s: nothing listens on {nobody}" in failed.error) == (1, True)
    too_few = cli("wait", "--brokers", "3", "--timeout", "100ms")
    assert (too_few.code, too_few.error) == (1, "odradek: not after 0.1 s: 1 broker of 3 there\n")
