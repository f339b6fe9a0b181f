"""What jobs do to records, in batch: the same DataFrames as in a stream. And files through Spark's file systems."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql import functions as F  # noqa: N812  everybody's name for it

from odradek.pipeline.archive import archived, only_unseen
from odradek.pipeline.batches import Batch
from odradek.pipeline.errors import PipelineError, WrongOptionError, sentence
from odradek.pipeline.json_values import from_ddl, inferred
from odradek.pipeline.layout import JSON, TEXT, UNPARSED, Layout, schema_of
from odradek.pipeline.relay import Rename, Rules, relayed
from odradek.pipeline.store import HadoopStore
from odradek.pipeline.wordcount import CountedWord, TimeWindows, WordCount, as_messages, counted, most_frequent
from pyspark_odradek.offsets import OffsetRange, TopicPartition
from pyspark_odradek.schema import ddl

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.xdist_group("spark")

LAST_MS_OF_A_DAY = datetime(2026, 11, 21, 23, 59, 59, 999000, UTC)
BEFORE_1970 = datetime(1969, 12, 31, 23, 59, 59, 999000, UTC)
Row = tuple[Any, ...]


def _record(value: bytes | None, key: bytes | None = None, offset: int = 0, **more: Any) -> Row:
    at = more.get("timestamp", LAST_MS_OF_A_DAY)
    return key, value, more.get("topic", "a"), more.get("partition", 0), offset, at, 0, more.get("headers")


def _records(spark: SparkSession, *rows: Row) -> DataFrame:
    return spark.createDataFrame(rows, ddl(include_headers=True))


def _values(frame: DataFrame, column: str = "value") -> list[Any]:
    return [None if row[column] is None else bytes(row[column]) for row in frame.collect()]


def test_the_date_is_that_of_the_timestamp_in_utc(spark: SparkSession) -> None:
    """A record belongs to the day of its timestamp in UTC, whatever the zone of the session."""
    spark.conf.set("spark.sql.session.timeZone", "Pacific/Auckland")
    try:
        frame = archived(_records(spark, _record(b"1"), _record(b"2", timestamp=BEFORE_1970)), Layout())
        assert [row["date"] for row in frame.collect()] == [date(2026, 11, 21), date(1969, 12, 31)]
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")


def test_without_a_date_in_a_calendar_there_is_none(spark: SparkSession) -> None:
    """A record without a timestamp, or with one that no calendar has, has no date; the first and last days have one."""
    micros = [None, -62_135_596_800_000_000, 253_402_300_799_999_000, 253_402_300_800_000_000]
    frame = spark.createDataFrame([(each,) for each in micros], "micros bigint")
    named = frame.selectExpr(
        *("null AS key", "null AS value", "'a' AS topic", "0 AS partition", "0 AS offset", "0 AS timestampType"),
        *("timestamp_micros(micros) AS timestamp", "null AS headers"),
    )
    dates = [row["date"] for row in archived(named, Layout()).select(F.col("date").cast("string")).collect()]
    assert dates == [None, "0001-01-01", "9999-12-31", None]


def test_partition_and_offset_are_always_kept(spark: SparkSession) -> None:
    """Columns can be chosen; those that tell one record from another stay."""
    frame = archived(_records(spark, _record(b"1")), Layout(columns=("value",)))
    assert frame.columns == ["value", "partition", "offset", "topic", "date"]


def test_text_has_replacement_characters_for_what_is_none(spark: SparkSession) -> None:
    """Keys and values can be kept as text; null stays null, and bytes that are no UTF-8 are replaced."""
    frame = archived(_records(spark, _record(b"gr\xc3\xbcn\xff", None)), Layout(keys=TEXT, values=TEXT))
    (row,) = frame.collect()
    assert (row["value"], row["key"]) == ("grün\N{REPLACEMENT CHARACTER}", None)


JSON_VALUES: Sequence[tuple[bytes | None, Any, bool]] = [
    (
        b'{"id": 1, "at": {"x": 2}, "tags": ["a", null]}',
        {"id": 1, "at": {"x": 2, "y": None}, "tags": ["a", None]},
        True,
    ),
    (b"{}", {"id": None, "at": None, "tags": None}, True),
    (None, None, True),
    (b'{"id": 1.5, "tags": ["a"]}', {"id": None, "at": None, "tags": ["a"]}, False),
    (b'{"id": 1, "new": 2}', {"id": 1, "at": None, "tags": None}, False),
    (b'{"ID": 1}', {"id": None, "at": None, "tags": None}, False),
    (b'{"id": 1, "tags": ["\xff"]}', {"id": 1, "at": None, "tags": ["\N{REPLACEMENT CHARACTER}"]}, False),
    (b'{"id": 1', None, False),
    (b'{"id": 1} {"id": 2}', {"id": 1, "at": None, "tags": None}, False),
    (b'{"id": 1, "id": 2}', {"id": 2, "at": None, "tags": None}, False),
    (b"[1]", None, False),
    (b'"text"', None, False),
    (b"null", None, False),
    (b"", None, False),
    (b"no JSON", None, False),
]
"""Values, what of them is in the column value, and whether that is all."""


def test_values_of_json_have_fields_and_nothing_is_lost(spark: SparkSession) -> None:
    """What fits the schema is in the column value; a value of which the schema does not say all is there as it came."""
    schema = from_ddl("id BIGINT, at STRUCT<x: INT, y: DOUBLE>, tags ARRAY<STRING>")
    rows = [_record(value, offset=offset) for offset, (value, _, _) in enumerate(JSON_VALUES)]
    layout = Layout(values=JSON)
    frame = archived(_records(spark, *rows), layout, schema)
    assert frame.columns == schema_of(layout, schema).names
    for row, (value, parsed, whole) in zip(frame.orderBy("offset").collect(), JSON_VALUES, strict=True):
        found = row["value"].asDict(recursive=True) if row["value"] is not None else None
        kept = None if row[UNPARSED] is None else bytes(row[UNPARSED])
        assert (found, kept) == (parsed, None if whole else value), value


def test_a_schema_is_found_in_values(spark: SparkSession) -> None:
    """Fields of all values are found, whatever else is among them; where there are none that is told."""
    values = [b'{"a": 1}', b"no JSON", None, b'{"b": {"c": [true]}, "a": 1.5}', b"[]"]
    found = inferred(_records(spark, *map(_record, values)))
    assert found == from_ddl("a DOUBLE, b STRUCT<c: ARRAY<BOOLEAN>>")
    none = "no value of the first micro-batch is a JSON object with fields.*as they are in another --output"
    with pytest.raises(PipelineError, match=none):  # what values are is settled by then
        inferred(_records(spark, _record(b"no JSON"), _record(None), _record(b"{}")))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("id BIGINT,", "--value-schema cannot be read: "),
        ("id VARIANT", 'id has the type "variant"; there are byte, '),
        ("counts MAP<INT, INT>", "counts is a map whose keys are not strings"),
        ("id INT, Id INT", "is there twice|already exists"),
    ],
)
def test_schemas_that_cannot_be_are_told(spark: SparkSession, text: str, why: str) -> None:
    """Mistakes in a schema are told in a sentence that names the field."""
    with pytest.raises(WrongOptionError, match=why):
        from_ddl(text)


def test_records_that_were_seen_are_left_out(spark: SparkSession) -> None:
    """Of a batch that is read again only what lies beyond the known offsets of its partition is kept."""
    rows = [_record(b"%d" % offset, offset=offset, partition=partition) for partition in (0, 1) for offset in range(4)]
    first, second = TopicPartition("a", 0), TopicPartition("a", 1)
    ranges = [OffsetRange(first, 0, 4), OffsetRange(second, 0, 4)]
    frame = only_unseen(_records(spark, *rows), ranges, {first: 3, TopicPartition("b", 1): 9})
    assert [(row["partition"], row["offset"]) for row in frame.collect()] == [(0, 3), (1, 0), (1, 1), (1, 2), (1, 3)]


def test_words_are_letters_and_digits_of_any_script(spark: SparkSession) -> None:
    """Words are counted without regard to case; null values and what is no text count for nothing."""
    rows = [b"Odradek, odradek! \xd0\x9c\xd0\xb8\xd1\x80", None, b"\xff\xfe", b"42 odradek", b""]
    counts = counted(_records(spark, *map(_record, rows)))
    assert most_frequent(counts, 2) == [CountedWord("odradek", 3), CountedWord("42", 1)]
    assert {each.word: each.count for each in most_frequent(counts, 9)} == {"odradek": 3, "42": 1, "мир": 1}
    assert {(bytes(row["key"]), bytes(row["value"])) for row in as_messages(counts).collect()} >= {(b"odradek", b"3")}


def test_words_are_counted_by_windows_of_time(spark: SparkSession) -> None:
    """A record counts in each window that its timestamp is in; a window's key begins with its beginning in UTC."""
    at = datetime(2026, 11, 21, 10, 7, 30, tzinfo=UTC)
    rows = [_record(b"a a", timestamp=at), _record(b"a b", timestamp=at + timedelta(minutes=5))]
    minute_ms = 60_000
    counts = counted(_records(spark, *rows), TimeWindows(10 * minute_ms, 5 * minute_ms, minute_ms))
    ten = at.replace(minute=10, second=0)
    five, nine = ten - timedelta(minutes=5), ten + timedelta(minutes=10)
    assert most_frequent(counts, 4) == [
        CountedWord("a", 1, ten, nine),
        CountedWord("b", 1, ten, nine),
        CountedWord("a", 3, five, five + timedelta(minutes=10)),
        CountedWord("b", 1, five, five + timedelta(minutes=10)),
    ]
    keys = {bytes(row["key"]): bytes(row["value"]) for row in as_messages(counts).collect()}
    assert keys[b"2026-11-21T10:05:00.000Z a"] == b"3"


