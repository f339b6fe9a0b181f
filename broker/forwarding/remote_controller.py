"""What a broker asks the controller for on its own account: topics, and blocks of producer ids.

Must not know: who wants them. Source: `AutoTopicCreationManager`, `RPCProducerIdManager` (KIP-730).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from odradek.broker.controller.topic_creation import Charge, free
from odradek.broker.controller.topics import NewTopic
from odradek.broker.metadata.producer_ids import ProducerIdBlock
from odradek.broker.nodes.controller_channel import Answer, ControllerRequests
from odradek.broker.runtime.deferred import Deferred
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.allocate_producer_ids import AllocateProducerIdsRequest, AllocateProducerIdsResponse
from odradek.protocol.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
    CreateTopicsResponse,
)

TIMEOUT_S: Final = 30.0

Created = NewTopic | KafkaError


class RemoteTopicCreation:
    """Makes topics at the controller, as `Controller.create_topics` does here."""

    def __init__(self, channel: ControllerRequests, num_partitions: int, replication_factor: int) -> None:
        """The numbers are for topics that do not say how many partitions and replicas they want."""
        self._channel = channel
        self._num_partitions = num_partitions
        self._replication_factor = replication_factor

    def create_topics(
        self, topics: Sequence[NewTopic], *, charge: Charge = free
    ) -> list[Created] | Deferred[list[Created]]:
        """Make topics; return each, or the error for which there is none. The broker may not know them yet.

        `charge` is told of each before it is asked for, since the controller is asked in the broker's name.
        """
        outcomes: dict[str, Created] = {}
        for one in topics:
            try:
                charge(self._num_partitions if one.num_partitions < 0 else one.num_partitions)
            except KafkaError as error:
                outcomes[one.name] = error.detached()
        wanted = [one for one in topics if one.name not in outcomes]
        if not wanted:
            return [outcomes[one.name] for one in topics]
        request = CreateTopicsRequest(
            topics=[
                CreatableTopic(
                    name=one.name,
                    num_partitions=self._num_partitions if one.num_partitions < 0 else one.num_partitions,
                    replication_factor=(
                        self._replication_factor if one.replication_factor < 0 else one.replication_factor
                    ),
                    configs=[
                        CreatableTopicConfig(name=name, value=value) for name, value in (one.configs or {}).items()
                    ],
                )
                for one in wanted
            ],
            timeout_ms=int(TIMEOUT_S * 1000),
        )

        def results(answer: Answer) -> list[Created]:
            if isinstance(answer, KafkaError):
                return [outcomes.get(one.name, answer) for one in topics]
            assert isinstance(answer, CreateTopicsResponse)
            codes = {one.name: (one.error_code, one.error_message or "") for one in answer.topics}
            for topic in wanted:
                code, message = codes.get(topic.name, (ErrorCode.UNKNOWN_SERVER_ERROR, ""))
                outcomes[topic.name] = topic if code == ErrorCode.NONE else _error(code, message)
            return [outcomes[one.name] for one in topics]

        return self._channel.send(request, TIMEOUT_S).then(results)


class RemoteBlocks:
    """Gets blocks of producer ids from the controller."""

    def __init__(self, channel: ControllerRequests, broker_id: int, broker_epoch: Callable[[], int]) -> None:
        self._channel = channel
        self._broker_id = broker_id
        self._broker_epoch = broker_epoch

    def next_block(self) -> Deferred[ProducerIdBlock | KafkaError]:
        """Return a block; COORDINATOR_LOAD_IN_PROGRESS, which clients try again at, where there is none now."""
        request = AllocateProducerIdsRequest(broker_id=self._broker_id, broker_epoch=self._broker_epoch())

        def block(answer: Answer) -> ProducerIdBlock | KafkaError:
            if (
                not isinstance(answer, AllocateProducerIdsResponse)
                or answer.error_code
                or answer.producer_id_len <= 0
                or answer.producer_id_start < 0
            ):
                return KafkaError(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, "the controller gives no producer ids")
            return ProducerIdBlock(answer.producer_id_start, answer.producer_id_len)

        return self._channel.send(request, TIMEOUT_S).then(block)


def _error(code: int, message: str) -> KafkaError:
    try:
        return KafkaError(ErrorCode(code), message)
    except ValueError:
        return KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, message)
