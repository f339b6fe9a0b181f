"""`odradek quotas`."""

import pytest

from tests.integration.cli import Cli

RATE, CONSUMED, COMING = "producer_byte_rate", "consumer_byte_rate", "connection_creation_rate"


def listed(cli: Cli, *arguments: str) -> dict[str, dict[str, float]]:
    """Return what is set, by whose it is."""
    found = cli("quotas", "list", *arguments, "--json").json
    return {
        "+".join(f"{part['type']}={part['name']}" for part in one["entity"]): {
            value["quota"]: value["value"] for value in one["values"]
        }
        for one in found["quotas"]
    }


def test_quotas_are_set_shown_and_deleted(cli: Cli) -> None:
    """One by one, and all of an entity; others of it stay."""
    assert cli("quotas", "set", "--user", "qa", f"{RATE}=1048576", f"{CONSUMED}=2e6").code == 0
    assert cli("quotas", "set", "--user", "qa", "--client-id", "qc", f"{RATE}=7").code == 0
    assert cli("quotas", "set", "--user", "qa", "request_percentage=0.5").code == 0
    assert listed(cli, "--user", "qa") == {
        "user=qa": {RATE: 1048576.0, CONSUMED: 2000000.0, "request_percentage": 0.5},
        "user=qa+client-id=qc": {RATE: 7.0},
    }
    table = " ".join(cli("quotas", "list", "--client-id", "qc").lines)
    assert "producer_byte_rate" in table
    assert "qc" in table
    told = cli("quotas", "delete", "--user", "qa", RATE, "--json").json
    assert told["values"] == [
        {"quota": CONSUMED, "value": 2000000.0},
        {"quota": "request_percentage", "value": 0.5},
    ]
    assert cli("quotas", "delete", "--user", "qa").code == 0
    assert listed(cli, "--user", "qa") == {"user=qa+client-id=qc": {RATE: 7.0}}
    assert cli("quotas", "delete", "--user", "qa", "--client-id", "qc").code == 0
    assert listed(cli, "--user", "qa") == {}


def test_defaults_have_no_name(cli: Cli) -> None:
    """Of users and client ids together, and of addresses."""
    assert cli("quotas", "set", "--default-user", "--client-id", "qd", f"{RATE}=7").code == 0
    assert cli("quotas", "set", "--default-ip", f"{COMING}=5000").code == 0
    assert listed(cli, "--default-user", "--client-id", "qd") == {"user=None+client-id=qd": {RATE: 7.0}}
    assert listed(cli, "--default-ip") == {"ip=None": {COMING: 5000.0}}
    assert cli("quotas", "delete", "--default-user", "--client-id", "qd").code == 0
    assert cli("quotas", "delete", "--default-ip").code == 0


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("set", f"{RATE}=1"), "say whose quotas"),
        (("set", "--user", "qa", "--default-user", f"{RATE}=1"), "either --user or --default-user"),
        (("set", "--user", "", f"{RATE}=1"), "--user is empty"),
        (("set", "--user", "qa", "--ip", "::1", f"{RATE}=1"), "an address has quotas of its own"),
        (("set", "--user", "qa", RATE), "is no NAME=VALUE"),
        (("set", "--user", "qa", "foo=1"), "foo is no quota of user qa"),
        (("set", "--default-ip", f"{RATE}=1"), "is no quota of every ip"),
        (("set", "--user", "qa", f"{RATE}=much"), "is no number"),
        (("set", "--user", "qa", f"{RATE}=0"), "is not above 0"),
        (("set", "--user", "qa", f"{RATE}=nan"), "is not above 0"),
        (("set", "--user", "qa", f"{RATE}=1", f"{RATE}=2"), "twice"),
        (("set", "--user", "qa", f"{RATE}=1.5"), "cannot be a fractional value"),
        (("set", "--ip", "no host!", f"{COMING}=5"), "is not a valid IP or resolvable host"),
        (("delete", "--user", "nobody"), "user nobody has no quotas"),
        (("delete", "--user", "nobody", RATE), f"user nobody has no {RATE}"),
    ],
)
def test_what_cannot_be_is_refused_in_words(cli: Cli, arguments: tuple[str, ...], sentence: str) -> None:
    """Nothing is changed."""
    refused = cli("quotas", *arguments)
    assert refused.code != 0
    assert sentence in " ".join(refused.error.split())
    assert listed(cli, "--user", "qa") == {}
