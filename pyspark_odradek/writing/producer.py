"""The producer under a writer: confluent-kafka's, idempotent, with bounded memory, and errors told in sentences."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

from pyspark_odradek.errors import BrokerUnreachableError, ClusterError, OptionError, SourceError, UnknownTopicError
from pyspark_odradek.writing.columns import NOW, Outgoing

if TYPE_CHECKING:
    from confluent_kafka import KafkaError, Message, Producer

METADATA_TIMEOUT_S: Final = 10.0
"""For how long a cluster is tried before a query starts: somebody waits for it."""
_NEW_TOPIC_S: Final = 5.0
"""For so long a topic may be unknown that the cluster is about to make."""
_POLL_S: Final = 0.1
_AT_ONCE: Final = 1000
"""Records between two looks at what has failed."""

_log = logging.getLogger(__name__)


class Sink:
    """Takes records, and says on `finish` that all of them are acknowledged."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        """Make the producer; nothing is connected yet. Raises OptionError for what librdkafka does not take."""
        self._settings = settings
        self._failure: SourceError | None = None
        self._trouble = ""
        """What the connections last complained of: why records time out."""
        self._producer = _producer({**settings, "on_delivery": self._on_delivery, "error_cb": self._on_error})

    @property
    def producer(self) -> Producer:
        """What records are given to."""
        return self._producer

    def check(self, topic: str | None, clock: Callable[[], float] = time.monotonic) -> None:
        """Make sure that the cluster is there, and the topic where it is known.

        A cluster that makes topics by itself makes this one.

        Raises:
            ConnectionLostError: no broker answers.
            UnknownTopicError: there is no such topic.
            ClusterError: the cluster refuses to say.
        """
        from confluent_kafka import KafkaException

        deadline = clock() + _NEW_TOPIC_S
        while True:
            try:
                known = self._producer.list_topics(topic, timeout=METADATA_TIMEOUT_S) if topic else None
                known = known or self._producer.list_topics(timeout=METADATA_TIMEOUT_S)
            except KafkaException as failed:
                self._producer.poll(0)
                servers = self._settings["bootstrap.servers"]
                why = self._trouble or failed.args[0].str()
                raise BrokerUnreachableError(
                    f"no broker of {servers} answered within {METADATA_TIMEOUT_S:g} s: {why}"
                ) from failed
            error = known.topics[topic].error if topic else None
            if error is None:
                return
            if clock() > deadline or not _is_unknown(error):
                raise self._source_error(error, topic or "", None)
            time.sleep(_POLL_S)

    def send(self, records: Iterable[Outgoing]) -> int:
        """Hand records to the producer, waiting where its memory is full; return how many.

        Raises:
            SourceError: a record cannot be written, this one or one before.
        """
        from confluent_kafka import KafkaException

        produce, poll = self._producer.produce, self._producer.poll
        count = 0
        for topic, value, key, partition, timestamp, headers in records:
            while True:
                try:
                    if headers is not None:
                        produce(topic, value, key, partition, timestamp=timestamp, headers=headers)
                    elif timestamp != NOW:
                        produce(topic, value, key, partition, timestamp=timestamp)
                    else:  # names of arguments take longer than all the rest of it
                        produce(topic, value, key, partition)
                    break
                except BufferError:  # until something is acknowledged or times out
                    poll(_POLL_S)
                    self._raise_failure()
                except KafkaException as refused:
                    poll(0)
                    self._raise_failure()
                    raise self._source_error(refused.args[0], topic, partition) from refused
            count += 1
            if not count % _AT_ONCE:
                poll(0)
                self._raise_failure()
        return count

    def finish(self) -> None:
        """Return once all records are acknowledged; each has `delivery.timeout.ms` for it. Raises SourceError."""
        while self._producer.flush(1.0):
            self._raise_failure()
        self._raise_failure()

    def discard(self) -> None:
        """Give up what was not sent yet: nobody is to wait for it."""
        self._producer.purge()
        self._producer.flush(0)

    def _raise_failure(self) -> None:
        if self._failure is not None:
            raise self._failure

    def _on_delivery(self, error: KafkaError | None, message: Message) -> None:
        if error is not None and self._failure is None:
            self._failure = self._source_error(error, message.topic() or "", message.partition())

    def _on_error(self, error: KafkaError) -> None:
        self._trouble = error.str()
        if error.fatal() and self._failure is None:
            self._failure = ClusterError(f"the producer cannot go on: {error.str()}")

    def _source_error(self, error: KafkaError, topic: str, partition: int | None) -> SourceError:
        """Return librdkafka's error as one of ours."""
        from confluent_kafka import KafkaError as Code

        code = error.code()
        if _is_unknown(error):
            return UnknownTopicError(f"there is no topic {topic}, and the cluster does not make it")
        if code == Code._UNKNOWN_PARTITION:
            return UnknownTopicError(f"topic {topic} has no partition {partition}")
        if code == Code.MSG_SIZE_TOO_LARGE:
            return ClusterError(
                f"a record for topic {topic} is too large: kafka.max.request.size of this writer is"
                f" {self._settings['message.max.bytes']} bytes, and the topic has its max.message.bytes"
            )
        if code == Code._MSG_TIMED_OUT:
            trouble = f": {self._trouble}" if self._trouble else ""
            return ClusterError(
                f"records for topic {topic} were not acknowledged within {self._settings['delivery.timeout.ms']} ms"
                f" (kafka.delivery.timeout.ms){trouble}"
            )
        return ClusterError(f"topic {topic} cannot be written: {error.str()}")


def _is_unknown(error: KafkaError) -> bool:
    from confluent_kafka import KafkaError as Code

    return error.code() in (Code.UNKNOWN_TOPIC_OR_PART, Code._UNKNOWN_TOPIC, Code.LEADER_NOT_AVAILABLE)


def _producer(conf: dict[str, Any]) -> Producer:
    try:
        from confluent_kafka import KafkaException, Producer
    except ImportError as missing:
        raise OptionError(f"writing needs confluent-kafka: {missing}") from missing
    try:
        return Producer(conf, logger=_log)
    except (KafkaException, ValueError, TypeError) as refused:
        error = refused.args[0]
        reason = error.str() if hasattr(error, "str") else error
        raise OptionError(f"a setting kafka.* is not one of librdkafka, or has no valid value: {reason}") from refused
