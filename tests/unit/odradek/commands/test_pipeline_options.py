"""What `odradek pipeline` makes of its arguments, before anything of Spark is imported."""

from pathlib import Path
from typing import Any

import pytest

from odradek.cli.app import run
from odradek.commands.pipeline_options import JobOptions, application_name, reader_options, trigger
from odradek.terminal.errors import WrongUsageError

NOW_MS = 1_700_000_000_000


def test_arguments_become_options_of_the_source(tmp_path: Path) -> None:
    """Topics, client settings of the file and of the command line, and limits become options of the data source."""
    (tmp_path / "client.properties").write_text("security.protocol=SSL\nclient.id=a\n")
    given = JobOptions(
        topics=["a", "b"],
        bootstrap_server="host:9092",
        command_config=tmp_path / "client.properties",
        kafka=["client.id=b"],
        max_offsets=5,
        min_partitions=2,
        allow_data_loss=True,
    )
    assert reader_options(given, NOW_MS) == {
        "kafka.bootstrap.servers": "host:9092",
        "kafka.security.protocol": "SSL",
        "kafka.client.id": "b",
        "subscribe": "a,b",
        "startingOffsets": "earliest",
        "maxOffsetsPerTrigger": "5",
        "minPartitions": "2",
        "failOnDataLoss": "false",
        "includeHeaders": "true",
    }


@pytest.mark.parametrize(
    ("start", "options"),
    [
        ("end", {"startingOffsets": "latest"}),
        ("1m", {"startingTimestamp": str(NOW_MS - 60_000), "startingOffsetsByTimestampStrategy": "latest"}),
    ],
)
def test_where_a_job_begins(start: str, options: dict[str, str]) -> None:
    """A place or a time is said to the source in its own words."""
    assert options.items() <= reader_options(JobOptions(pattern="a.*", start=start), NOW_MS).items()


@pytest.mark.parametrize(
    ("given", "wrong"),
    [
        ({}, "name topics, or say with --pattern"),
        ({"topics": ["a"], "pattern": "b"}, "name topics, or say with --pattern"),
        ({"topics": ["a"], "start": "17"}, "--from 17 cannot be"),
        ({"topics": ["a"], "start": "soon"}, "--from: "),
        ({"topics": ["a"], "kafka": ["x"]}, "--kafka 'x' is no NAME=VALUE"),
    ],
)
def test_arguments_that_cannot_be_are_refused(given: dict[str, Any], wrong: str) -> None:
    """What contradicts itself or cannot be read is a wrong usage."""
    with pytest.raises(WrongUsageError, match=wrong):
        reader_options(JobOptions(**given), NOW_MS)


def test_triggers() -> None:
    """Micro-batches run at once, at intervals, or end with what is there now; only one of these."""
    assert trigger(JobOptions()) == {"processingTime": "0 seconds"}
    assert trigger(JobOptions(interval="5m")) == {"processingTime": "300000 milliseconds"}
    assert trigger(JobOptions(available_now=True)) == {"availableNow": True}
    assert trigger(JobOptions(once=True)) == {"once": True}
    with pytest.raises(WrongUsageError, match="only one of --interval, --available-now and --once"):
        trigger(JobOptions(once=True, interval="5m"))
    with pytest.raises(WrongUsageError, match="--interval: 'daily' is no duration"):
        trigger(JobOptions(interval="daily"))


def test_names_of_applications_can_be_parts_of_paths() -> None:
    """The name of the job is taken unless another is given, which must not lead out of a directory."""
    assert application_name(JobOptions(), "archive") == "archive"
    assert application_name(JobOptions(application="a.b-c_1"), "archive") == "a.b-c_1"
    for name in ("..", "a/b", "x" * 101):
        with pytest.raises(WrongUsageError, match="--application"):
            application_name(JobOptions(application=name), "archive")


@pytest.mark.parametrize(
    ("given", "wrong"),
    [
        (["--transactional-id", "x", "--to-bootstrap-server", "127.0.0.1:1"], "--transactional-id is for one cluster"),
        (["--transactional-id", "x", "--min-partitions", "9"], "--min-partitions cannot be with --transactional-id"),
        (["--transactional-id", " "], "--transactional-id names nothing"),
        (["--group", "g"], "--group is for a relay with --transactional-id"),
        ([], "--checkpoint, --offsets or --transactional-id"),
    ],
)
def test_a_relay_that_cannot_be(given: list[str], wrong: str, capsys: pytest.CaptureFixture[str]) -> None:
    """What cannot be in one transaction, and a relay that would forget how far it came, are refused in a sentence."""
    assert run(["pipeline", "relay", "orders", "--to", "kept", *given]) == 2
    assert wrong in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize(
    "arguments",
    [
        ["relay", "orders", "--to", "orders", "--checkpoint", "c"],
        ["relay", "a", "orders", "--to", "orders", "--transactional-id", "x"],
        ["relay", "--pattern", "ord.*", "--to", "orders", "--checkpoint", "c"],
        ["wordcount", "orders", "--to", "orders", "--checkpoint", "c"],
    ],
)
def test_a_job_does_not_read_what_it_produces(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """Within one cluster a topic that is read is refused as the one that is produced to, before Spark starts."""
    assert run(["pipeline", *arguments]) == 2
    told = " ".join(capsys.readouterr().err.split())
    assert "--to orders is a topic that is read: what goes there would be read again, for ever" in told
