"""New connections within their limits."""

from odradek.broker.network.admission import UNTIL_ONE_ENDS, WINDOW_S, Admission, ConnectionLimits, ListenerLimits

MANY = 2**31 - 1
PLAIN, INTERNAL = "PLAIN", "INTERNAL"


def limits(
    total: int = MANY,
    per_ip: int = MANY,
    rate: int = MANY,
    overrides: dict[str, int] | None = None,
    of_plain: ListenerLimits | None = None,
    inter_broker: str | None = None,
) -> ConnectionLimits:
    listeners = {} if of_plain is None else {PLAIN: of_plain}
    return ConnectionLimits(ListenerLimits(total, rate), per_ip, overrides or {}, listeners, inter_broker)


def test_no_more_than_max_connections_are_let_in() -> None:
    """The next one waits until one ends."""
    admission = Admission(limits(total=1))
    assert admission.wait_s(PLAIN, 0.0) == 0.0
    admission.entered(PLAIN, "a", 0.0)
    assert admission.wait_s(PLAIN, 0.0) == UNTIL_ONE_ENDS
    assert admission.what_is_full(PLAIN) == "max.connections=1"
    admission.left(PLAIN, "a")
    assert admission.wait_s(PLAIN, 0.0) == 0.0


def test_a_listener_has_a_limit_of_its_own() -> None:
    """listener.name.<name>.max.connections; who comes in by another one does not count."""
    admission = Admission(limits(of_plain=ListenerLimits(1, MANY)))
    admission.entered(INTERNAL, "a", 0.0)
    assert admission.wait_s(PLAIN, 0.0) == 0.0
    admission.entered(PLAIN, "a", 0.0)
    assert admission.wait_s(PLAIN, 0.0) == UNTIL_ONE_ENDS
    assert admission.what_is_full(PLAIN) == "listener.name.plain.max.connections=1"
    assert admission.wait_s(INTERNAL, 0.0) == 0.0


def test_the_listener_between_brokers_is_spared_the_limits_of_the_broker() -> None:
    """Brokers reach each other although clients take all places; then one of the clients has to go."""
    admission = Admission(limits(total=1, rate=1, inter_broker=INTERNAL))
    admission.entered(PLAIN, "a", 0.0)
    assert not admission.is_exceeded
    assert admission.wait_s(PLAIN, 0.0) == UNTIL_ONE_ENDS
    assert admission.wait_s(INTERNAL, 0.0) == 0.0
    admission.entered(INTERNAL, "b", 0.0)
    assert admission.is_exceeded


def test_one_address_cannot_take_all() -> None:
    """The limit of one address does not concern another."""
    admission = Admission(limits(per_ip=1))
    admission.entered(PLAIN, "a", 0.0)
    assert "max.connections.per.ip=1" in (admission.refusal("a") or "")
    assert admission.refusal("b") is None
    admission.left(PLAIN, "a")
    assert admission.refusal("a") is None


def test_an_override_counts_instead_of_the_common_limit() -> None:
    """max.connections.per.ip=0 with overrides lets only the named addresses in."""
    admission = Admission(limits(per_ip=0, overrides={"a": 1}))
    assert admission.refusal("b") is not None
    assert admission.refusal("a") is None
    admission.entered(PLAIN, "a", 0.0)
    assert "overrides allows 1" in (admission.refusal("a") or "")


def test_the_creation_rate_delays_what_one_second_has_too_many() -> None:
    """The next connection waits for the next window, it is not refused."""
    admission = Admission(limits(rate=2))
    assert admission.wait_s(PLAIN, 10.0) == 0.0
    admission.entered(PLAIN, "a", 10.0)
    admission.entered(PLAIN, "a", 10.25)
    assert admission.wait_s(PLAIN, 10.5) == WINDOW_S - 0.5
    assert admission.wait_s(PLAIN, 11.0) == 0.0
    admission.entered(PLAIN, "a", 11.0)
    assert admission.wait_s(PLAIN, 11.0) == 0.0


def test_a_listener_has_a_creation_rate_of_its_own() -> None:
    """The stricter of the two counts."""
    admission = Admission(limits(rate=2, of_plain=ListenerLimits(MANY, 1)))
    admission.entered(PLAIN, "a", 10.0)
    assert admission.wait_s(PLAIN, 10.25) == WINDOW_S - 0.25
    assert admission.wait_s(INTERNAL, 10.25) == 0.0
    admission.entered(INTERNAL, "a", 10.25)
    assert admission.wait_s(INTERNAL, 10.5) == WINDOW_S - 0.5


def test_limits_change_while_connections_are_open() -> None:
    """A lower limit closes nothing, but lets nobody in until enough have left."""
    admission = Admission(limits())
    admission.entered(PLAIN, "a", 0.0)
    admission.entered(PLAIN, "a", 0.0)
    admission.limits = limits(total=1)
    assert admission.wait_s(PLAIN, 0.0) == UNTIL_ONE_ENDS
    admission.left(PLAIN, "a")
    assert admission.wait_s(PLAIN, 0.0) == UNTIL_ONE_ENDS
