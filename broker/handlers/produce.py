"""Produce (api key 0): append batches to the partitions this broker leads.

Hot path: one plain call from frame to answer; the records stay views of the frame and are written from there.

Versions 0 to 2 carry message sets of before Kafka 0.11, which `old_produce` makes into batches first.

Which batch may go to which partition is said by `produce_admission`. Answers: acks=0 none (an error closes the
connection, as Kafka does); the others once the data is as safe as they ask for. With one replica that is at once, or
after the fsync that the topic asks for; the connection parks meanwhile (`produce_waiting`). Batches whose check takes
long are checked on a thread (`late_appends`), and the connection parks, too. So it does while the coordinator of a
transaction is asked whether a partition is part of it (`transactional_produce`).
"""

from __future__ import annotations

from asyncio import AbstractEventLoop
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from odradek.broker.handlers.converting import Converter, in_task
from odradek.broker.handlers.counting import TrafficCounter
from odradek.broker.handlers.late_appends import LateAppends
from odradek.broker.handlers.late_checks import EFFORT_OF_A_REQUEST, LateBatch
from odradek.broker.handlers.leader_hints import LeaderHints
from odradek.broker.handlers.old_produce import MessageSets
from odradek.broker.handlers.produce_admission import Admit, admit_batch, admit_converted, admit_verified
from odradek.broker.handlers.produce_refusals import (
    IN_TRANSACTION,
    close_on_error,
    refusal_of,
    refuse_all,
    unknown_topic,
)
from odradek.broker.handlers.produce_results import Topics, accepted, refused, refused_by_log
from odradek.broker.handlers.produce_waiting import ACKS_NONE, Appended, waits, when_safe
from odradek.broker.handlers.usual_produce import UsualProduceHandler, usual_request
from odradek.broker.partitions.partition import Partition
from odradek.broker.partitions.table import PartitionTable
from odradek.broker.partitions.topic_partitions import TopicPartitions
from odradek.broker.runtime.clock import Clock
from odradek.broker.runtime.context import RequestContext
from odradek.broker.runtime.deferred import Deferred
from odradek.broker.runtime.request_memory import RequestMemory
from odradek.broker.runtime.responses import CloseConnectionError, Response
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.hot.produce import FIRST_BY_ID, ProduceResult, encode_produce_response
from odradek.protocol.hot.usual_produce import UsualProduce
from odradek.protocol.hot.wire import TopicRef
from odradek.protocol.messages.produce import ProduceRequest
from odradek.storage.log.log_values import AppendInfo
from odradek.storage.producers.producer_state import AppendOrigin
from odradek.storage.validation import Effort, TakesLonger

if TYPE_CHECKING:  # most producers need none of it
    from odradek.broker.handlers.transactional_produce import Verifications, Verified

FIRST_OF_BATCHES = 3


