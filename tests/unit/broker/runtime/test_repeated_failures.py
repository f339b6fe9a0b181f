"""Which of many failures are worth a line."""

from odradek.broker.runtime.repeated_failures import RepeatedFailures


def test_it_is_told_at_first_and_then_ever_more_seldom() -> None:
    """A thousand failures for one reason are four lines."""
    failures = RepeatedFailures()
    told = [failures.count for _ in range(1000) if failures.is_told("no space")]
    assert told == [1, 10, 100, 1000]


def test_another_reason_is_told_like_the_first() -> None:
    """With how many there have been in all."""
    failures = RepeatedFailures()
    reasons = [*["no space"] * 5, *["no such file"] * 50]
    assert [failures.count for reason in reasons if failures.is_told(reason)] == [1, 6]
