"""Strategies for records and for batches that are nearly right."""

import os

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from odradek.protocol.records.record import Headers, Record

EXAMPLES_FACTOR = int(os.environ.get("ODRADEK_EXAMPLES", "1"))


def examples(count: int) -> settings:
    """So many examples of a property in a quick run."""
    return settings(max_examples=count * EXAMPLES_FACTOR, deadline=None, suppress_health_check=[HealthCheck.too_slow])


NOW = 1_795_246_204_644

fields = st.none() | st.binary(max_size=20) | st.sampled_from([bytes(63), bytes(64), bytes(130), bytes(9000)])
names = st.text(max_size=8).map(str.encode)
headers: st.SearchStrategy[Headers] = st.lists(st.tuples(names, fields), max_size=3).map(tuple)
near_timestamps = st.integers(NOW - 10_000, NOW + 10_000) | st.just(NOW)
any_timestamps = near_timestamps | st.just(-1) | st.integers(0, 2**62)


@st.composite
def record_lists(
    draw: st.DrawFn, max_size: int = 40, timestamps: st.SearchStrategy[int] = near_timestamps
) -> list[Record]:
    """At least one record, with offsets in a row from 0; often many that are alike, as real batches have them."""
    alike = draw(st.booleans())
    if alike:
        key, value, timestamp = draw(fields), draw(fields), draw(timestamps)
        count = draw(st.integers(1, max_size * 5))
        return [Record(i, timestamp, key, value) for i in range(count)]
    drawn = draw(st.lists(st.tuples(timestamps, fields, fields, headers), min_size=1, max_size=max_size))
    return [Record(i, *content) for i, content in enumerate(drawn)]


@st.composite
def damage(draw: st.DrawFn, data: bytes) -> bytes:
    """The data with a few bytes changed, added or taken away; sometimes none."""
    out = bytearray(data)
    for _ in range(draw(st.integers(0, 3))):
        place = draw(st.integers(0, max(0, len(out) - 1)))
        match draw(st.sampled_from(["change", "flip", "insert", "remove", "cut"])):
            case "change" if out:
                out[place] = draw(st.integers(0, 255))
            case "flip" if out:
                out[place] ^= 1 << draw(st.integers(0, 7))
            case "insert":
                out[place:place] = draw(st.binary(min_size=1, max_size=4))
            case "remove":
                del out[place : place + draw(st.integers(1, 4))]
            case "cut":
                del out[place:]
    return bytes(out)
