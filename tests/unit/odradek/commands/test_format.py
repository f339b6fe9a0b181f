"""`odradek format`: the identity of log directories."""

import json
from pathlib import Path

import pytest

from odradek.broker.metadata.features import NEW_CLUSTER
from odradek.broker.metadata.scram import ScramKey
from odradek.broker.metadata.snapshots import load_bootstrap
from odradek.cli.app import run
from odradek.protocol.scram import ScramMechanism, credential_of, salted_password
from odradek.storage.files import PosixFiles
from tests.unit.broker.metadata.support import image_of

CLUSTER = "MkU3OEVBNTcwNTJENDM2Qg"


def formatted(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, object]:
    """Run the command; return its document."""
    assert run(["format", "--json", *arguments]) == 0
    document: dict[str, object] = json.loads(capsys.readouterr().out)
    return document


def test_directories_get_one_cluster_and_ids_of_their_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The cluster that was said, once; a second time nothing changes."""
    logs = f"log.dirs={tmp_path}/a,{tmp_path}/b"
    arguments = ("--override", logs, "--override", "node.id=7", "--cluster-id", CLUSTER)
    first = formatted(capsys, *arguments)
    content = (tmp_path / "a" / "meta.properties").read_text()
    assert {"node.id=7", f"cluster.id={CLUSTER}", "version=1"} <= set(content.splitlines())
    assert (first["cluster_id"], first["node_id"]) == (CLUSTER, 7)
    directories = first["directories"]
    assert isinstance(directories, list)
    assert len({one["directory_id"] for one in directories}) == 2
    assert all(one["is_new"] for one in directories)
    second = formatted(capsys, *arguments)
    assert second["directories"] == [one | {"is_new": False} for one in directories]
    assert (tmp_path / "a" / "meta.properties").read_text() == content


def test_a_new_cluster_has_a_new_id(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each time another."""
    ids = {formatted(capsys, "--override", f"log.dirs={tmp_path}/{name}")["cluster_id"] for name in "ab"}
    assert len(ids) == 2


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--cluster-id", "x"), "--cluster-id: 'x' is not a uuid"),
        (("--override", "node.id=x"), "node.id=x"),
        (("--cluster-id", "AAAAAAAAAAAAAAAAAAAABQ", "--override", "node.id=1"), "belongs to cluster"),
        (("--override", "node.id=2"), "belongs to node 1"),
    ],
)
def test_what_does_not_fit_is_refused_in_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], sentence: str
) -> None:
    """Ids that are none, settings that cannot be read, directories of another cluster or node."""
    logs = ("--override", f"log.dirs={tmp_path}")
    formatted(capsys, *logs, "--cluster-id", CLUSTER)
    assert run(["format", *logs, *arguments]) != 0
    told = capsys.readouterr().err
    assert sentence in told
    assert told.count("\n") == 1


ALICE = 'SCRAM-SHA-256=[name=alice,salt="c2FsdHNhbHQ=",saltedpassword="MTIzNDU2Nzg5MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTI=",iterations=8192]'  # fmt: skip # noqa: E501
ALICE_OF_KAFKA = (
    "010b0006616c696365010973616c7473616c74218813 14db739817b5386388a76547e426c2e4d69d5f8d28f411d321636c694a51"
    "217469b25693a42ca9af5e5922091c5e4911141818379ed79d8442d74ded297328" + "00002000" + "00"
)
"""The record that kafka-storage 4.3 writes for ALICE."""


def test_the_metadata_begins_with_users_as_kafka_writes_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Byte for byte, behind the levels of the features; a broker takes them over at its first start."""
    secret = tmp_path / "secret"
    secret.write_text("pw\n")
    formatted(
        capsys, "--override", f"log.dirs={tmp_path}/a,{tmp_path}/b", "--override", f"metadata.log.dir={tmp_path}/b",
        "--add-scram", ALICE, "--add-scram", f"SCRAM-SHA-512=[name=bob,passwordfile={secret}]",
    )  # fmt: skip
    assert not (tmp_path / "a" / "bootstrap.checkpoint").exists()
    records = load_bootstrap(PosixFiles(), str(tmp_path / "b"))
    assert records is not None
    assert records[-2].value == bytes.fromhex(ALICE_OF_KAFKA)
    image = image_of([record.message for record in records])
    bob = image.scram_credentials[ScramKey("bob", 2)]
    salted = salted_password(ScramMechanism.SCRAM_SHA_512, "pw", bob.salt, 4096)
    assert bob == credential_of(ScramMechanism.SCRAM_SHA_512, salted, bob.salt, 4096)
    assert image.features == NEW_CLUSTER


def test_users_are_for_metadata_that_has_not_begun(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """And for nodes that keep them."""
    logs = ("--override", f"log.dirs={tmp_path}/a")
    formatted(capsys, *logs)
    assert run(["format", *logs, "--add-scram", ALICE]) != 0
    assert "was formatted before" in capsys.readouterr().err
    assert not (tmp_path / "a" / "bootstrap.checkpoint").exists()
    broker = ("--override", "process.roles=broker", "--override", "controller.quorum.bootstrap.servers=h:1",
              "--override", "controller.listener.names=C", "--override", f"log.dirs={tmp_path}/c")  # fmt: skip
    assert run(["format", *broker, "--add-scram", ALICE]) != 0
    assert "kept by the controllers" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("argument", "sentence"),
    [
        ("x", "no equals sign"),
        ("SCRAM-SHA-1=[name=a,password=hunter2]", "SCRAM-SHA-1 is none of SCRAM-SHA-256, SCRAM-SHA-512"),
        ("SCRAM-SHA-256=name=a,password=hunter2", "no [brackets]"),
        ("SCRAM-SHA-256=[password=hunter2]", "has no name"),
        ("SCRAM-SHA-256=[name=a]", "needs one of password"),
        ("SCRAM-SHA-256=[name=a,password=hunter2,saltedpassword=aHVudGVyMg==]", "needs one of password"),
        ("SCRAM-SHA-256=[name=a,saltedpassword=aHVudGVyMg==]", "needs the salt"),
        ("SCRAM-SHA-256=[name=a,password=hunter2,salt=!]", "salt is no base64"),
        ("SCRAM-SHA-256=[name=a,password=hunter2,iterations=4095]", "iterations are 4096 to 16384"),
        ("SCRAM-SHA-256=[name=a,password=hunter2,iterations=1000000]", "iterations are 4096 to 16384"),
        ("SCRAM-SHA-256=[name=a,password=hunter2,foo=1]", "foo is none of"),
        ("SCRAM-SHA-256=[name=a,name=b,password=hunter2]", "has name twice"),
        ("SCRAM-SHA-256=[name=a,password=]", "empty password"),
        ("SCRAM-SHA-256=[name=a,passwordfile=/nowhere/x]", "passwordfile cannot be read"),
        ('SCRAM-SHA-256=[name=a,password="hunter2]', "cannot be read"),
    ],
)
def test_a_user_that_is_none_is_refused_without_saying_the_password(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], argument: str, sentence: str
) -> None:
    """Before anything is written."""
    assert run(["format", "--override", f"log.dirs={tmp_path}/a", "--add-scram", argument]) != 0
    said = capsys.readouterr().err
    assert sentence in " ".join(said.split())
    assert "hunter2" not in said
    assert not (tmp_path / "a").exists()
