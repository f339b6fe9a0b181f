"""The hand-tuned Produce and Fetch responses are the same bytes as the compiled codec's, and usual Produce requests are
read as it reads them."""

from typing import NamedTuple
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from odradek.protocol.hot.fetch import FIRST_BY_ID as FETCH_BY_ID
from odradek.protocol.hot.fetch import FetchResult, encode_fetch_response
from odradek.protocol.hot.produce import FIRST_BY_ID as PRODUCE_BY_ID
from odradek.protocol.hot.produce import ProduceResult, encode_produce_response
from odradek.protocol.hot.usual_produce import FIRST_USUAL, encode_usual_answer, read_usual_produce
from odradek.protocol.hot.wire import NodeEndpoint, TopicRef
from odradek.protocol.messages import fetch, produce
from odradek.protocol.registry import decode, encode

int16s = st.integers(-(2**15), 2**15 - 1)
int32s = st.integers(-(2**31), 2**31 - 1)
int64s = st.integers(-(2**63), 2**63 - 1)
names = st.text(st.characters(codec="utf-8"), max_size=200)
messages = st.none() | st.text(st.characters(codec="utf-8"), max_size=200)
endpoints = st.builds(NodeEndpoint, int32s, names, int32s, messages)
HEAD = b"head"


class Bytes(NamedTuple):
    """Stands for a file region."""

    data: bytes

    @property
    def length(self) -> int:
        return len(self.data)


produce_results = st.builds(
    ProduceResult,
    int32s,
    int16s,
    int64s,
    int64s,
    int64s,
    st.lists(st.tuples(int32s, messages), max_size=3).map(tuple),
    messages,
    st.none() | st.tuples(int32s, int32s),
)
fetch_results = st.builds(
    FetchResult,
    int32s,
    int16s,
    int64s,
    int64s,
    int64s,
    st.none() | st.builds(Bytes, st.binary(min_size=1, max_size=300)),
    st.none() | st.lists(st.tuples(int64s, int64s), max_size=3),
    st.none() | st.tuples(int32s, int32s),
    st.none(),
    int32s,
)


def refs(by_id: bool) -> st.SearchStrategy[TopicRef]:
    return st.uuids() if by_id else names


@given(st.data(), st.integers(0, 13))
def test_produce_responses_equal_the_compiled_ones(data: st.DataObject, version: int) -> None:
    """Every field of every version, errors, messages, leaders and endpoints included."""
    by_id = version >= PRODUCE_BY_ID
    topics = data.draw(st.lists(st.tuples(refs(by_id), st.lists(produce_results, max_size=3)), max_size=3))
    nodes = tuple(data.draw(st.lists(endpoints, max_size=2))) if version >= 10 else ()
    compiled = produce.ProduceResponse(
        responses=[
            produce.TopicProduceResponse(
                name=ref if isinstance(ref, str) else "",
                topic_id=ref if isinstance(ref, UUID) else UUID(int=0),
                partition_responses=[_compiled_produce(result, version) for result in results],
            )
            for ref, results in topics
        ],
        node_endpoints=[
            produce.NodeEndpoint(node_id=node.node_id, host=node.host, port=node.port, rack=node.rack) for node in nodes
        ],
    )
    assert encode_produce_response(HEAD, version, topics, nodes) == HEAD + encode(compiled, version)


def test_brokers_are_told_of_with_a_partition_that_has_nothing_else_to_say() -> None:
    """The short way for one accepted batch leaves nothing out."""
    accepted, node = ProduceResult(0, 0), NodeEndpoint(1, "b", 9092, None)
    compiled = produce.ProduceResponse(
        responses=[
            produce.TopicProduceResponse(name="t", partition_responses=[_compiled_produce(accepted, PRODUCE_BY_ID - 1)])
        ],
        node_endpoints=[produce.NodeEndpoint(node_id=1, host="b", port=9092, rack=None)],
    )
    encoded = encode_produce_response(HEAD, PRODUCE_BY_ID - 1, [("t", [accepted])], (node,))
    assert encoded == HEAD + encode(compiled, PRODUCE_BY_ID - 1)


def _compiled_produce(result: ProduceResult, version: int) -> produce.PartitionProduceResponse:
    compiled = produce.PartitionProduceResponse(
        index=result.partition,
        error_code=result.error_code,
        base_offset=result.base_offset,
        log_append_time_ms=result.log_append_time_ms,
        log_start_offset=result.log_start_offset,
        record_errors=[
            produce.BatchIndexAndErrorMessage(batch_index=index, batch_index_error_message=message)
            for index, message in result.record_errors
        ],
        error_message=result.error_message,
    )
    if result.leader not in (None, (-1, -1)) and version >= 10:
        assert result.leader is not None
        compiled.current_leader = produce.LeaderIdAndEpoch(leader_id=result.leader[0], leader_epoch=result.leader[1])
    return compiled


