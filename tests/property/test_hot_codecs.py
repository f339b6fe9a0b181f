"""The hand-tuned Produce and Fetch responses are the same bytes as the compiled codec's."""

from typing import NamedTuple
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from odradek.protocol.hot.fetch import FIRST_BY_ID as FETCH_BY_ID
from odradek.protocol.hot.fetch import FetchResult, encode_fetch_response
from odradek.protocol.hot.produce import FIRST_BY_ID as PRODUCE_BY_ID
from odradek.protocol.hot.produce import ProduceResult, encode_produce_response
from odradek.protocol.hot.wire import NodeEndpoint, TopicRef
from odradek.protocol.messages import fetch, produce
from odradek.protocol.registry import encode

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
