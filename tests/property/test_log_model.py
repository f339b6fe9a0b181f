"""A log against a plain list: everything that can happen to it, in any order.

Twice: in short histories that hypothesis makes up, and shortens when one fails, and in long ones that come from a seed.
The seed is printed; `ODRADEK_MODEL_SEED` repeats a run.
"""

import os
import random
from collections.abc import Callable

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from odradek.protocol.records.batch import Codec
from tests.property.log_model import LogModel

CODECS = (Codec.NONE, Codec.NONE, Codec.GZIP, Codec.ZSTD)
SHARES = st.floats(0, 1)
LIMITS = st.none() | st.sampled_from((0.0, 0.5, 1.0)) | SHARES


class LogMachine(RuleBasedStateMachine):
    """Short histories."""

    model: LogModel

    @initialize(segment_bytes=st.sampled_from((500, 1500, 6000)), interval=st.sampled_from((0, 100, 1000)))
    def open(self, segment_bytes: int, interval: int) -> None:
        self.model = LogModel(segment_bytes, interval)

    @rule(
        sizes=st.lists(st.integers(0, 60), min_size=1, max_size=5),
        codec=st.sampled_from(CODECS),
        ahead=st.integers(-50, 50) | st.none(),
    )
    def append(self, sizes: list[int], codec: Codec, ahead: int | None) -> None:
        self.model.append(sizes, codec, ahead)

    @rule()
    def roll(self) -> None:
        self.model.roll()

    @rule()
    def flush(self) -> None:
        self.model.flush()

    @rule(back=st.integers(0, 30))
    def truncate(self, back: int) -> None:
        self.model.truncate(back)

    @rule(share=SHARES)
    def delete_records(self, share: float) -> None:
        self.model.delete_records(share)

    @rule(size_share=LIMITS, age_share=LIMITS, committed_share=st.just(1.0) | SHARES)
    def retain(self, size_share: float | None, age_share: float | None, committed_share: float) -> None:
        self.model.retain(size_share, age_share, committed_share)

    @rule()
    def compact(self) -> None:
        self.model.compact()

    @rule()
    def restart_cleanly(self) -> None:
        self.model.restart_cleanly()

    @rule()
    def restart_after_kill(self) -> None:
        self.model.restart_after_kill()

    @rule()
    def restart_after_power_loss(self) -> None:
        self.model.restart_after_power_loss()

    @precondition(lambda self: self.model.end > self.model.log.log_start_offset)
    @rule(share=st.floats(0, 0.999), max_bytes=st.integers(1, 3000), at_least_one=st.booleans())
    def read(self, share: float, max_bytes: int, at_least_one: bool) -> None:
        self.model.read(share, max_bytes, at_least_one)

    @rule(beyond=st.integers(1, 5))
    def read_outside(self, beyond: int) -> None:
        self.model.read_outside(beyond)

    @rule(ahead=st.integers(-60, 60), share=SHARES)
    def find_time(self, ahead: int, share: float) -> None:
        self.model.find_time(ahead, share)

    @invariant()
    def is_as_it_should_be(self) -> None:
        """All that the log says about itself is true."""
        self.model.check()


TestLogModel = LogMachine.TestCase


def _limit(chance: random.Random) -> float | None:
    return chance.choice((None, None, 0.3, 0.7, 0.9, chance.random()))


OPERATIONS: list[tuple[int, Callable[[LogModel, random.Random], None]]] = [
    (
        40,
        lambda model, chance: model.append(
            [chance.randrange(60) for _ in range(chance.randrange(1, 6))],
            chance.choice(CODECS),
            chance.choice((None, chance.randrange(-50, 50), chance.randrange(-50, 50))),
        ),
    ),
    (4, lambda model, _: model.roll()),
    (4, lambda model, _: model.flush()),
    (3, lambda model, chance: model.truncate(chance.randrange(30))),
    (1, lambda model, chance: model.delete_records(chance.random() / 2)),
    (4, lambda model, chance: model.retain(_limit(chance), _limit(chance), chance.choice((1.0, chance.random())))),
    (2, lambda model, _: model.compact()),
    (1, lambda model, _: model.restart_cleanly()),
    (2, lambda model, _: model.restart_after_kill()),
    (1, lambda model, _: model.restart_after_power_loss()),
    (20, lambda model, chance: model.read(chance.random(), chance.randrange(1, 3000), chance.random() < 0.5)),
    (3, lambda model, chance: model.read_outside(chance.randrange(1, 5))),
    (10, lambda model, chance: model.find_time(chance.randrange(-60, 60), chance.random())),
]
"""What may happen, with arguments by chance, and how often."""
STEPS = 3000
CHECKED_EVERY = 20


@pytest.mark.parametrize(("segment_bytes", "interval"), [(500, 0), (2000, 300), (20_000, 1000)])
def test_a_long_history_leaves_the_log_as_the_list(segment_bytes: int, interval: int) -> None:
    """Thousands of operations by chance, one after the other on the same log."""
    seed = int(os.environ.get("ODRADEK_MODEL_SEED") or random.SystemRandom().randrange(1 << 32))
    print(f"ODRADEK_MODEL_SEED={seed}")  # noqa: T201 - shown with a failure, to repeat it
    chance = random.Random(seed)
    model = LogModel(segment_bytes, interval, seed)
    weights, operations = zip(*OPERATIONS, strict=True)
    for step, operation in enumerate(chance.choices(operations, weights, k=STEPS)):
        operation(model, chance)
        if step % CHECKED_EVERY == 0:
            model.check()
    model.check()
