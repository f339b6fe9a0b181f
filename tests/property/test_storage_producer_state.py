"""Producer state against Kafka's rules written out naively, and through snapshots."""

from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st

from odradek.protocol.records.batch import BatchHeader
from odradek.storage.errors import CorruptFile, InvalidProducerEpoch, InvalidTxnState, LogError, OutOfOrderSequence
from odradek.storage.producers.producer_snapshot import ProducerSnapshots, decode_snapshot, encode_snapshot
from odradek.storage.producers.producer_state import AppendOrigin, ProducerStates
from tests.support.memory_files import MemoryFiles
from tests.unit.storage.producers.producer_headers import batch, marker

LAST = 2**31 - 1

Data = tuple[int, int, int, int, bool]
"""producer, epoch, first sequence, records, whether in a transaction"""
End = tuple[int, int, bool]
"""producer, epoch, whether aborted"""
Step = Data | End

moves = st.tuples(
    st.sampled_from(["next", "next", "next", "again", "again", "odd", "far", "end", "end"]),
    st.integers(1, 2),  # producer
    st.sampled_from([0, 0, 0, 0, 0, 0, 1, -1]),  # to another epoch
    st.integers(0, 5),  # how far back, or how odd
    st.integers(1, 3),  # records
    st.booleans(),
)
Move = tuple[str, int, int, int, int, bool]
histories = st.lists(moves, max_size=60)


@dataclass
class Producer:
    """What Kafka's words say is remembered."""

    epoch: int = -1
    written: list[tuple[int, int, int, int]] = field(default_factory=list)
    """(first sequence, last sequence, first offset, last offset) of every batch of the epoch."""
    open_from: int | None = None


@dataclass
class Model:
    """A partition as Kafka's words say it behaves (without verification of transactions)."""

    producers: dict[int, Producer] = field(default_factory=dict)
    ended: list[tuple[int, int]] = field(default_factory=list)
    """(first offset, marker's offset) of every transaction with data that has ended."""

    def step(self, move: Move) -> Step:
        """Return what a producer does when it makes this move now."""
        kind, producer_id, change, number, count, flag = move
        producer = self.producers.get(producer_id, Producer())
        epoch = max(0, producer.epoch + change)
        if kind == "end":
            return producer_id, max(0, producer.epoch, epoch), flag
        following = (producer.written[-1][1] + 1) % 2**31 if producer.written else 0
        if kind != "odd" and epoch != producer.epoch:
            following = 0
        transactional = flag if producer.open_from is None or kind == "odd" else True
        if kind == "again" and number < len(producer.written):
            first, last, _, _ = producer.written[-1 - number]
            return producer_id, epoch, first, (last - first) % 2**31 + 1, transactional
        if kind == "odd":
            following = (following + number - 3) % 2**31
        if kind == "far" and not producer.written:
            following = LAST - number
        return producer_id, epoch, following, count, transactional

    def verdict(self, step: Data) -> type[LogError] | tuple[int, int] | None:
        producer_id, epoch, sequence, count, transactional = step
        producer = self.producers.get(producer_id, Producer())
        if epoch == producer.epoch:
            for first, last, first_offset, last_offset in producer.written[-5:]:
                if (first, last) == (sequence, (sequence + count - 1) % 2**31):
                    return first_offset, last_offset
        if epoch < producer.epoch:
            return InvalidProducerEpoch
        if producer.epoch != -1:
            last = producer.written[-1][1] if epoch == producer.epoch and producer.written else -1
            if sequence != (last + 1) % 2**31:
                return OutOfOrderSequence
        return InvalidTxnState if producer.open_from is not None and not transactional else None

    def write(self, step: Data, offset: int) -> None:
        producer_id, epoch, sequence, count, transactional = step
        producer = self.producers.setdefault(producer_id, Producer())
        if epoch != producer.epoch:
            producer.epoch, producer.written = epoch, []
        producer.written.append((sequence, (sequence + count - 1) % 2**31, offset, offset + count - 1))
        if transactional and producer.open_from is None:
            producer.open_from = offset

    def end(self, producer_id: int, epoch: int, offset: int) -> None:
        producer = self.producers.setdefault(producer_id, Producer())
        if epoch != producer.epoch:
            producer.epoch, producer.written = epoch, []
        if producer.open_from is not None:
            self.ended.append((producer.open_from, offset))
        producer.open_from = None

    def first_unstable(self, high_watermark: int) -> int | None:
        unstable = [producer.open_from for producer in self.producers.values() if producer.open_from is not None]
        unstable += [first for first, end in self.ended if end >= high_watermark]
        return min(unstable, default=None)


