"""What a broker asks the controller for on its own account: topics, and blocks of producer ids.

Must not know: who wants them. Source: `AutoTopicCreationManager`, `RPCProducerIdManager` (KIP-730).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from ipaddress import ip_address
from typing import Final

from odradek.broker.controller.topic_creation import Charge, free
from odradek.broker.controller.topics import NewTopic
from odradek.broker.forwarding.envelopes import principal_data
from odradek.broker.metadata.producer_ids import ProducerIdBlock
from odradek.broker.nodes.controller_channel import Answer, ControllerRequests
from odradek.broker.runtime.context import RequestContext
from odradek.broker.runtime.deferred import Deferred
from odradek.protocol.codec import DecodeError, decode, encode
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.headers import RequestHeader, decode_response_header, encode_request_header
from odradek.protocol.messages.allocate_producer_ids import AllocateProducerIdsRequest, AllocateProducerIdsResponse
from odradek.protocol.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from odradek.protocol.messages.envelope import EnvelopeRequest, EnvelopeResponse
from odradek.protocol.registry import ApiKey

TIMEOUT_S: Final = 30.0
_VERSION: Final = 7
"""Of CreateTopics: who asks by it hears of a quota that is used up."""

Created = NewTopic | KafkaError


class RemoteTopicCreation:
    """Makes topics at the controller, as `Controller.create_topics` does here."""

    def __init__(self, channel: ControllerRequests, num_partitions: int, replication_factor: int) -> None:
        """The numbers are for topics that do not say how many partitions and replicas they want."""
        self._channel = channel
        self._num_partitions = num_partitions
        self._replication_factor = replication_factor

    def create_topics(
        self,
        topics: Sequence[NewTopic],
        *,
        charge: Charge = free,  # noqa: ARG002  # the controller counts
        client: RequestContext | None = None,
    ) -> list[Created] | Deferred[list[Created]]:
        """Make topics; return each, or the error for which there is none. The broker may not know them yet.

        For a client the request goes in an envelope, as if it had made the topics itself: the controller decides by its
        rights, and counts them for its quota.
        """
        request = CreateTopicsRequest(topics=[self._creatable(one) for one in topics], timeout_ms=int(TIMEOUT_S * 1000))
        asked = request if client is None else _in_envelope(request, client)

        def results(answer: Answer) -> list[Created]:
            if isinstance(answer, EnvelopeResponse):
                answer = _out_of_envelope(answer)
            if isinstance(answer, KafkaError):
                return [answer] * len(topics)
            assert isinstance(answer, CreateTopicsResponse)
            told = {one.name: one for one in answer.topics}
            return [_outcome(topic, told.get(topic.name)) for topic in topics]

        return self._channel.send(asked, TIMEOUT_S).then(results)

    def _creatable(self, one: NewTopic) -> CreatableTopic:
        return CreatableTopic(
            name=one.name,
            num_partitions=self._num_partitions if one.num_partitions < 0 else one.num_partitions,
            replication_factor=self._replication_factor if one.replication_factor < 0 else one.replication_factor,
            configs=[CreatableTopicConfig(name=name, value=value) for name, value in (one.configs or {}).items()],
        )


def _outcome(topic: NewTopic, told: CreatableTopicResult | None) -> Created:
    if told is None:
        return KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR)
    return topic if told.error_code == ErrorCode.NONE else _error(told.error_code, told.error_message or "")


def _in_envelope(request: CreateTopicsRequest, client: RequestContext) -> EnvelopeRequest:
    header = RequestHeader(ApiKey.CREATE_TOPICS, _VERSION, 0, client.client_id)
    return EnvelopeRequest(
        request_data=encode_request_header(header) + encode(request, _VERSION),
        request_principal=principal_data(client.principal, client.by_token),
        client_host_address=ip_address(client.client_host.partition("%")[0]).packed,
    )


def _out_of_envelope(answer: EnvelopeResponse) -> Answer:
    data = answer.response_data
    if answer.error_code != ErrorCode.NONE or data is None:
        return _error(answer.error_code or ErrorCode.UNKNOWN_SERVER_ERROR, "the controller cannot read the request")
    try:
        _correlation_id, begin = decode_response_header(data, ApiKey.CREATE_TOPICS, _VERSION)
        return decode(CreateTopicsResponse, data, _VERSION, begin)[0]
    except DecodeError as bad:
        return KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, f"the controller's answer cannot be read: {bad}")


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
