"""Values for a load."""

from itertools import islice

import pytest

from odradek.load.payload import payloads


@pytest.mark.parametrize("size", [0, 1, 100, 100_000])
def test_size_and_repeatability(size: int) -> None:
    """Every value has the size asked for; the same seed gives the same values."""
    values = list(islice(payloads(size), 50))
    assert {len(each) for each in values} == {size}
    assert values == list(islice(payloads(size), 50))


def test_values_differ() -> None:
    """Otherwise compression would find nothing but repetition."""
    assert len(set(islice(payloads(100), 1000))) == 1000
