"""A log against a plain list: appends, reads, rolls, truncations, deletions, flushes and restarts in any order."""

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from protocol.records.batch import Codec
from protocol.records.building import BatchFields
from storage.errors import OffsetOutOfRange
from storage.log import Log
from tests.support.logs import NOW_MS, a_batch, check_log, open_at, read_all, small_config
from tests.support.memory_files import MemoryFiles

CODECS = st.sampled_from((Codec.NONE, Codec.NONE, Codec.GZIP, Codec.ZSTD))


class LogMachine(RuleBasedStateMachine):
    """A log on a disk in memory, beside the records that it should have."""

    log: Log

    def __init__(self) -> None:
        super().__init__()
        self.fs = MemoryFiles()
        self.model: list[tuple[bytes, int]] = []  # value and timestamp of the record at each offset, from 0 on
        self.number = 0

    @initialize(segment_bytes=st.sampled_from((400, 1500, 6000)), interval=st.sampled_from((0, 100, 1000)))
    def open(self, segment_bytes: int, interval: int) -> None:
        self.config = small_config(segment_bytes=segment_bytes, index_interval_bytes=interval)
        self.log = open_at(self.fs, self.config)

    @rule(sizes=st.lists(st.integers(0, 60), min_size=1, max_size=5), codec=CODECS, ahead=st.integers(-50, 50))
    def append(self, sizes: list[int], codec: Codec, ahead: int) -> None:
        values, times = [], []
        for size in sizes:
            self.number += 1
            values.append(b"%d:" % self.number + bytes(size))
            times.append(NOW_MS + self.number + ahead)
        info = self.log.append(a_batch(values, times, BatchFields(codec=codec)), self.number // 50, NOW_MS)
        assert (info.first_offset, info.last_offset) == (len(self.model), len(self.model) + len(values) - 1)
        assert info.max_timestamp == max(times)
        self.model += zip(values, times, strict=True)

    @rule()
    def roll(self) -> None:
        self.log.roll(NOW_MS)

    @rule()
    def flush(self) -> None:
        self.log.flush()
        assert self.log.recovery_point == len(self.model)

    @precondition(lambda self: self.model)
    @rule(back=st.integers(0, 30))
    def truncate(self, back: int) -> None:
        target = max(len(self.model) - back, self.log.log_start_offset)
        self.log.truncate_to(target, NOW_MS)
        # A batch goes as a whole, so that the log may end before the offset that was asked for.
        assert self.log.log_end_offset <= max(target, self.log.log_start_offset)
        del self.model[self.log.log_end_offset :]

    @rule(share=st.floats(0, 1))
    def delete_records(self, share: float) -> None:
        start = self.log.log_start_offset
        target = start + int((len(self.model) - start) * share)
        self.log.delete_records_before(target)
        assert self.log.log_start_offset == target

    @rule()
    def restart_cleanly(self) -> None:
        self.log.flush()
        start = self.log.log_start_offset
        self.log.close()
        self.log = open_at(
            self.fs, self.config, clean=True, recovery_point=self.log.recovery_point, log_start_offset=start
        )

    @rule()
    def restart_after_kill(self) -> None:
        """The process is gone, but what it wrote is in the page cache; the last checkpoint may be any old one."""
        point, start = self.log.checkpointed_recovery_point, self.log.log_start_offset
        self.fs = self.fs.crash(kept=1.0)
        self.log = open_at(self.fs, self.config, recovery_point=point, log_start_offset=start)

    @precondition(lambda self: len(self.model) > self.log.log_start_offset)
    @rule(share=st.floats(0, 0.999), max_bytes=st.integers(1, 3000), at_least_one=st.booleans())
    def read(self, share: float, max_bytes: int, at_least_one: bool) -> None:
        start = self.log.log_start_offset
        offset = start + int((len(self.model) - start) * share)
        region = self.log.read(offset, max_bytes, len(self.model), at_least_one)
        assert region.length <= max_bytes or at_least_one
        if at_least_one:
            assert read_all(self.log, max_bytes, offset)[0] == (offset, self.model[offset][0])

    @precondition(lambda self: self.model)
    @rule(ahead=st.integers(-60, 60), share=st.floats(0, 1))
    def find_time(self, ahead: int, share: float) -> None:
        timestamp = NOW_MS + int(self.number * share) + ahead
        visible = range(self.log.log_start_offset, len(self.model))
        expected = next((offset for offset in visible if self.model[offset][1] >= timestamp), None)
        found = self.log.offset_for_timestamp(timestamp, len(self.model))
        assert (found.offset if found else None) == expected
        largest = max((self.model[offset][1] for offset in visible), default=None)
        latest = self.log.max_timestamp_record(len(self.model))
        if largest is not None and not self._has_hidden_records():
            assert latest is not None
            assert latest.timestamp == largest
            assert latest.offset == next(offset for offset in visible if self.model[offset][1] == largest)

    def _has_hidden_records(self) -> bool:
        """Whether a segment has records before the start of the log, whose timestamps still count in its index."""
        return self.log.segments.first.base_offset < self.log.log_start_offset

    @rule(beyond=st.integers(1, 5))
    def read_outside(self, beyond: int) -> None:
        for offset in (self.log.log_start_offset - beyond, self.log.log_end_offset + beyond):
            try:
                self.log.read(offset, 1000, self.log.log_end_offset, True)
            except OffsetOutOfRange:
                continue
            raise AssertionError(f"offset {offset} was read")

    @invariant()
    def is_as_it_should_be(self) -> None:
        """All that the log says about itself is true."""
        log = self.log
        assert log.log_end_offset == len(self.model)
        check_log(log)
        visible = enumerate(self.model[log.log_start_offset :], log.log_start_offset)
        assert read_all(log, 700) == [(offset, value) for offset, (value, _) in visible]


TestLogModel = LogMachine.TestCase
