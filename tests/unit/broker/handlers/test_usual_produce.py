"""Usual Produce requests: answered without being decoded, exactly as they are when they are decoded."""

from collections.abc import Callable, Iterable
from typing import Any
from uuid import UUID

import pytest

from odradek.broker.dispatch.dispatcher import Dispatcher
from odradek.broker.handlers.converting import Converter
from odradek.broker.handlers.produce import ProduceHandler
from odradek.broker.handlers.usual_produce import usual_request
from odradek.broker.runtime.context import RequestContext
from odradek.broker.runtime.deferred import Deferred
from odradek.broker.runtime.responses import Response
from odradek.protocol.codec import Message
from odradek.protocol.hot.produce import FIRST_BY_ID
from odradek.protocol.hot.usual_produce import UsualProduce
from odradek.protocol.messages.produce import ProduceRequest
from odradek.protocol.records.batch import ATTRIBUTES_AT, CRC_AT, MAGIC_AT, Codec
from odradek.protocol.records.building import BatchFields
from odradek.protocol.registry import Api, ApiKey, encode
from tests.support.logs import NOW_MS, a_batch, read_all
from tests.support.partitions import Node, Reply, context
from tests.unit.broker.handlers.produce_support import batch, idempotent, produce_handler, request, result

HEADER = b"\0\0"
DAY_MS = 24 * 3_600_000


class AlwaysDecoded:
    """A Produce handler that is never asked without a decoded request."""

    def __init__(self, handler: ProduceHandler) -> None:
        self._handler = handler

    def __call__(self, context: RequestContext, request: Any, head: bytes) -> Response | Deferred[Response]:
        return self._handler(context, request, head)


def frame_of(asked: Message, version: int) -> memoryview:
    """Return a whole frame, which may be written to, as one that arrived."""
    header = HEADER + version.to_bytes(2, "big") + b"\0\0\0\7" + b"\0\6client" + b"\0"
    return memoryview(bytearray(header + encode(asked, version)))


def node_with(**configs: str) -> Node:
    """Return a node with a topic `t` of one partition and one of two."""
    node = Node()
    node.create("t", 1, **configs)
    node.create("__consumer_offsets", 1)
    return node


class Twins:
    """The same node twice: one answers as it does, the other decodes every request."""

    def __init__(self, make: Callable[[], Node], version: int = 9) -> None:
        self.version = version
        self.nodes = (make(), make())
        handlers = [produce_handler(node) for node in self.nodes]
        self.usual = handlers[0].usual
        quick: list[Callable[[], Any]] = [lambda: handlers[0], lambda: AlwaysDecoded(handlers[1])]
        self.dispatchers = [Dispatcher({ApiKey.PRODUCE: find}, {}) for find in quick]

    def topic(self, name: str) -> str | UUID:
        """Return what a request of the version calls the topic."""
        ids = {node.image.topics_by_name[name].topic_id for node in self.nodes}
        assert len(ids) == 1, "they are twins"
        return ids.pop() if self.version >= FIRST_BY_ID else name

    def ask(self, asked: ProduceRequest) -> tuple[Reply, Reply]:
        """Give both the request, and return both answers."""
        frames = [frame_of(asked, self.version) for _ in self.nodes]
        first, second = (
            Reply(dispatcher.handle(context(self.version), frame))
            for dispatcher, frame in zip(self.dispatchers, frames, strict=True)
        )
        return first, second

    def check(self, asked: ProduceRequest) -> None:
        """Check that both answer the same, or that both wait, and then have the same in their logs."""
        first, second = self.ask(asked)
        assert first.answers == second.answers
        logs = [read_all(node.table.get("t", 0).log) for node in self.nodes]
        assert logs[0] == logs[1]


def damaged(at: int, records: memoryview | None = None) -> memoryview:
    """Return a batch with one bit of the byte at that place turned round."""
    raw = bytearray(records or batch())
    raw[at] ^= 1
    return memoryview(raw)


def compressed(codec: Codec) -> memoryview:
    """Return a batch that its client has compressed."""
    return a_batch((b"value" * 50,), NOW_MS, BatchFields(codec=codec))


BATCHES: dict[str, Callable[[], memoryview | None]] = {
    "one record": batch,
    "several": lambda: batch(b"a", b"b", b"c"),
    "zstd": lambda: compressed(Codec.ZSTD),
    "unknown codec": lambda: damaged(ATTRIBUTES_AT + 1, compressed(Codec.LZ4)),
    "damaged": lambda: damaged(CRC_AT),
    "old": lambda: damaged(MAGIC_AT),
    "idempotent": lambda: idempotent(0),
    "out of order": lambda: idempotent(5, epoch=0),
    "from the future": lambda: batch(timestamp=NOW_MS + 30 * DAY_MS),
    "two batches": lambda: memoryview(bytearray(bytes(batch()) * 2)),
    "cut": lambda: batch()[:-1],
    "nothing": lambda: memoryview(b""),
    "null": lambda: None,
}


@pytest.mark.parametrize("kind", BATCHES)
@pytest.mark.parametrize("version", [9, 12, 13])
def test_every_batch_is_answered_as_when_the_request_is_decoded(version: int, kind: str) -> None:
    """What is refused, stored or told does not depend on how the request was read; twice, for what producers repeat."""
    twins = Twins(lambda: node_with(message_timestamp_after_max_ms=str(DAY_MS)), version)
    for acks in (-1, 1, 2, -1):
        twins.check(request((twins.topic("t"), 0, BATCHES[kind]()), acks=acks))


