"""Legal topic names."""

import pytest

from odradek.broker.metadata.topic_names import check_name, find_collision, names_by_metric


@pytest.mark.parametrize("name", ["a", "a.b_c-D9", "...", "x" * 249, "__consumer_offsets"])
def test_legal_names(name: str) -> None:
    """Letters, digits, dot, underscore, hyphen; up to 249 of them."""
    assert check_name(name) is None


@pytest.mark.parametrize("name", ["", ".", "..", "a b", "a/b", "ü", "a\n", "x" * 250, "é", "１"])
def test_illegal_names(name: str) -> None:
    """Everything else, and the two that mean directories."""
    assert (check_name(name) or "").startswith("Topic name is invalid: ")


def test_names_collide_if_they_differ_in_dots_and_underscores_only() -> None:
    """They would have one metric name."""
    taken = names_by_metric(["a.b", "plain", "c_d"])
    assert find_collision("a_b", taken) == "a.b"
    assert find_collision("c.d", taken) == "c_d"
    assert find_collision("plain", taken) is None
    assert find_collision("a-b", taken) is None