def _header(step: Step) -> BatchHeader:
    if len(step) == 3:
        return marker(producer_id=step[0], epoch=step[1])
    producer_id, epoch, sequence, count, transactional = step
    return batch(sequence, count, producer_id=producer_id, epoch=epoch, transactional=transactional)


@given(histories, st.lists(st.integers(0, 8), max_size=60))
def test_every_batch_gets_the_verdict_of_the_rules(history: list[Move], lags: list[int]) -> None:
    """Accepted, known already, or the error that Kafka's rules give; and the unstable offset follows."""
    states, model = ProducerStates("t-0", verify_transactions=False), Model()
    end = high_watermark = 0
    for number, move in enumerate(history):
        step = model.step(move)
        if len(step) == 3:
            was_open = model.producers.get(step[0], Producer()).open_from is not None
            completed = states.update_marker(_header(step), end, 0, step[2])
            assert (completed is not None) == was_open
            model.end(step[0], step[1], end)
            end += 1
        else:
            expected = model.verdict(step)
            assert _check(states, step) == expected, (step, expected)
            if expected is None:
                states.update(_header(step), end)
                model.write(step, end)
                end += step[3]
        high_watermark = max(high_watermark, end - (lags[number] if number < len(lags) else 0))
        assert states.first_unstable_offset(high_watermark) == model.first_unstable(high_watermark)


def _check(states: ProducerStates, step: Step) -> type[LogError] | tuple[int, int] | None:
    try:
        found = states.check(_header(step), AppendOrigin.CLIENT)
    except LogError as error:
        return type(error)
    return None if found is None else (found.first_offset, found.last_offset)


def _accepted(history: list[Move]) -> list[tuple[int, Step]]:
    """Return the (offset, step) of what a log takes of the history."""
    model, end = Model(), 0
    log: list[tuple[int, Step]] = []
    for move in history:
        step = model.step(move)
        if len(step) == 3:
            model.end(step[0], step[1], end)
            log.append((end, step))
            end += 1
        elif model.verdict(step) is None:
            model.write(step, end)
            log.append((end, step))
            end += step[3]
    return log


def _replay(states: ProducerStates, log: list[tuple[int, Step]]) -> None:
    """Take what stands in the log from the state's end on, as recovery does."""
    for offset, step in log:
        if offset < states.end_offset:
            continue
        if len(step) == 3:
            states.update_marker(_header(step), offset, 0, step[2])
            states.end_offset = offset + 1
        else:
            states.update(_header(step), offset)
            states.end_offset = offset + step[3]


@given(histories, st.data())
def test_snapshot_and_rest_of_the_log_give_the_same_state(history: list[Move], data: st.DataObject) -> None:
    """Loading a snapshot and replaying what follows ends like replaying everything, but for older duplicates."""
    log = _accepted(history)
    whole, part, restarted = ProducerStates("t-0"), ProducerStates("t-0"), ProducerStates("t-0", end_offset=-1)
    _replay(whole, log)
    _replay(part, log[: data.draw(st.integers(0, len(log)))])
    fs = MemoryFiles()
    snapshots = ProducerSnapshots(fs, "", [])
    snapshots.take(part)
    assert ProducerSnapshots(fs, "", snapshots.offsets).reload(restarted, 0, whole.end_offset, -2) == []
    assert restarted.end_offset == part.end_offset
    assert restarted.first_unstable_offset(part.end_offset) == part.first_unstable_offset(part.end_offset)
    _replay(restarted, log)
    assert restarted.entries.keys() == whole.entries.keys()
    assert _last_words(restarted) == _last_words(whole)
    assert restarted.first_unstable_offset(whole.end_offset) == whole.first_unstable_offset(whole.end_offset)


def _last_words(states: ProducerStates) -> dict[int, bytes]:
    return {producer: encode_snapshot({producer: entry}) for producer, entry in states.entries.items()}


@given(histories, st.integers(0, 200), st.integers(1, 255))
def test_damaged_snapshot_is_never_taken_for_a_good_one(history: list[Move], at: int, change: int) -> None:
    """Any changed byte, and any cut, is CorruptFile."""
    states = ProducerStates("t-0")
    _replay(states, _accepted(history))
    content = encode_snapshot(states.entries)
    damaged = bytearray(content)
    damaged[at % len(content)] ^= change
    for bad in (bytes(damaged), content[: at % len(content)]):
        try:
            decode_snapshot(bad, "here")
        except CorruptFile:
            continue
        raise AssertionError("a damaged snapshot was read")


@given(st.binary(max_size=200))
def test_no_content_breaks_the_reader(content: bytes) -> None:
    """Any bytes are a snapshot, or CorruptFile."""
    try:
        decode_snapshot(content, "here")
    except CorruptFile:
        return
