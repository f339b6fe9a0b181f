"""Reading through confluent-kafka: for clusters that ask for what the small client does not do, like SASL.

Slower, an object per record. confluent-kafka is imported where it is used: who does not need it need not have it.
"""

from __future__ import annotations

import logging
import time
import uuid
from collections.abc import Collection, Iterator, Mapping
from contextlib import closing
from typing import TYPE_CHECKING, Any, Final

from pyspark_odradek.client.setting_names import OF_READERS
from pyspark_odradek.client.settings import librdkafka_reader_settings
from pyspark_odradek.errors import BrokerUnreachableError, ClusterError, DataLostError, OptionError, UnknownTopicError
from pyspark_odradek.offsets import EARLIEST, LATEST, OffsetRange, Offsets, TopicPartition

if TYPE_CHECKING:
    from confluent_kafka import Consumer, Message

_MESSAGES: Final = 10_000
_POLL_S: Final = 1.0
_INTERNAL: Final = frozenset({"__consumer_offsets", "__transaction_state", "__share_group_state"})

_log = logging.getLogger(__name__)


class LibrdkafkaView:
    """A `ClusterView` through confluent-kafka."""

    def __init__(
        self, settings: Mapping[str, str], retry_timeout_s: float, retries: int = 0, retry_interval_s: float = 1.0
    ) -> None:
        """Take the settings; raises OptionError where librdkafka does not.

        Each time it is asked, the cluster has `retry_timeout_s` to answer.
        """
        self._patience_s = retry_timeout_s
        self._retries = retries
        self._retry_interval_s = retry_interval_s
        self._read_committed = settings.get("isolation.level", "").lower() == "read_committed"
        self._internal = settings.get("exclude.internal.topics", "").strip().lower() == "false"
        conf = librdkafka_reader_settings(settings)
        self._admin = made("AdminClient", {k: v for k, v in conf.items() if k not in OF_READERS})

    def close(self) -> None:
        """Do nothing: the client ends with this object."""

    def topics(self) -> dict[str, list[int]]:
        """Return all topics, internal ones only where the settings ask for them, with their partitions."""
        return {name: found for name, found in self._all().items() if self._internal or name not in _INTERNAL}

    def partitions(self, topics: Collection[str]) -> dict[str, list[int]]:
        """Return the partitions of these topics; those that do not exist are left out."""
        return {name: found for name, found in self._all().items() if name in topics}

    def topic_ids(self, topics: Collection[str]) -> dict[str, uuid.UUID]:
        """Return nothing: what librdkafka keeps of metadata has no ids."""
        del topics
        return {}

    def offsets(self, wanted: Mapping[TopicPartition, int]) -> Offsets:
        """Return the offset that is wanted of each partition; raises what the cluster refuses."""
        from confluent_kafka import IsolationLevel, KafkaException
        from confluent_kafka import TopicPartition as Named
        from confluent_kafka.admin import OffsetSpec

        specs = {EARLIEST: OffsetSpec.earliest(), LATEST: OffsetSpec.latest()}
        asked = {Named(*tp): specs.get(when) or OffsetSpec.for_timestamp(when) for tp, when in wanted.items()}
        level = IsolationLevel.READ_COMMITTED if self._read_committed else IsolationLevel.READ_UNCOMMITTED
        try:
            futures = self._admin.list_offsets(asked, isolation_level=level, request_timeout=self._patience_s)
            return {TopicPartition(tp.topic, tp.partition): future.result().offset for tp, future in futures.items()}
        except KafkaException as failed:
            raise _cluster_error(failed.args[0]) from failed

    def _all(self) -> dict[str, list[int]]:
        from confluent_kafka import KafkaException

        for left in range(self._retries, -1, -1):
            try:
                metadata = self._admin.list_topics(timeout=self._patience_s)
                break
            except KafkaException as failed:
                if not left:
                    raise BrokerUnreachableError(f"the cluster cannot be reached: {failed.args[0].str()}") from failed
                time.sleep(self._retry_interval_s)
        return {name: sorted(topic.partitions) for name, topic in metadata.topics.items() if topic.error is None}


