"""`odradek acls`: ACLs of a cluster, and what they would decide."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from odradek.cli.options import BOOTSTRAP_VARIABLE
from tests.integration.cli import Cli
from tests.support.broker import OdradekProcess

SETTINGS = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
}


@pytest.fixture
def guarded(tmp_path: Path) -> Iterator[OdradekProcess]:
    """A broker with an authorizer."""
    process = OdradekProcess(tmp_path, SETTINGS)
    try:
        process.start()
        yield process
    finally:
        process.discard()


def test_acls_come_decide_and_go(cli: Cli, guarded: OdradekProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was made is listed, says who may, and is gone when it was removed."""
    monkeypatch.setenv(BOOTSTRAP_VARIABLE, guarded.bootstrap)
    made = cli("acls", "create", "User:anna", "--on", "topic:orders", "--operation", "read", "--host", "10.0.0.7")
    assert made.code == 0, made.error
    assert cli("acls", "create", "User:anna", "--on", "topic:ord", "--prefix", "--operation", "write").code == 0
    assert cli("acls", "create", "User:*", "--on", "topic:orders", "--operation", "delete", "--deny").code == 0
    listed = cli("acls", "list", "--on", "topic:orders", "--json").json["acls"]
    assert [(one["principal"], one["pattern_type"], one["operation"], one["permission"]) for one in listed] == [
        ("User:*", "literal", "delete", "deny"),
        ("User:anna", "literal", "read", "allow"),
        ("User:anna", "prefixed", "write", "allow"),
    ]
    assert len(cli("acls", "list", "--on", "topic:orders", "--exact", "--json").json["acls"]) == 2

    def check(*wish: str) -> tuple[bool, str]:
        told = cli("acls", "check", *wish, "--json").json
        return told["allowed"], told["rule"]

    assert check("User:anna", "read", "topic:orders", "--from", "10.0.0.7") == (True, "matching_acl")
    assert check("User:anna", "read", "topic:orders") == (False, "default_deny")
    assert check("User:anna", "describe", "topic:ordinary") == (True, "matching_acl")
    assert check("User:anna", "delete", "topic:orders") == (False, "matching_acl")
    assert check("User:anna", "alter", "cluster") == (False, "default_deny")
    told = cli("acls", "check", "User:anna", "delete", "topic:orders").output
    assert b"User:anna may not delete topic:orders: by the ACL that denies User:* delete on topic:orders" in told
    removed = cli("acls", "delete", "--on", "topic:ord", "--prefix", "--json").json["acls"]
    assert [one["operation"] for one in removed] == ["write"]
    assert cli("acls", "delete", "--principal", "User:anna").code == 0
    assert len(cli("acls", "list", "--json").json["acls"]) == 1


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("create", "anna", "--on", "topic:t", "--operation", "read"), "'anna' is no principal"),
        (("create", "User:a", "--on", "topic", "--operation", "read"), "'topic' is no resource"),
        (("create", "User:a", "--on", "queue:x", "--operation", "read"), "expected one of topic:NAME"),
        (("create", "User:a", "--on", "topic:t", "--operation", "eat"), "'eat' is no operation"),
        (("delete",), "nobody wants to remove all ACLs"),
    ],
)
def test_what_means_nothing_is_refused(cli: Cli, arguments: tuple[str, ...], sentence: str) -> None:
    """Before anything is sent."""
    refused = cli("acls", *arguments)
    assert refused.code != 0
    assert sentence in " ".join(refused.error.split())


def test_without_an_authorizer_the_broker_says_so(cli: Cli) -> None:
    """There are no ACLs, and none would count."""
    refused = cli("acls", "list")
    assert refused.code != 0
    assert "No Authorizer is configured" in refused.error