class ProduceHandler:
    """Answers Produce: appends each batch to its partition, and waits where the acknowledgement has to."""

    def __init__(
        self,
        loop: AbstractEventLoop,
        partitions: PartitionTable,
        clock: Clock,
        converter: Converter,
        memory: RequestMemory,
        verifications: Callable[[], Verifications] | None = None,
        hints: LeaderHints | None = None,
        traffic: TrafficCounter | None = None,
    ) -> None:
        """`verifications` gives what verifies transactions when that is first needed; without, they are only written to
        where they are open already. Without `hints`, clients are not told who leads what is led elsewhere; `traffic`
        counts what is produced."""
        self._loop = loop
        self._partitions = partitions
        self._clock = clock
        self._effort = Effort(EFFORT_OF_A_REQUEST)
        self._late_appends = LateAppends(loop, clock, converter, memory, traffic)
        self._message_sets = MessageSets(partitions, clock, converter, memory)
        self._verifications = verifications
        self._hints = hints
        self._traffic = traffic
        self.usual = UsualProduceHandler(partitions, clock, self._settle, traffic)

    def __call__(
        self,
        context: RequestContext,
        request: ProduceRequest,
        head: bytes,
        admit: Admit | None = None,
        verified: Verified | None = None,
    ) -> Response | Deferred[Response]:
        version = context.api_version
        if admit is None:
            if version < FIRST_OF_BATCHES:
                return self._convert_first(context, request, head)
            admit = admit_batch
        acks = request.acks
        guards = None
        refusal = refusal_of(request, version, self._partitions)
        if refusal is not None:
            if refusal is not IN_TRANSACTION:
                return _refuse(context, request, head, refusal)
            if verified is None and self._verifications is not None:
                return self._verify_first(self._verifications(), context, request, head)
            if verified is not None:
                guards, admit = verified.guards, admit_verified(verified)
        now_ms = self._clock.now_ms()
        topics: Topics = []
        appended: list[Appended] = []
        late: list[LateBatch] = []
        effort = self._effort
        effort.steps = EFFORT_OF_A_REQUEST
        for wanted in request.topic_data:
            ref: TopicRef = wanted.topic_id if version >= FIRST_BY_ID else wanted.name
            topic = self._partitions.find(ref)
            results: list[ProduceResult] = []
            for data in wanted.partition_data:
                if topic is None:
                    results.append(ProduceResult(data.index, unknown_topic(version)))
                    continue
                try:
                    partition, records = admit(context, topic, data, acks)
                except KafkaError as error:
                    results.append(refused(data.index, error, context, topic))
                    continue
                try:
                    if late and any(batch.partition is partition for batch in late):
                        raise TakesLonger  # what comes later for the same partition stays behind
                    guard = guards.get(partition) if guards is not None else None
                    info = partition.append(records, now_ms, AppendOrigin.CLIENT, effort, guard)
                except TakesLonger:
                    guard = guards.get(partition) if guards is not None else None
                    late.append(LateBatch(topic, partition, records, results, len(results), guard))
                    results.append(ProduceResult(data.index, ErrorCode.REQUEST_TIMED_OUT))
                    continue
                except KafkaError as error:
                    results.append(refused_by_log(data.index, error, context, topic, partition))
                    continue
                results.append(accepted(data.index, info))
                if partition.high_watermark <= info.last_offset and waits(partition, info.last_offset, acks):
                    appended.append(Appended(partition, info.last_offset + 1, results, len(results) - 1))
            if results:  # of a topic without partitions nothing is told
                topics.append((ref, results))
        if self._traffic is not None:
            self._traffic.produced(request, topics)
        if late:
            return self._append_late(context, request, head, topics, appended, late)
        return self._finish(context, request, head, topics, appended)

    def _settle(
        self,
        context: RequestContext,
        asked: UsualProduce,
        head: bytes,
        topic: TopicPartitions,
        partition: Partition,
        outcome: AppendInfo | KafkaError,
    ) -> Response | Deferred[Response]:
        """Answer a usual request whose batch was refused, or was appended and is not committed yet."""
        results: list[ProduceResult] = []
        topics: Topics = [(asked.topic, results)]
        appended: list[Appended] = []
        request = usual_request(asked)
        if isinstance(outcome, KafkaError):
            results.append(refused_by_log(asked.partition, outcome, context, topic, partition))
        else:
            results.append(accepted(asked.partition, outcome))
            appended.append(Appended(partition, outcome.last_offset + 1, results, 0))
        if self._traffic is not None:
            self._traffic.produced(request, topics)
        return self._finish(context, request, head, topics, appended)

    def _respond(self, context: RequestContext, head: bytes, topics: Topics) -> bytes:
        """The answer; clients of partitions that are led elsewhere are told where."""
        endpoints = self._hints.add_to_produce(context, topics) if self._hints is not None else ()
        return encode_produce_response(head, context.api_version, topics, endpoints)

    def _finish(
        self,
        context: RequestContext,
        request: ProduceRequest,
        head: bytes,
        topics: Topics,
        appended: list[Appended],
    ) -> Response | Deferred[Response]:
        """Answer when everything is appended or refused."""
        if request.acks == ACKS_NONE:
            close_on_error(topics)
            return None
        if appended:
            respond = partial(self._respond, context, head, topics)
            return when_safe(self._loop, request, appended, respond, self._traffic)
        return self._respond(context, head, topics)

    def _append_late(
        self,
        context: RequestContext,
        request: ProduceRequest,
        head: bytes,
        topics: Topics,
        appended: list[Appended],
        late: list[LateBatch],
    ) -> Response | Deferred[Response]:
        """Append the batches whose check takes longer once they are checked, one after the other, and answer then."""
        until = self._late_appends.keep(context, late)
        if until is None:
            return self._finish(context, request, head, topics, appended)

        async def append() -> Response:
            appended.extend(await self._late_appends.append(context, late, request.acks, until))
            outcome = self._finish(context, request, head, topics, appended)
            return await outcome if isinstance(outcome, Deferred) else outcome

        return in_task(self._loop, append(), is_kept=True)

    def _verify_first(
        self, verifications: Verifications, context: RequestContext, request: ProduceRequest, head: bytes
    ) -> Response | Deferred[Response]:
        """Append the batches of a transaction once its coordinator has said which of them belong to it."""
        try:
            outcome = verifications.verify(request, context.api_version)
        except KafkaError as refused_all:
            return _refuse(context, request, head, refused_all.code)
        if not isinstance(outcome, Deferred):
            return self(context, request, head, None, outcome)

        answer: Deferred[Response] = Deferred()

        async def append(verified: Verified) -> Response:
            try:
                produced = self(context, request, head, None, verified)
            finally:
                verifications.let_go(verified)
            return await produced if isinstance(produced, Deferred) else produced

        def arrived(verified: Verified) -> None:  # perhaps in the middle of a change to a partition
            in_task(self._loop, append(verified), is_kept=True).on_done(answer.resolve)

        outcome.on_done(arrived)
        return answer

    def _convert_first(
        self, context: RequestContext, request: ProduceRequest, head: bytes
    ) -> Response | Deferred[Response]:
        outcomes = self._message_sets.convert_now(request)
        if outcomes is not None:
            return self(context, request, head, admit_converted(outcomes))

        converting = self._message_sets.convert(request)

        async def append() -> Response:
            outcome = self(context, request, head, admit_converted(await converting))
            return await outcome if isinstance(outcome, Deferred) else outcome

        return in_task(self._loop, append(), is_kept=True)


def _refuse(context: RequestContext, request: ProduceRequest, head: bytes, code: ErrorCode) -> Response:
    """The answer to a request that is refused as a whole."""
    if request.acks == ACKS_NONE:
        raise CloseConnectionError(f"a produce with acks=0 is refused: {code.name}")
    return refuse_all(head, context.api_version, request, code)
