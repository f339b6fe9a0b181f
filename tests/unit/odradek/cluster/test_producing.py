"""The pace of a producer, its settings, and what it tells of records that were not acknowledged."""

from confluent_kafka import KafkaError, Message

from odradek.cluster.producing import SendRate, Tally, producer_defaults


class Time:
    """A clock that moves when somebody waits."""

    def __init__(self) -> None:
        self.now = 100.0

    def clock(self) -> float:
        """Return the time."""
        return self.now

    def sleep(self, seconds: float) -> None:
        """Let time pass."""
        self.now += seconds


def _turns(pace: SendRate, time: Time, count: int) -> list[float]:
    turns = []
    for _ in range(count):
        pace.wait(lambda seconds: time.sleep(seconds / 2))  # what goes on meanwhile returns early
        turns.append(round(time.now - 100, 6))
    return turns


def test_turns_are_evenly_apart() -> None:
    """The first is at once, the others follow at the rate."""
    time = Time()
    assert _turns(SendRate(4, time.clock, time.sleep), time, 4) == [0.0, 0.25, 0.5, 0.75]


def test_a_short_standstill_is_made_up_for() -> None:
    """The rate holds on the whole."""
    time = Time()
    pace = SendRate(10, time.clock, time.sleep)
    _turns(pace, time, 1)
    time.now += 0.25
    assert _turns(pace, time, 3) == [0.25, 0.25, 0.3]


def test_a_long_standstill_is_forgotten() -> None:
    """No flood follows it."""
    time = Time()
    pace = SendRate(10, time.clock, time.sleep)
    _turns(pace, time, 1)
    time.now += 100
    assert _turns(pace, time, 4) == [100.0, 100.0, 100.0, 100.05]


def test_without_a_rate_nobody_waits() -> None:
    """None is as fast as it goes."""
    time = Time()
    assert _turns(SendRate(None, time.clock, time.sleep), time, 3) == [0.0, 0.0, 0.0]


def _failed(*numbers: int, of: int = 100) -> Tally:
    tally = Tally(handed_over=of)
    for number in numbers:
        tally.on_delivery(number, KafkaError(KafkaError._MSG_TIMED_OUT), Message())
    return tally


def test_lines_that_were_not_acknowledged_are_named() -> None:
    """They are told as ranges, in whatever order they failed; of very many ranges the first ones."""
    tally = _failed(5, 3, 4, 90, 7)
    assert tally.failed_ranges() == [(3, 5), (7, 7), (90, 90)]
    reason = "topic t: no acknowledgement in time; is the broker still there?"
    hint = "To go on there: --skip 2, which may repeat what was written but not acknowledged"
    assert tally.problem("t") == f"lines 3-5, 7, 90 not acknowledged: {reason} {hint}"
    assert _failed(1).problem("t") == f"line 1 not acknowledged: {reason}"
    many = _failed(*range(1, 100, 2)).problem("t")
    assert many == f"lines 1, 3, 5, 7, 9, 45 more ranges not acknowledged: {reason}"


def test_what_was_never_sent_is_told_too() -> None:
    """Its numbers are those of the input, also where some of it was skipped."""
    tally = _failed(14, of=5)
    tally.skipped, tally.is_cut = 10, True
    assert ("line 14 not acknowledged, and nothing from line 16 on was sent: " in tally.problem("t")) is True
    assert "--skip 13" in tally.problem("t")


def test_nothing_is_told_where_all_arrived() -> None:
    """No failures, no sentence."""
    assert Tally(handed_over=7).problem("t") == ""


def test_idempotence_yields_to_what_is_asked_for() -> None:
    """It is on, unless the file of settings says how to acknowledge or to repeat."""
    assert producer_defaults({"client.id": "x"})["enable.idempotence"]
    assert "enable.idempotence" not in producer_defaults({"acks": "1"})