def test_a_batch_that_only_moves_the_watermark_on_is_not_shown(spark: SparkSession) -> None:
    """Spark runs such ones by itself; of them there is nothing to see."""
    shown: list[int] = []
    windows = TimeWindows(60_000, 60_000, 0)
    job = WordCount(lambda number, _: shown.append(number), windows=windows)
    job.keep(job.transform(_records(spark)), Batch(0, {}, {}))
    job.keep(job.transform(_records(spark, _record(b"a"))), Batch(1, {}, {}))
    assert (shown, job.output_mode) == ([1], "update")


def test_a_mirror_renames_topics_and_keeps_partitions(spark: SparkSession) -> None:
    """The first rename whose pattern is the whole name counts; other topics keep their names, records their places."""
    records = _records(
        spark, *(_record(b"1", topic=each, partition=4) for each in ("orders-a", "orders-b", "xorders-c"))
    )
    renames = (Rename("orders-a", "first"), Rename("orders-(.*)", "eu.orders-$1"))
    rows = relayed(records, Rules(renames=renames, keep_topics=True, keep_partitions=True)).collect()
    assert [(row["topic"], row["partition"]) for row in rows] == [("first", 4), ("eu.orders-b", 4), ("xorders-c", 4)]


def test_a_relay_within_a_cluster_does_not_feed_itself(spark: SparkSession) -> None:
    """A record that no rename takes elsewhere would be read again and again."""
    rules = Rules(renames=(Rename("b", "c"),), refuse_same_topic=True)
    assert [row["topic"] for row in relayed(_records(spark, _record(b"1", topic="b")), rules).collect()] == ["c"]
    with pytest.raises(Exception, match="no --rename gives topic a another name"):
        relayed(_records(spark, _record(b"1")), rules).collect()