@given(st.data(), st.integers(0, 18), int16s, int32s)
def test_fetch_responses_equal_the_compiled_ones(
    data: st.DataObject, version: int, error_code: int, session_id: int
) -> None:
    """The pieces, put together, are the compiled response; every record region stands alone."""
    by_id = version >= FETCH_BY_ID
    topics = data.draw(st.lists(st.tuples(refs(by_id), st.lists(fetch_results, max_size=3)), max_size=3))
    nodes = tuple(data.draw(st.lists(endpoints, max_size=2))) if version >= 16 else ()
    compiled = fetch.FetchResponse(
        error_code=error_code,
        session_id=session_id,
        responses=[
            fetch.FetchableTopicResponse(
                topic=ref if isinstance(ref, str) else "",
                topic_id=ref if isinstance(ref, UUID) else UUID(int=0),
                partitions=[_compiled_fetch(result, version) for result in results],
            )
            for ref, results in topics
        ],
        node_endpoints=[
            fetch.NodeEndpoint(node_id=node.node_id, host=node.host, port=node.port, rack=node.rack) for node in nodes
        ],
    )
    pieces = encode_fetch_response(HEAD, version, topics, session_id, error_code, nodes)
    joined = b"".join(
        piece.data if isinstance(piece, Bytes) else piece for piece in pieces if isinstance(piece, (bytes, Bytes))
    )
    assert joined == HEAD + encode(compiled, version)


def _compiled_fetch(result: FetchResult, version: int) -> fetch.PartitionData:
    compiled = fetch.PartitionData(
        partition_index=result.partition,
        error_code=result.error_code,
        high_watermark=result.high_watermark,
        last_stable_offset=result.last_stable_offset,
        log_start_offset=result.log_start_offset,
        aborted_transactions=None
        if result.aborted is None
        else [
            fetch.AbortedTransaction(producer_id=producer_id, first_offset=offset)
            for producer_id, offset in result.aborted
        ],
        preferred_read_replica=result.preferred_read_replica,
        records=result.records.data if isinstance(result.records, Bytes) else b"",
    )
    if result.leader not in (None, (-1, -1)) and version >= 12:
        assert result.leader is not None
        compiled.current_leader = fetch.LeaderIdAndEpoch(leader_id=result.leader[0], leader_epoch=result.leader[1])
    return compiled


@given(st.data(), st.integers(FIRST_USUAL, 13), int16s, int32s, int32s, st.none() | st.binary(max_size=20_000))
def test_usual_produce_requests_are_read_as_the_compiled_codec_reads_them(
    data: st.DataObject, version: int, acks: int, timeout_ms: int, partition: int, records: bytes | None
) -> None:
    """One batch for one partition is found with all that is said of it; null in place of records is not usual."""
    topic = data.draw(refs(version >= PRODUCE_BY_ID))
    request = _produce_request(topic, acks, timeout_ms, partition, records)
    frame = memoryview(b"header" + encode(request, version))
    asked = read_usual_produce(frame, version, 6)
    if records is None or (isinstance(topic, str) and not 0 < len(topic.encode()) < 0x7F):
        assert asked is None
    else:
        assert asked is not None
        named = topic.bytes if isinstance(topic, UUID) else bytes((len(topic.encode()) + 1,)) + topic.encode()
        assert tuple(asked) == (acks, timeout_ms, topic, partition, records, named)


@given(st.data(), st.integers(FIRST_USUAL, 13))
def test_a_produce_request_of_any_form_is_read_as_the_compiled_codec_does_or_left_to_it(
    data: st.DataObject, version: int
) -> None:
    """Whatever bytes come: what is taken for a usual request is one, and all of it."""
    topic = data.draw(refs(version >= PRODUCE_BY_ID))
    raw = bytearray(encode(_produce_request(topic, -1, 1000, 0, data.draw(st.binary(max_size=200))), version))
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(raw) - 1))
        raw[at : at + data.draw(st.integers(0, 2))] = data.draw(st.binary(max_size=2))
        if not raw:
            break
    frame = memoryview(bytes(raw))
    asked = read_usual_produce(frame, version, 0)
    if asked is not None:
        request, end = decode(produce.ProduceRequest, frame, version)
        [wanted] = request.topic_data
        [batch] = wanted.partition_data
        assert (end, request.transactional_id) == (len(frame), None)
        assert (request.acks, request.timeout_ms, batch.index) == (asked.acks, asked.timeout_ms, asked.partition)
        assert (wanted.topic_id if version >= PRODUCE_BY_ID else wanted.name) == asked.topic
        assert batch.records == asked.records


@given(st.data(), st.integers(FIRST_USUAL, 13), int32s, int64s, int64s, int64s)
def test_usual_answers_are_those_of_every_produce_request(
    data: st.DataObject, version: int, partition: int, offset: int, time_ms: int, start: int
) -> None:
    """What is answered without a decoded request is what would be answered with one."""
    short = names.filter(lambda name: 0 < len(name.encode()) < 127)
    topic: TopicRef = data.draw(st.uuids()) if version >= PRODUCE_BY_ID else data.draw(short)
    frame = memoryview(encode(_produce_request(topic, 1, 0, partition, b"batch"), version))
    asked = read_usual_produce(frame, version, 0)
    assert asked is not None
    result = ProduceResult(partition, 0, offset, time_ms, start)
    answer = encode_usual_answer(HEAD, asked.named, asked.partition, offset, time_ms, start)
    assert answer == encode_produce_response(HEAD, version, [(topic, [result])])


def _produce_request(
    topic: TopicRef, acks: int, timeout_ms: int, partition: int, records: bytes | None
) -> produce.ProduceRequest:
    batch = produce.PartitionProduceData(index=partition, records=None if records is None else memoryview(records))
    name, topic_id = (topic, UUID(int=0)) if isinstance(topic, str) else ("", topic)
    wanted = produce.TopicProduceData(name=name, topic_id=topic_id, partition_data=[batch])
    return produce.ProduceRequest(acks=acks, timeout_ms=timeout_ms, topic_data=[wanted])
