"""Who makes, moves, configures and deletes the topics of the simulated cluster, while everything else goes on."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from uuid import UUID

from odradek.broker.nodes.requests import NodeAddress
from odradek.protocol.codec import Message
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from odradek.protocol.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from odradek.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse, DeleteTopicState
from odradek.protocol.messages.elect_leaders import ElectLeadersRequest
from odradek.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from odradek.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from tests.simulation.clients import METADATA_VERSION, TOPIC, SimulatedClient

TIMEOUT_MS = 5000
TOPIC_RESOURCE = 2
SET = 0
GONE = frozenset({ErrorCode.NONE, ErrorCode.UNKNOWN_TOPIC_ID})
THERE = frozenset({ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS})


class Administrator(SimulatedClient):
    """Asks any broker. What must become of a wish is asked for until it has; other wishes may come to nothing."""

    def create(
        self, name: str, partitions: int, replicas: int, configs: Mapping[str, str], then: Callable[[], None]
    ) -> None:
        """Make a topic, however long it takes."""
        topic = CreatableTopic(
            name=name,
            num_partitions=partitions,
            replication_factor=replicas,
            configs=[CreatableTopicConfig(name=key, value=value) for key, value in configs.items()],
        )

        def answered(found: Message | None) -> None:
            if isinstance(found, CreateTopicsResponse) and found.topics[0].error_code in THERE:
                then()
            else:
                self.later(lambda: self.create(name, partitions, replicas, configs, then))

        self._ask_any(CreateTopicsRequest(topics=[topic], timeout_ms=TIMEOUT_MS), 5, answered)

    def delete(self, name: str, then: Callable[[], None]) -> None:
        """Delete the topic that has this name now, however long it takes.

        By its id: a request that was given up may arrive after the next topic of that name was made.
        """

        def answered(found: Message | None) -> None:
            if isinstance(found, MetadataResponse) and found.topics and found.topics[0].error_code == ErrorCode.NONE:
                self._delete(found.topics[0].topic_id, then)
            else:
                self.later(lambda: self.delete(name, then))

        request = MetadataRequest(topics=[MetadataRequestTopic(name=name)], allow_auto_topic_creation=False)
        self._ask_any(request, METADATA_VERSION, answered)

    def _delete(self, topic_id: UUID, then: Callable[[], None]) -> None:
        def answered(found: Message | None) -> None:
            if isinstance(found, DeleteTopicsResponse) and found.responses[0].error_code in GONE:
                then()
            else:
                self.later(lambda: self._delete(topic_id, then))

        request = DeleteTopicsRequest(topics=[DeleteTopicState(topic_id=topic_id)], timeout_ms=TIMEOUT_MS)
        self._ask_any(request, 6, answered)

    def reassign(self, partition: int, replicas: Sequence[int] | None) -> None:
        """Wish a partition on other brokers; None: that it stays where it was."""
        part = ReassignablePartition(partition_index=partition, replicas=None if replicas is None else list(replicas))
        topics = [ReassignableTopic(name=TOPIC, partitions=[part])]
        self._ask_any(AlterPartitionReassignmentsRequest(timeout_ms=TIMEOUT_MS, topics=topics), 0)

    def elect(self) -> None:
        """Wish that the preferred replicas lead."""
        self._ask_any(ElectLeadersRequest(election_type=0, topic_partitions=None, timeout_ms=TIMEOUT_MS), 2)

    def configure(self, key: str, value: str) -> None:
        """Wish the topic configured in another way."""
        config = AlterableConfig(name=key, config_operation=SET, value=value)
        resource = AlterConfigsResource(resource_type=TOPIC_RESOURCE, resource_name=TOPIC, configs=[config])
        self._ask_any(IncrementalAlterConfigsRequest(resources=[resource]), 1)

    def _ask_any(
        self, request: Message, version: int, then: Callable[[Message | None], None] = lambda _found: None
    ) -> None:
        address: NodeAddress = self.any_node()
        self.ask(address, request, version, then)
