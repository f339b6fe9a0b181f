"""Options of the reader: what they mean, and what is said of those that mean nothing."""

from __future__ import annotations

import pytest

from pyspark_odradek.errors import OptionError
from pyspark_odradek.offsets import EARLIEST, LATEST, TopicPartition
from pyspark_odradek.option_values import Position
from pyspark_odradek.reading.options import SubscribeOption, read_options

BASE = {"kafka.bootstrap.servers": "here:9092", "subscribe": "t"}


def test_defaults_are_those_of_sparks_own_source() -> None:
    """A batch reads all there is, a stream begins at the end; lost records end the query; there are no headers."""
    batch, stream = read_options(BASE, streaming=False), read_options(BASE, streaming=True)
    assert (batch.start, batch.end) == (Position(EARLIEST), Position(LATEST))
    assert stream.start == Position(LATEST)
    assert batch.fail_on_data_loss
    assert not batch.include_headers
    assert batch.kafka == {"bootstrap.servers": "here:9092"}


def test_names_are_known_in_any_case() -> None:
    """Spark's options have no case, and neither have ours."""
    options = {name.upper(): value for name, value in (BASE | {"failOnDataLoss": "FALSE"}).items()}
    found = read_options(options, streaming=None)
    assert not found.fail_on_data_loss
    assert found.topics == ("t",)
    assert found.kafka == {"bootstrap.servers": "here:9092"}


def test_what_is_read() -> None:
    """Topics come as a list, a pattern, or partitions one by one."""
    listed = read_options(BASE | {"subscribe": " a, b ,a,"}, streaming=False)
    assert listed.topics == ("a", "b")
    without = {"kafka.bootstrap.servers": "here:9092"}
    pattern = read_options(without | {"subscribePattern": "a.*"}, streaming=False)
    assert pattern.subscription == SubscribeOption.PATTERN
    assert pattern.pattern is not None
    assert pattern.pattern.fullmatch("abc")
    assigned = read_options(without | {"assign": '{"a": [2, 0, 2], "b": []}'}, streaming=False)
    assert assigned.assigned == {"a": (0, 2), "b": ()}


def test_positions() -> None:
    """Offsets and timestamps come for all partitions or one by one."""

    def start(**options: str) -> Position:
        return read_options(BASE | options, streaming=True).start

    assert start(startingOffsets="Earliest") == Position(EARLIEST)
    assert start(startingOffsets='{"t": {"0": 5, "1": -1}}') == Position(
        None, {TopicPartition("t", 0): 5, TopicPartition("t", 1): LATEST}
    )
    assert start(startingTimestamp="17") == Position(timestamp=17)
    assert start(startingOffsetsByTimestamp='{"t": {"0": 5}}') == Position(timestamps={TopicPartition("t", 0): 5})


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"subscribes": "t"}, "there is no option subscribes; did you mean subscribe?"),
        ({"assign": '{"t": [0]}'}, "only one of subscribe and assign"),
        ({"subscribe": " , "}, "subscribe must name one topic"),
        ({"kafka.bootstrap.servers": " "}, "kafka.bootstrap.servers is missing"),
        ({"kafka.auto.offset.reset": "latest"}, "said by startingOffsets"),
        ({"kafka.ENABLE.auto.commit": "true"}, "Spark's checkpoint"),
        ({"startingOffsets": "{"}, "startingOffsets is no JSON"),
        ({"startingOffsets": "[]"}, "must be a JSON object"),
        ({"startingOffsets": '{"t": 1}'}, "it has 1 for topic t"),
        ({"startingOffsets": '{"t": {"0": -3}}'}, "no such offset"),
        ({"startingOffsets": '{"t": {"x": 1}}'}, "must be like"),
        ({"startingOffsets": '{"t": {"0": true}}'}, "must be like"),
        ({"startingOffsets": "latest"}, "cannot be latest in a batch query"),
        ({"endingOffsets": "earliest"}, "endingOffsets cannot be earliest"),
        ({"endingOffsets": '{"t": {"0": -2}}'}, "endingOffsets cannot be earliest"),
        ({"startingTimestamp": "yesterday"}, "milliseconds since 1970"),
        ({"startingOffsetsByTimestampStrategy": "newest"}, "must be error or latest"),
        ({"failOnDataLoss": "no"}, "must be true or false"),
        ({"minPartitions": "0"}, "at least 1"),
        ({"maxOffsetsPerTrigger": "many"}, "at least 1"),
        ({"maxOffsetsPerTrigger": "1", "minOffsetsPerTrigger": "2"}, "is more than maxOffsetsPerTrigger"),
        ({"maxTriggerDelay": "soon"}, "a duration like 30s"),
    ],
)
def test_mistakes_are_told(options: dict[str, str], said: str) -> None:
    """Each mistake gets a sentence that names the option and what it expects."""
    with pytest.raises(OptionError) as caught:
        read_options(BASE | options, streaming=False)
    assert said in str(caught.value)


def test_a_stream_has_no_end() -> None:
    """Options of the end are for batch queries only."""
    with pytest.raises(OptionError, match="only for batch queries"):
        read_options(BASE | {"endingTimestamp": "1"}, streaming=True)
    assert read_options(BASE | {"endingTimestamp": "1"}, streaming=None).end == Position(timestamp=1)
