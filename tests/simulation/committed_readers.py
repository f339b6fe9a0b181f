"""Readers of committed records alone: what they are given of the copies, and that it never changes."""

from __future__ import annotations

from odradek.broker.nodes.requests import NodeAddress
from odradek.protocol.codec import Message
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.fetch import FetchResponse, PartitionData
from odradek.protocol.records.batch import iter_batches
from odradek.protocol.records.control import ControlType, control_type
from odradek.protocol.records.record import iter_records
from tests.simulation.clients import FETCH_VERSION, READ_PAUSE_S, BrokenPromiseError, Ledger, SimulatedClient
from tests.simulation.copiers import COPIES, Copied
from tests.simulation.network import SimulatedNetwork

COMMITTED_ONLY = 1


class CommittedReader(SimulatedClient):
    """Reads one partition of the copies as one that wants committed records only, again and again."""

    def __init__(
        self,
        network: SimulatedNetwork,
        name: str,
        bootstrap: list[NodeAddress],
        ledger: Ledger,
        copied: Copied,
        partition: int,
    ) -> None:
        super().__init__(network, name, bootstrap, ledger, COPIES)
        self.is_at_end = False
        """Whether it has read all that there is, and nothing is left behind an open transaction."""
        self.copies: list[bytes] = []
        """What it was given since it began at the beginning last."""
        self._copied = copied
        self._partition = partition
        self._offset = 0

    def start(self) -> None:
        """Begin to read."""
        self.learn(self._fetch)

    def begin_again(self) -> None:
        """Read all of it once more."""
        self._offset = 0
        self.copies.clear()
        self.is_at_end = False

    def _fetch(self) -> None:
        if self.is_stopping:
            return
        address = self.leader_of(self._partition)
        if address is None:
            self.later(lambda: self.learn(self._fetch))
            return
        request = self.fetch_from(self._partition, self._offset, COMMITTED_ONLY)
        offset = self._offset
        self.ask(address, request, FETCH_VERSION, lambda found: self._answered(offset, found))

    def _answered(self, asked: int, found: Message | None) -> None:
        if not isinstance(found, FetchResponse) or found.error_code or not found.responses:
            self.later(lambda: self.learn(self._fetch))
            return
        part = found.responses[0].partitions[0]
        if part.error_code:
            self.ledger.note_error(f"committed fetch {ErrorCode(part.error_code).name}")
            if part.error_code == ErrorCode.OFFSET_OUT_OF_RANGE:
                raise BrokenPromiseError(f"a reader of committed records up to {asked} is told that it is out of range")
            self.later(lambda: self.learn(self._fetch))
            return
        if asked == self._offset:
            self._take(part)
            if self.world.random.random() < 0.02:
                self.begin_again()
        self.world.after(READ_PAUSE_S, self._fetch, self.process)

    def _take(self, part: PartitionData) -> None:
        end, copies = committed_values(part, self._offset)
        if end > max(self._offset, part.last_stable_offset):  # a new leader may know of less than the last one
            raise BrokenPromiseError(
                f"a reader of committed records is given some up to {end}, beyond {part.last_stable_offset}, the last"
                f" stable offset of partition {self._partition}"
            )
        for offset, copy in copies:
            self._copied.saw(self._partition, offset, copy)
            self.copies.append(copy)
        self._offset = end
        self.is_at_end = end == part.last_stable_offset == part.high_watermark


def committed_values(part: PartitionData, start: int) -> tuple[int, list[tuple[int, bytes]]]:
    """Return where to read on, and the offsets and values of the committed records, as a client finds them."""
    waiting = sorted((one.first_offset, one.producer_id) for one in part.aborted_transactions or ())
    aborted: set[int] = set()
    values: list[tuple[int, bytes]] = []
    view = memoryview(part.records or b"")
    end = start
    for position, header in iter_batches(view):
        batch = view[position : position + header.size]
        while waiting and waiting[0][0] <= header.last_offset:
            aborted.add(waiting.pop(0)[1])
        if header.is_control:
            [marker] = iter_records(batch)
            if control_type(marker.key) is ControlType.ABORT:
                aborted.discard(header.producer_id)
        elif not (header.is_transactional and header.producer_id in aborted):
            values += [(one.offset, one.value or b"") for one in iter_records(batch) if one.offset >= start]
        end = header.next_offset
    return end, values
