"""Vote, BeginQuorumEpoch and EndQuorumEpoch: what the only voter of a quorum, which always leads, says to others.

Owns: the refusals. Whoever stands for election, says that it leads, or resigns, is no voter of this quorum: it is told
who leads, and nothing changes here, whatever epoch it names. Source: KIP-595, KIP-853, `KafkaRaftClient`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol
from uuid import UUID

from odradek.broker.raft.leader import QuorumLeader
from odradek.broker.runtime.context import RequestContext
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages import begin_quorum_epoch as begin
from odradek.protocol.messages import end_quorum_epoch as end
from odradek.protocol.messages import vote as voting
from odradek.protocol.uuids import ZERO_UUID
from odradek.storage.names import METADATA_TOPIC

FIRST_WITH_ENDPOINTS = 1
NOBODY = -1


class _NamedTopic(Protocol):
    topic_name: str

    @property
    def partitions(self) -> Sequence[_NumberedPartition]: ...


class _NumberedPartition(Protocol):
    partition_index: int


class ElectionHandlers:
    """Answers what voters ask each other."""

    def __init__(self, leader: QuorumLeader) -> None:
        self._leader = leader

    def vote(self, context: RequestContext, request: voting.VoteRequest) -> voting.VoteResponse:
        """Refuse the vote."""
        code = self._whole(request.cluster_id, request.topics)
        if code:
            return voting.VoteResponse(error_code=code)
        candidate = request.topics[0].partitions[0]
        result = voting.VoteResult(
            error_code=self._check_vote(context.api_version, request.voter_id, candidate),
            leader_id=self._leader.node_id,
            leader_epoch=self._leader.epoch,
        )
        response = voting.VoteResponse(
            topics=[voting.VoteResponseTopic(topic_name=METADATA_TOPIC, partitions=[result])],
        )
        if context.api_version >= FIRST_WITH_ENDPOINTS:
            host, port = self._leader.advertised_for(context)
            response.node_endpoints = [voting.VoteNodeEndpoint(node_id=self._leader.node_id, host=host, port=port)]
        return response

    def begin_quorum_epoch(
        self, context: RequestContext, request: begin.BeginQuorumEpochRequest
    ) -> begin.BeginQuorumEpochResponse:
        """Refuse another leader."""
        code = self._whole(request.cluster_id, request.topics)
        if code:
            return begin.BeginQuorumEpochResponse(error_code=code)
        told = request.topics[0].partitions[0]
        if told.leader_epoch >= self._leader.epoch and not self._is_me(request.voter_id, told.voter_directory_id):
            code = ErrorCode.INVALID_VOTER_KEY
        else:
            code = self._check_leader(told.leader_id, told.leader_epoch)
        result = begin.BeginningEpochResult(
            error_code=code, leader_id=self._leader.node_id, leader_epoch=self._leader.epoch
        )
        topic = begin.BeginQuorumEpochTopicResult(topic_name=METADATA_TOPIC, partitions=[result])
        response = begin.BeginQuorumEpochResponse(topics=[topic])
        if context.api_version >= FIRST_WITH_ENDPOINTS:
            host, port = self._leader.advertised_for(context)
            response.node_endpoints = [
                begin.BeginQuorumEpochNodeEndpoint(node_id=self._leader.node_id, host=host, port=port)
            ]
        return response

    def end_quorum_epoch(
        self, context: RequestContext, request: end.EndQuorumEpochRequest
    ) -> end.EndQuorumEpochResponse:
        """Refuse to follow another leader."""
        code = self._whole(request.cluster_id, request.topics)
        if code:
            return end.EndQuorumEpochResponse(error_code=code)
        told = request.topics[0].partitions[0]
        result = end.EndingEpochResult(
            error_code=self._check_leader(told.leader_id, told.leader_epoch),
            leader_id=self._leader.node_id,
            leader_epoch=self._leader.epoch,
        )
        topic = end.EndQuorumEpochTopicResult(topic_name=METADATA_TOPIC, partitions=[result])
        response = end.EndQuorumEpochResponse(topics=[topic])
        if context.api_version >= FIRST_WITH_ENDPOINTS:
            host, port = self._leader.advertised_for(context)
            response.node_endpoints = [
                end.EndQuorumEpochNodeEndpoint(node_id=self._leader.node_id, host=host, port=port)
            ]
        return response

    def _whole(self, cluster_id: str | None, topics: Sequence[_NamedTopic]) -> ErrorCode:
        """Return why a request is refused as a whole, NONE if it is not."""
        if self._leader.is_other_cluster(cluster_id):
            return ErrorCode.INCONSISTENT_CLUSTER_ID
        if len(topics) != 1 or topics[0].topic_name != METADATA_TOPIC:
            return ErrorCode.INVALID_REQUEST
        partitions = topics[0].partitions
        is_ours = len(partitions) == 1 and partitions[0].partition_index == 0
        return ErrorCode.NONE if is_ours else ErrorCode.INVALID_REQUEST

    def _check_vote(self, version: int, voter_id: int, candidate: voting.CandidateState) -> ErrorCode:
        epoch, is_new = candidate.replica_epoch, not candidate.pre_vote
        if min(candidate.last_offset, candidate.last_offset_epoch) < 0:
            return ErrorCode.INVALID_REQUEST
        if candidate.last_offset_epoch > epoch or (is_new and candidate.last_offset_epoch == epoch):
            return ErrorCode.INVALID_REQUEST
        if epoch < self._leader.epoch:
            return ErrorCode.FENCED_LEADER_EPOCH
        if candidate.replica_id < 0:
            return ErrorCode.INVALID_REQUEST
        if version >= 1 and not self._is_me(voter_id, candidate.voter_directory_id):
            return ErrorCode.INVALID_VOTER_KEY
        return ErrorCode.NONE

    def _check_leader(self, leader_id: int, epoch: int) -> ErrorCode:
        if epoch < self._leader.epoch:
            return ErrorCode.FENCED_LEADER_EPOCH
        is_ours = leader_id == self._leader.node_id and epoch == self._leader.epoch
        return ErrorCode.NONE if is_ours else ErrorCode.INVALID_REQUEST

    def _is_me(self, voter_id: int, directory_id: UUID) -> bool:
        """Whether a request is meant for this voter; what it does not say is not compared."""
        return voter_id in (NOBODY, self._leader.node_id) and directory_id in (ZERO_UUID, self._leader.directory_id)
