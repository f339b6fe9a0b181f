"""New connections within their limits."""

from odradek.broker.network.admission import WINDOW_S, Admission, ConnectionLimits

MANY = 2**31 - 1


def limits(
    total: int = MANY, per_ip: int = MANY, rate: int = MANY, overrides: dict[str, int] | None = None
) -> ConnectionLimits:
    return ConnectionLimits(total, per_ip, rate, overrides or {})


def test_no_more_than_max_connections_are_let_in() -> None:
    """When one leaves, there is room again."""
    admission = Admission(limits(total=1))
    admission.entered("a", 0.0)
    assert "max.connections=1" in (admission.refusal("b") or "")
    admission.left("a")
    assert admission.refusal("b") is None


def test_one_address_cannot_take_all() -> None:
    """The limit of one address does not concern another."""
    admission = Admission(limits(per_ip=1))
    admission.entered("a", 0.0)
    assert "max.connections.per.ip=1" in (admission.refusal("a") or "")
    assert admission.refusal("b") is None


def test_an_override_counts_instead_of_the_common_limit() -> None:
    """max.connections.per.ip=0 with overrides lets only the named addresses in."""
    admission = Admission(limits(per_ip=0, overrides={"a": 1}))
    assert admission.refusal("b") is not None
    assert admission.refusal("a") is None
    admission.entered("a", 0.0)
    assert "overrides allows 1" in (admission.refusal("a") or "")


def test_the_creation_rate_delays_what_one_second_has_too_many() -> None:
    """The next connection waits for the next window, it is not refused."""
    admission = Admission(limits(rate=2))
    assert admission.pause_s(10.0) == 0.0
    admission.entered("a", 10.0)
    admission.entered("a", 10.25)
    assert admission.pause_s(10.5) == WINDOW_S - 0.5
    assert admission.pause_s(11.0) == 0.0
    admission.entered("a", 11.0)
    assert admission.pause_s(11.0) == 0.0


def test_limits_change_while_connections_are_open() -> None:
    """A lower limit closes nothing, but lets nobody in until enough have left."""
    admission = Admission(limits())
    admission.entered("a", 0.0)
    admission.entered("a", 0.0)
    admission.limits = limits(total=1)
    assert admission.refusal("a") is not None
