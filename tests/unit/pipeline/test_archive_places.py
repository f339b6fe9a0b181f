"""The archive job put together: what cannot be meant is refused before Spark reads anything."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from odradek.pipeline.archive_places import ArchivePlan, check_before_spark, make_archive, needs_spark
from odradek.pipeline.errors import WrongOptionError
from odradek.pipeline.kept_schema import KeptSchema
from odradek.pipeline.local_store import LocalStore
from odradek.pipeline.store import HadoopStore


class FileSystems(HadoopStore):
    """What Spark is asked for before the job runs: which file system a path is in."""

    def __init__(self) -> None:
        """Without Spark."""

    def scheme(self, path: str) -> str:
        """See HadoopStore."""
        return path.partition("://")[0] if "://" in path else "file"


def _plan(output: object, format: str = "parquet", **more: Any) -> ArchivePlan:
    plan = ArchivePlan("app", str(output), format, None, "bytes", "bytes", None, "zstd", {})
    return replace(plan, **more)


def _make(plan: ArchivePlan) -> None:
    make_archive(FileSystems(), plan, "run", lambda _: None)


def _schema(**fields: str) -> dict[str, Any]:
    return {"type": "struct", "fields": [{"name": name, "type": kind} for name, kind in fields.items()]}


@pytest.mark.parametrize(
    ("plan", "why"),
    [
        (_plan("a", catalog={"type": "sql"}), "--catalog is for --format iceberg"),
        (_plan("hdfs://h/a", "iceberg"), "--format iceberg cannot be in hdfs://h/a: give a local directory or s3://"),
        (_plan("hdfs://h/a", "delta"), "--format delta cannot be in hdfs://h/a: give a local directory or s3://"),
        (_plan("abfs://h/a"), "an archive cannot be in abfs: "),
        (
            _plan("a", values="json", columns="key"),
            "--value json is about the column value, which --columns leaves out",
        ),
        (_plan("a", application="compaction"), "--application compaction is what upkeep has for itself"),
        (_plan("a", storage={"region": "r"}), "--storage is for archives in S3"),
    ],
)
def test_what_cannot_be_meant_is_refused(
    plan: ArchivePlan, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each is a sentence, and nothing is written."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(WrongOptionError) as refused:
        _make(plan)
    assert str(refused.value).startswith(why)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("plan", "why"),
    [
        (_plan("a", "delta"), "the archive in {}/a was begun with parquet for --format, not delta"),
        (_plan("a", values="json"), "the archive in {}/a was begun with bytes for values (--value), not json"),
        (_plan("a", columns="key,no"), "--columns names 'no'"),
        (_plan("hdfs://h/a", catalog={"type": "sql"}), "--catalog is for --format iceberg"),
        (_plan("s3://bucket/a", "iceberg"), "an Iceberg table in S3 needs a catalog"),
        (_plan("s3://bucket/a", storage={"no": "r"}), "--storage no is unknown"),
    ],
)
def test_mistakes_are_told_before_spark_starts(
    plan: ArchivePlan, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What an archive is not, and what cannot be meant, is refused without waiting for Spark; what fits is not."""
    monkeypatch.chdir(tmp_path)
    check_before_spark(_plan("a"))
    assert list(tmp_path.iterdir()) == [], "nothing is written"
    _make(_plan("a"))
    check_before_spark(_plan("a"))
    check_before_spark(_plan("hdfs://h/a"))
    with pytest.raises(WrongOptionError) as refused:
        check_before_spark(plan)
    assert str(refused.value).startswith(why.format(tmp_path))


@pytest.mark.parametrize("format", ["parquet", "delta", "iceberg"])
def test_a_schema_that_is_given_is_kept(tmp_path: Path, format: str) -> None:
    """It is there for the next run, which may add to it; a run that has values of another kind is refused."""
    output = tmp_path / "archive"
    plan = _plan(output, format, values="json")
    _make(plan)
    assert KeptSchema(LocalStore(), str(output)).schema is None
    _make(replace(plan, value_schema=_schema(id="long")))
    _make(plan)
    _make(replace(plan, value_schema=_schema(name="string")))
    kept = KeptSchema(LocalStore(), str(output)).schema
    assert kept is not None
    assert [each["name"] for each in kept["fields"]] == ["id", "name"]
    with pytest.raises(WrongOptionError, match="id is long in the archive and cannot become string"):
        _make(replace(plan, value_schema=_schema(id="string")))
    with pytest.raises(WrongOptionError, match=r"json for values \(--value\), not text"):
        _make(replace(plan, values="text"))


def test_only_spark_reaches_other_file_systems() -> None:
    """Local directories and S3 are reached without it."""
    places = ("archive", "file:///archive", "s3://bucket/a", "s3a://bucket/a", "hdfs://name/a")
    assert [needs_spark(each) for each in places] == [False, False, False, False, True]
