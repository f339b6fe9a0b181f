"""Fetch versions 0 to 3: what the log has, as messages that old clients read.

Looking for data and waiting for it is the business of `fetch`; here its regions become bytes, on the thread of
`converting`, which reads the files as well. For one answer no more than `CONVERTED_BYTES` of a log are converted: what
is left is for the next request.

Rules (Kafka's log behaviour, fetch, down-conversion): versions 0 and 1 get messages of version 0, 2 and 3 those of
version 1. Up to version 2 the limit of bytes is hard, and what is sent may end with a part of a message, by which a
client knows that its buffer is too small; version 3 has the first message whole. Control batches have no form that an
old client knows; where there is nothing else, the request waits on, instead of being answered with nothing at once.
"""

from __future__ import annotations

from asyncio import AbstractEventLoop
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import NamedTuple, cast

from odradek.broker.handlers.converting import Converter, in_task
from odradek.broker.partitions.delayed_operation import DelayedOperation, Watched
from odradek.broker.runtime.deferred import Deferred
from odradek.broker.runtime.logging import get_logger
from odradek.broker.runtime.responses import CloseConnectionError, FileRegion, Response
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.hot.fetch import FetchResult, encode_fetch_response
from odradek.protocol.hot.wire import TopicRef
from odradek.protocol.messages.fetch import FetchPartition
from odradek.protocol.records.batch import HEADER_SIZE_UP_TO_MAGIC, LEADER_EPOCH_AT, LENGTH_AT, LOG_OVERHEAD
from odradek.protocol.records.conversion import down_convert, whole_messages
from odradek.protocol.records.errors import DecompressionError, TooMuchData
from odradek.storage.files import OpenFile

log = get_logger("fetch")

FIRST_OF_BATCHES = 4
"""The first version whose clients read every format."""
FIRST_WHOLE = 3
"""The first version that has at least one message whole."""
CONVERTED_BYTES = 4 * 1024 * 1024
CONVERSION_BYTES = 256 * 1024 * 1024
"""Memory that converting so much may take: a batch may decompress to 128 MiB."""
LONGER_S = 5.0
"""How much longer than it asked a client may wait where there are only control batches to be passed over."""
_ENOUGH: Response = b""
"""Ends the waiting; the response is made from what was found then."""
_ANSWERED_AS_UNKNOWN = (DecompressionError, TooMuchData)


class OldFetchRead(NamedTuple):
    """What one look at the partitions gave."""

    topics: list[tuple[TopicRef, list[FetchResult]]]
    is_enough: bool
    is_cold: bool = False
    """Whether partitions are left out since only the disk has what is needed."""


Look = Callable[[], OldFetchRead]


class OldFetch:
    """One request of an old version."""

    def __init__(
        self,
        loop: AbstractEventLoop,
        converter: Converter,
        version: int,
        partitions: list[FetchPartition],
        look: Look,
        look_from_disk: Callable[[], Awaitable[OldFetchRead]],
    ) -> None:
        """`partitions` are those of the request, in its order; `look` reads their offsets each time it is called.

        `look_from_disk` does the same, and is for offsets that may be anywhere.
        """
        self._loop = loop
        self._converter = converter
        self._version = version
        self._partitions = partitions
        self._look = look
        self._look_from_disk = look_from_disk

    def answer(self, head: bytes, watched: Sequence[Watched], max_wait_ms: int) -> Deferred[Response]:
        """Start to work on the answer."""
        return in_task(self._loop, self._run(head, watched, max_wait_ms / 1000))

    async def _run(self, head: bytes, watched: Sequence[Watched], max_wait_s: float) -> Response:
        deadline = self._loop.time() + max_wait_s
        while True:
            found = await self._look_from_disk()
            left_s = deadline - self._loop.time()
            if not found.is_enough and left_s > 0:
                found = await self._wait(watched, left_s)
                if found.is_cold:
                    continue
            results = [result for _, of_topic in found.topics for result in of_topic]
            if not any(result.records for result in results):
                return b"".join(encode_fetch_response(head, self._version, found.topics))  # type: ignore[arg-type]
            converted = await self._converter.run(
                partial(_convert_all, self._version, results, self._partitions), CONVERSION_BYTES
            )
            has_news = any(outcome.data or outcome.error_code for outcome in converted)
            if has_news or not self._go_on(converted) or self._loop.time() >= deadline + LONGER_S:
                return _encoded(head, self._version, found, converted)

    def _go_on(self, converted: list[_Converted]) -> bool:
        """Let the partitions that gave no records go on behind what was looked at; return whether there are any."""
        gone_on = False
        for partition, outcome in zip(self._partitions, converted, strict=True):
            if outcome.next_offset > partition.fetch_offset:
                partition.fetch_offset = outcome.next_offset
                gone_on = True
        return gone_on

    async def _wait(self, watched: Sequence[Watched], seconds: float) -> OldFetchRead:
        """Wait until there is enough, or the time is up; return what there is then."""

        last: list[OldFetchRead] = []

        def attempt(final: bool) -> Response:
            found = self._look()
            if not final and not found.is_enough and not found.is_cold:
                return None
            last.append(found)
            return _ENOUGH

        outcome = await DelayedOperation(self._loop, seconds, attempt, watched)
        if isinstance(outcome, CloseConnectionError):
            raise outcome
        return last[-1]