@pytest.mark.parametrize(
    "configs",
    [{"message_timestamp_type": "LogAppendTime"}, {"compression_type": "gzip"}, {"flush_messages": "1"}],
    ids=["append time", "compression", "flush"],
)
def test_configs_of_the_topic_count_all_the_same(configs: dict[str, str]) -> None:
    """Batches are changed as the topic wants, refused for their sequence after that, and acknowledged when they are
    on the disk."""
    twins = Twins(lambda: node_with(**configs))
    for records in (batch(), idempotent(0), idempotent(7), batch(b"a", b"b")):
        twins.check(request(("t", 0, records)))
    for node in twins.nodes:
        node.flusher.finish()


def test_an_answer_that_waits_for_the_disk_comes_when_it_is_there() -> None:
    """With flush.messages the usual request waits like any other."""
    twins = Twins(lambda: node_with(flush_messages="1"))
    replies = twins.ask(request(("t", 0, batch())))
    assert all(reply.is_waiting for reply in replies)
    for node in twins.nodes:
        node.flusher.finish()
        node.loop.settle()
    assert replies[0].data == replies[1].data


@pytest.mark.parametrize(
    "asked",
    [
        lambda: request(("none", 0, batch())),
        lambda: request(("t", 7, batch())),
        lambda: request(("__consumer_offsets", 0, batch())),
        lambda: request(("t", 0, batch()), transactional_id="id"),
        lambda: request(("t", 0, batch()), acks=0),
        lambda: request(
            (
                "t",
                0,
                a_batch(
                    (b"v",), NOW_MS, BatchFields(producer_id=1, producer_epoch=0, base_sequence=0, transactional=True)
                ),
            )
        ),
        lambda: request(("t", 0, batch()), ("__consumer_offsets", 0, batch())),
        request,
    ],
    ids=["unknown", "no partition", "internal", "transactional id", "acks 0", "transactional", "two topics", "empty"],
)
def test_what_is_not_usual_is_left_to_the_decoded_way(asked: Callable[[], ProduceRequest]) -> None:
    """Nothing was done with it then, and the answer is the one that it always was."""
    twins = Twins(node_with)
    frame = frame_of(asked(), twins.version)
    assert twins.usual(context(twins.version), frame, 17, b"") is None
    twins.check(asked())


def test_a_full_disk_is_told_of_once() -> None:
    """A write that fails is not tried again with a batch that has got its offsets already."""
    twins = Twins(node_with)
    for node in twins.nodes:
        node.files.fail("write", path_part="/t-0/")
    twins.check(request(("t", 0, batch())))


class SomeGate:
    """Knows that some topics may be written to, and otherwise counts who asks."""

    def __init__(self, *known: str) -> None:
        self.known = known
        self.asked = 0

    def admit(self, _context: RequestContext, _api: Api, _request: Message) -> None:
        self.asked += 1

    def may_write(self, _context: RequestContext, topic: object) -> bool:
        return topic in self.known


def test_who_may_is_asked_only_where_it_is_not_known() -> None:
    """A request to a topic that the client is known to write to is not decoded for the gate; others are."""
    node, gate = node_with(), SomeGate("t")
    node.create("other", 1)
    handler = produce_handler(node)
    dispatcher = Dispatcher({ApiKey.PRODUCE: lambda: handler}, {}, gate)
    for topic in ("t", "other", "t"):
        reply = Reply(dispatcher.handle(context(9), frame_of(request((topic, 0, batch())), 9)))
        assert result(reply).error_code == 0
    assert gate.asked == 1


class Counter:
    """A `TrafficCounter` that keeps what it is told."""

    def __init__(self) -> None:
        self.told: list[tuple[str, object]] = []
        self.waited = 0

    def produced(self, request: ProduceRequest, topics: Iterable[Any]) -> None:
        self.told.append(("produced", [(ref, [result.error_code for result in results]) for ref, results in topics]))

    def appended(self, ref: object, records: memoryview) -> None:
        self.told.append(("appended", (ref, len(records))))

    def checked(self, name: str, records: memoryview, code: int = 0) -> None:
        raise AssertionError("nothing takes long here")

    def refused_late(self, code: int) -> None:
        raise AssertionError("nothing is refused late")

    def fetched(self, found: object) -> None:
        raise AssertionError("nobody fetches")

    fetched_by_follower = fetched


def test_who_counts_is_told_once() -> None:
    """A batch that was appended and one that was refused each count as one."""
    node, counter = node_with(), Counter()
    converter = Converter(node.loop, node.memory)
    handler = ProduceHandler(node.loop, node.table, node.clock, converter, node.memory, traffic=counter)
    dispatcher = Dispatcher({ApiKey.PRODUCE: lambda: handler}, {})
    size = len(batch())
    for records in (batch(), damaged(CRC_AT)):
        dispatcher.handle(context(9), frame_of(request(("t", 0, records)), 9))
    assert counter.told == [("appended", ("t", size)), ("produced", [("t", [2])])]


def test_a_usual_request_is_the_message_that_it_stands_for() -> None:
    """Named by name or by id."""
    records = batch()
    for topic in ("t", UUID(int=5)):
        asked = UsualProduce(1, 30, topic, 2, records, b"")
        assert usual_request(asked) == request((topic, 2, records), acks=1, timeout_ms=30)