def test_a_relay_changes_nothing_unasked(spark: SparkSession) -> None:
    """Key, value, timestamp and headers go on as they are; the place is left to the other topic."""
    headers = [("h", b"\xff"), ("h", None)]
    frame = relayed(_records(spark, _record(b"\xfe", b"k", headers=headers), _record(None)), Rules())
    assert frame.columns == ["key", "value", "timestamp", "headers"]
    assert _values(frame) == [b"\xfe", None]
    assert _values(frame, "key") == [b"k", None]
    assert [(each["key"], each["value"]) for each in frame.collect()[0]["headers"]] == headers


@pytest.mark.parametrize(
    ("rules", "values"),
    [
        (Rules(matching="^(err|warn)"), [b"error", b"warning"]),
        (Rules(where="length(value) = 5 AND offset > 0"), [b"error"]),
        (Rules(matching="r", select=["upper(CAST(value AS STRING)) AS value"]), [b"ERROR", b"WARNING"]),
        (Rules(where="offset = 1", select=["offset AS value"]), [b"1"]),
    ],
)
def test_a_relay_filters_and_changes(spark: SparkSession, rules: Rules, values: Sequence[bytes]) -> None:
    """Records are kept by a regular expression or a condition, and made of expressions; numbers become text."""
    rows = [_record(value, offset=offset) for offset, value in enumerate([b"hello", b"error", b"warning", None])]
    assert _values(relayed(_records(spark, *rows), rules)) == values