class _Converted(NamedTuple):
    """The records of one partition in the client's format."""

    data: bytes
    error_code: int
    next_offset: int


class _Bytes(NamedTuple):
    """Bytes in the place of a region of a file."""

    data: bytes

    @property
    def length(self) -> int:
        return len(self.data)


def _convert_all(version: int, results: list[FetchResult], wanted: list[FetchPartition]) -> list[_Converted]:
    """Convert what was found for each partition, up to a limit for all of them together."""
    converted = []
    budget = CONVERTED_BYTES
    is_first = True
    for result, partition in zip(results, wanted, strict=True):
        region = result.records
        if not isinstance(region, FileRegion) or budget <= 0:
            converted.append(_Converted(b"", result.error_code, -1))
            continue
        outcome = _convert(version, region, partition, is_first, budget)
        budget -= min(region.length, budget)
        is_first = is_first and not outcome.data
        converted.append(outcome)
    return converted


def _convert(version: int, region: FileRegion, partition: FetchPartition, is_first: bool, budget: int) -> _Converted:
    max_bytes = max(partition.partition_max_bytes, 0)
    magic = 0 if version <= 1 else 1
    file = cast(OpenFile, region.file)
    try:
        data = _read_some(file, region, budget)
        records, next_offset = down_convert(data, magic, partition.fetch_offset, max(min(max_bytes, budget), 1))
        if records:
            next_offset = -1  # what there is must not be passed over, even if the limit leaves nothing of it
    except KafkaError as refused:
        code = ErrorCode.UNKNOWN_SERVER_ERROR if isinstance(refused, _ANSWERED_AS_UNKNOWN) else refused.code
        log.warning(
            "records cannot be converted for an old client",
            file=file.path,
            offset=partition.fetch_offset,
            reason=refused.message,
        )
        return _Converted(b"", code, -1)
    except OSError as failed:
        log.error("reading failed", file=file.path, reason=str(failed))
        return _Converted(b"", ErrorCode.NOT_LEADER_OR_FOLLOWER, -1)
    if version >= FIRST_WHOLE:
        whole = whole_messages(records, max_bytes)
        if not whole and is_first:
            whole = whole_messages(records, len(records))
        return _Converted(bytes(records[:whole]), 0, next_offset)
    return _Converted(bytes(records[:max_bytes]), 0, next_offset)


def _read_some(file: OpenFile, region: FileRegion, budget: int) -> bytes:
    """Return the beginning of a region: its first entry whole, and no more than `budget` bytes beside that."""
    size = min(region.length, max(budget, HEADER_SIZE_UP_TO_MAGIC))
    data = file.pread(size, region.position)
    first = int.from_bytes(data[LENGTH_AT:LEADER_EPOCH_AT], "big", signed=True) + LOG_OVERHEAD
    return data if first <= size else file.pread(min(first, region.length), region.position)


def _encoded(head: bytes, version: int, found: OldFetchRead, converted: list[_Converted]) -> Response:
    rest = iter(converted)
    topics = [
        (
            ref,
            [
                result._replace(records=_Bytes(outcome.data) if outcome.data else None, error_code=outcome.error_code)
                for result, outcome in zip(results, rest, strict=False)
            ],
        )
        for ref, results in found.topics
    ]
    pieces = encode_fetch_response(head, version, topics)
    return b"".join(piece.data if isinstance(piece, _Bytes) else piece for piece in pieces)  # type: ignore[misc]