def read_messages(
    settings: Mapping[str, str], group_prefix: str, wanted: OffsetRange, fail_on_data_loss: bool, retry_timeout_s: float
) -> Iterator[list[Message]]:
    """Yield the messages of a range, many at a time.

    Raises:
        DataLostError: with `fail_on_data_loss`, some of the offsets are no longer there.
        ClusterError: the cluster cannot be read, or nothing arrived for as long as is tried.
        OptionError: librdkafka does not take the settings.
    """
    conf: dict[str, Any] = {
        **librdkafka_reader_settings(settings),
        "group.id": settings.get("group.id") or f"{group_prefix}-{uuid.uuid4()}",
        "enable.auto.commit": "false",
        "enable.partition.eof": "true",
        "auto.offset.reset": "error",
    }
    consumer: Consumer = made("Consumer", conf)
    with closing(consumer):
        yield from _consume(consumer, wanted, fail_on_data_loss, retry_timeout_s)


def _consume(consumer: Consumer, wanted: OffsetRange, fail: bool, retry_timeout_s: float) -> Iterator[list[Message]]:
    from confluent_kafka import KafkaError
    from confluent_kafka import TopicPartition as Named

    position, moved_at = wanted.first, time.monotonic()
    consumer.assign([Named(*wanted.partition, position)])
    while position < wanted.until:
        rows = []
        for message in consumer.consume(_MESSAGES, _POLL_S):
            error = message.error()
            if error is None:
                rows.append(message)
                position = (message.offset() or 0) + 1
            elif error.code() == KafkaError._PARTITION_EOF:
                position = max(position, message.offset() or 0)
            elif error.code() == KafkaError._AUTO_OFFSET_RESET:
                position = _after_loss(consumer, wanted, position, fail)
                consumer.assign([Named(*wanted.partition, position)])
                moved_at = time.monotonic()
            elif error.fatal() or not error.retriable():
                raise _cluster_error(error)
        if rows:
            moved_at = time.monotonic()
            yield [message for message in rows if (message.offset() or 0) < wanted.until]
        elif position < wanted.until and time.monotonic() - moved_at > retry_timeout_s:
            raise ClusterError(
                f"offset {position} of partition {wanted.partition} did not arrive within {retry_timeout_s:g} s"
            )


def _after_loss(consumer: Consumer, wanted: OffsetRange, position: int, fail: bool) -> int:
    from confluent_kafka import TopicPartition as Named

    first, end = consumer.get_watermark_offsets(Named(*wanted.partition), timeout=_POLL_S * 10)
    following = min(first, wanted.until) if position < first else wanted.until
    message = (
        f"offsets {position} to {following - 1} of partition {wanted.partition} are gone before they were read: it has"
        f" {first} to {end} (the last not included) now"
    )
    if fail:
        raise DataLostError(f"{message}. With the option failOnDataLoss=false reading goes on with what there is")
    _log.warning("%s", message)
    return following


def made(kind: str, conf: dict[str, Any]) -> Any:
    """Return a `Consumer` or an `AdminClient` with these settings; raises OptionError."""
    try:
        from confluent_kafka import Consumer, KafkaException
        from confluent_kafka.admin import AdminClient
    except ImportError as missing:
        raise OptionError(
            "transactions, and settings kafka.* that ask for more than PLAINTEXT or SSL, need confluent-kafka:"
            f" {missing}"
        ) from missing
    try:
        return (Consumer if kind == "Consumer" else AdminClient)(conf, logger=_log)
    except (KafkaException, ValueError, TypeError) as refused:
        error = refused.args[0]
        reason = error.str() if hasattr(error, "str") else error
        raise OptionError(f"a setting kafka.* is not one of librdkafka, or has no valid value: {reason}") from refused


def _cluster_error(error: Any) -> ClusterError:
    """Return librdkafka's error as one of ours."""
    from confluent_kafka import KafkaError

    unknown = (KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_TOPIC, KafkaError._UNKNOWN_PARTITION)
    kind = UnknownTopicError if error.code() in unknown else ClusterError
    return kind(f"the cluster cannot be read: {error.str()}")