def test_a_relay_can_choose_the_topic_and_say_where_a_record_is_from(spark: SparkSession) -> None:
    """An expression can name the topic of each record; a header can have its source, after its other headers."""
    rules = Rules(select=["concat('to-', topic) AS topic"], mark_source=True)
    frame = relayed(_records(spark, _record(b"1", offset=7), _record(b"2", headers=[("h", b"x")])), rules)
    first, second = frame.collect()
    assert first["topic"] == "to-a"
    assert [(each["key"], bytes(each["value"])) for each in first["headers"]] == [("odradek.source", b"a/0/7")]
    assert [each["key"] for each in second["headers"]] == ["h", "odradek.source"]


def test_mistakes_in_expressions_are_told_in_a_sentence(spark: SparkSession) -> None:
    """A column that is not produced is refused; what Spark says of a mistake comes without plans and class names."""
    records = _records(spark, _record(b"1"))
    with pytest.raises(WrongOptionError, match="--select makes a column 'x'; say with AS which it is of key, value"):
        relayed(records, Rules(select=["1 AS x"]))
    with pytest.raises(Exception, match="nonsense") as unknown:
        relayed(records, Rules(where="nonsense = 1"))
    assert sentence(unknown.value).startswith(
        "A column, variable, or function parameter with name `nonsense` cannot be"
    )
    assert "Filter" not in sentence(unknown.value)
    with pytest.raises(Exception, match="PARSE") as unreadable:
        relayed(records, Rules(where="= ="))
    assert sentence(unreadable.value) == "Syntax error at or near '='"


def test_files_through_the_file_systems_of_spark(spark: SparkSession, tmp_path: Path) -> None:
    """Files are created once, whole, found below their directory, renamed and removed."""
    store, root = HadoopStore(spark), f"{tmp_path}/an archive"
    assert store.files(root) == []
    assert store.create(f"{root}/a/1.json", b"\x00one")
    assert not store.create(f"{root}/a/1.json", b"two")
    assert store.read(f"{root}/a/1.json") == b"\x00one"
    assert store.read(f"{root}/a/2.json") is None
    store.rename(f"{root}/a/1.json", f"{root}/date=2026-11-21/b")
    assert store.files(root) == ["date=2026-11-21/b"]
    store.remove(f"{root}/date=2026-11-21")
    store.remove(f"{root}/not there")
    assert not store.exists(f"{root}/date=2026-11-21")
    with pytest.raises(PipelineError, match="/proc/version/x: "):
        store.create("/proc/version/x", b"")
