"""Offsets in a real Redis: whole batches, a start without a checkpoint, and what happens when Redis goes away."""

import json
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from redis import Redis

from odradek.pipeline.batches import Batch
from odradek.pipeline.errors import PipelineError, WrongOptionError
from odradek.pipeline.redis_counts import RedisCounts
from odradek.pipeline.redis_offsets import APPLICATIONS, RedisOffsets, connect, progress
from odradek.pipeline.wordcount import CountedWord
from pyspark_odradek.offsets import OffsetRange, TopicPartition
from tests.integration.pipeline.conftest import StartJob
from tests.integration.pipeline.records import archived, expected, produce
from tests.support.broker import BrokerProcess
from tests.support.documents import check_documents
from tests.support.pipeline_job import RunJob
from tests.support.redis_server import RedisServer

pytestmark = [pytest.mark.xdist_group("spark"), pytest.mark.timeout(900)]

RECORDS = 1_200
A_BATCH = "200"
NOW_MS = 1_700_000_000_000
A0, A1 = TopicPartition("a", 0), TopicPartition("a", 1)


def _offsets(server: RedisServer) -> RedisOffsets:
    return RedisOffsets(connect(server.url), "app", "archive", lambda: NOW_MS)


def test_a_batch_is_stored_whole_and_shown(redis: RedisServer) -> None:
    """What a batch read of each partition stands beside its number, for the next start and for other tools."""
    offsets = _offsets(redis)
    assert offsets.begin() == {}
    offsets.commit(Batch(0, {A0: 5}, {A0: 9, A1: 3}))
    offsets.commit(Batch(1, {A0: 9, A1: 3}, {A0: 9, A1: 4}))
    offsets.commit(Batch(1, {A0: 9, A1: 3}, {A0: 9, A1: 4}))  # again, as after an answer that was lost
    (shown,) = progress(connect(redis.url))
    assert (shown.application, shown.job, shown.number, shown.finished_at_ms) == ("app", "archive", 1, NOW_MS)
    assert shown.ranges == [OffsetRange(A0, 5, 9), OffsetRange(A1, 3, 4)]
    assert _offsets(redis).begin() == {A0: 9, A1: 4}


def test_keys_are_those_that_are_documented(redis: RedisServer) -> None:
    """Other tools read plain hashes."""
    offsets = _offsets(redis)
    offsets.begin()
    offsets.commit(Batch(7, {A0: 5}, {A0: 9}, {"a": "an-id"}))
    with Redis.from_url(redis.url, decode_responses=True) as client:
        assert client.smembers(APPLICATIONS) == {"app"}
        assert client.hgetall("odradek:pipeline:{app}:until") == {"a:0": "9"}
        assert client.hgetall("odradek:pipeline:{app}:from") == {"a:0": "5"}
        batch = {"number": "7", "run": "1", "job": "archive", "finished_at_ms": str(NOW_MS)}
        assert client.hgetall("odradek:pipeline:{app}:batch") == batch
        assert client.get("odradek:pipeline:{app}:run") == "1"
        assert client.hgetall("odradek:pipeline:{app}:topics") == {"a": "an-id"}
    again = _offsets(redis)
    assert (again.begin(), again.topic_ids) == ({A0: 9}, {"a": "an-id"})


def test_only_the_newest_run_stores_anything(redis: RedisServer) -> None:
    """A run that another one has taken over from is refused, and changes nothing."""
    old, new = _offsets(redis), _offsets(redis)
    old.begin()
    new.begin()
    new.commit(Batch(0, {}, {A0: 9}))
    with pytest.raises(PipelineError, match="another run of app has started"):
        old.commit(Batch(0, {}, {A0: 4}))
    assert _offsets(redis).begin() == {A0: 9}


def test_a_redis_that_was_emptied_is_noticed(redis: RedisServer) -> None:
    """Offsets are not stored beside nothing, where a later start would take them for all there is."""
    offsets = _offsets(redis)
    offsets.begin()
    with Redis.from_url(redis.url) as client:
        client.flushall()
    with pytest.raises(PipelineError, match="Redis has lost what it had of app"):
        offsets.commit(Batch(0, {}, {A0: 4}))


def test_what_is_no_offset_is_named(redis: RedisServer) -> None:
    """A value that somebody else put there ends the start with its name."""
    with Redis.from_url(redis.url) as client:
        client.hset("odradek:pipeline:{app}:until", "a:0", "soon")
    with pytest.raises(PipelineError, match="Redis has 'soon' for 'a:0'"):
        _offsets(redis).begin()


def test_addresses_that_cannot_be_are_refused() -> None:
    """What is no URL of a Redis is a wrong option."""
    with pytest.raises(WrongOptionError, match="is no address of a Redis, such as redis://"):
        connect("127.0.0.1:6379")


def test_counts_are_hashes_of_words(redis: RedisServer) -> None:
    """Counts are set, and so may come twice; those of windows are in hashes of their own, which a sorted set has."""
    start = datetime(2026, 11, 21, 10, tzinfo=UTC)
    counts = RedisCounts(connect(redis.url), "app")
    for _ in range(2):
        counts.put(iter([CountedWord("a", 3), CountedWord("b", 1)]))
        counts.put(iter([CountedWord("a", 2, start, start + timedelta(hours=1))]))
    with Redis.from_url(redis.url, decode_responses=True) as client:
        assert client.hgetall("odradek:wordcount:{app}") == {"a": "3", "b": "1"}
        assert client.hgetall("odradek:wordcount:{app}:2026-11-21T10:00:00Z") == {"a": "2"}
        found = client.zrange("odradek:wordcount:{app}:windows", 0, -1, withscores=True)
        assert found == [("2026-11-21T10:00:00Z", start.timestamp())]
    redis.kill()
    with pytest.raises(PipelineError, match="does not do its part"):
        counts.put(iter([CountedWord("a", 3)]))


def test_an_archive_with_redis(
    broker: BrokerProcess, start_job: StartJob, run_job: RunJob, redis: RedisServer, topic: str, tmp_path: Path
) -> None:
    """When Redis is killed the job ends with a sentence; once it is back a run without a checkpoint goes on from what
    Redis has, and nothing is missing or there twice.
    """
    archive = tmp_path / "archive"
    produce(broker.bootstrap, topic, RECORDS)
    arguments = ["archive", topic, "--output", str(archive), "--max-offsets-per-trigger", A_BATCH]
    arguments += ["--redis", redis.url, "--application", "mine"]
    job = start_job(broker, *arguments)
    job.wait_for_batches(1)
    redis.kill()
    assert job.wait() == 1
    (told,) = job.errors.splitlines()
    assert told.startswith(f"odradek: Redis at 127.0.0.1:{redis.port} does not do its part")
    redis.start()
    (stored,) = progress(connect(redis.url))
    assert all(each.until > 0 for each in stored.ranges)
    last = run_job(broker.bootstrap, *arguments)
    assert archived(archive, topic) == expected(RECORDS)
    read = sum(each["rows"] for each in last.progress)
    assert read < RECORDS, "it began anew"
    command = [sys.executable, "-m", "odradek", "pipeline", "progress", "--redis", redis.url, "--json"]
    printed = subprocess.run(command, capture_output=True, check=True, timeout=60).stdout
    check_documents(command[3:], printed)
    shown = json.loads(printed)
    (found,) = shown["applications"]
    assert (found["application"], found["job"]) == ("mine", "archive")
    assert {(each["topic"], each["partition"], each["until"]) for each in found["partitions"]} == {
        (topic, partition, RECORDS // 3) for partition in range(3)
    }
