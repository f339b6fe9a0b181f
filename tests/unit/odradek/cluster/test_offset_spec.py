"""Places in a topic, as a person gives them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.cluster.offset_spec import (
    AtOffset,
    BeforeLatest,
    Earliest,
    ForTimestamp,
    Latest,
    OffsetSpecification,
    parse_offset_spec,
)

NOW_MS = 1_700_000_000_000


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("beginning", Earliest()),
        ("earliest", Earliest()),
        ("end", Latest()),
        ("latest", Latest()),
        ("0", AtOffset(0)),
        ("9223372036854775807", AtOffset(2**63 - 1)),
        ("-5", BeforeLatest(5)),
        ("@1700000000123", ForTimestamp(1_700_000_000_123)),
        ("2023-11-14T22:13:20Z", ForTimestamp(1_700_000_000_000)),
        ("2023-11-14T22:13:20.123Z", ForTimestamp(1_700_000_000_123)),
        ("2023-11-15T00:13:20+02:00", ForTimestamp(1_700_000_000_000)),
        ("2023-11-14 22:13:20+00:00", ForTimestamp(1_700_000_000_000)),
        ("15m", ForTimestamp(NOW_MS - 900_000)),
        ("2h30m", ForTimestamp(NOW_MS - 9_000_000)),
        ("500ms", ForTimestamp(NOW_MS - 500)),
        ("1w", ForTimestamp(NOW_MS - 604_800_000)),
        ("99999w", ForTimestamp(0)),
    ],
)
def test_offset_specs(text: str, expected: OffsetSpecification) -> None:
    """Words, offsets, times in any zone, and how long ago."""
    assert parse_offset_spec(text, NOW_MS) == expected


def test_a_time_without_a_zone_is_local(monkeypatch: pytest.MonkeyPatch) -> None:
    """A date alone is its midnight."""
    local, utc = parse_offset_spec("2023-11-14", NOW_MS), parse_offset_spec("2023-11-14T00:00Z", NOW_MS)
    assert isinstance(local, ForTimestamp)
    assert isinstance(utc, ForTimestamp)
    assert abs(local.milliseconds - utc.milliseconds) <= 14 * 3_600_000


@pytest.mark.parametrize("text", ["", "soon", "--5", "5x", "1h 5m", "@", "@-1", "1e3", "9223372036854775808", "٣", "-"])
def test_what_is_no_moment(text: str) -> None:
    """The error names what was given."""
    with pytest.raises(ValueError, match=r"is no place in a topic; expected|is too large a number"):
        parse_offset_spec(text, NOW_MS)


@given(st.text(max_size=30))
def test_any_text_is_a_moment_or_refused(text: str) -> None:
    """Nothing else is raised, and no number is beyond 64 bits."""
    try:
        found = parse_offset_spec(text, NOW_MS)
    except ValueError:
        return
    match found:
        case AtOffset(number) | BeforeLatest(number) | ForTimestamp(number):
            assert 0 <= number < 1 << 63
