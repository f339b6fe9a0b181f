"""What it costs to ask who may: ACLs and quotas on single-record produce, decisions, log-ins, and how exactly a quota
holds a client.

What is on and off is measured in turns in one run, by the broker's CPU for each request: a difference of some percent
is lost in what else happens on a machine within a minute.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from time import monotonic
from types import MappingProxyType

from benchmarks import isolation, wire
from benchmarks.axes.tls import PASSWORD, USER, serving
from benchmarks.axis import Axis, Measure, Stage, Values
from benchmarks.clients import acls, in_turns, limited, logins, requests
from benchmarks.clients.in_turns import Side
from benchmarks.clients.limited import LimitedLoad
from benchmarks.clients.logins import LoginLoad
from benchmarks.clients.requests import RequestLoad
from benchmarks.connection import await_leaders, record_count
from benchmarks.statistics import median
from benchmarks.target import Broker

_TOPIC = "turns"
_RULES = 10_000
_ROUNDS = 20
_TURN_SECONDS = 0.5
_LEADER_SECONDS = 20
_AUTHORIZER = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "allow.everyone.if.no.acl.found": "true",  # until there is an ACL for the topic
}
_NO_LIMIT = {"producer_byte_rate": 1e12, "consumer_byte_rate": 1e12, "request_percentage": 1e6}
_QUOTA = 2_000_000
_QUOTA_SECONDS = 30
_PAUSE_SECONDS = 0.002

SHARE = Measure("share", "% more CPU")
OFF_AND_ON = (Measure("off", "broker µs CPU each without"), Measure("on", "broker µs CPU each with"), SHARE)


@contextmanager
def _broker(stage: Stage, name: str, overrides: Mapping[str, str] = MappingProxyType({})) -> Iterator[Broker]:
    """A broker of its own, with a topic."""
    with stage.bench.scratch(name) as directory, stage.target.start(directory, overrides) as broker:
        with broker.connect() as connection:
            wire.check_created(connection.ask(wire.create_topics([wire.NewTopic(_TOPIC, 1, {})])))
            await_leaders(connection, _TOPIC, 1, monotonic() + _LEADER_SECONDS)
        yield broker


def _compare(stage: Stage, brokers: tuple[Broker, Broker], orders: tuple[bytes, bytes] = (b"", b"")) -> Values:
    """Load two brokers, or one twice, in turns; check that all that was acknowledged is there."""
    warmup = stage.warmup_seconds
    seconds = stage.bench.seconds(_TURN_SECONDS)
    without, with_it = (
        Side(RequestLoad(broker.endpoint, _TOPIC, 100, warmup, seconds), order)
        for broker, order in zip(brokers, orders, strict=True)
    )
    rounds = isolation.run(in_turns.pipelined_in_turns, (without, with_it), max(2, stage.bench.amount(_ROUNDS)))
    expected = {broker.pid: 0 for broker in brokers}
    for figures in rounds:
        for broker, figure in zip(brokers, figures, strict=True):
            expected[broker.pid] += figure.acknowledged
    for broker in brokers:
        with broker.connect() as connection:
            found = record_count(connection, _TOPIC)
        if found != expected[broker.pid]:
            raise wire.WireError(f"{_TOPIC} holds {found} records where {expected[broker.pid]} were acknowledged")
    off, on = (median(each[side].broker_cpu_us for each in rounds) for side in (0, 1))
    share = median(each[1].broker_cpu_us / each[0].broker_cpu_us for each in rounds)
    return {"off": off, "on": on, "share": (share - 1) * 100}


def _with_acls(stage: Stage) -> Values:
    stage.close()
    with ExitStack() as stack:
        plain = stack.enter_context(_broker(stage, "plain"))
        asking = stack.enter_context(_broker(stage, "asking", _AUTHORIZER))
        isolation.run(acls.make, asking.endpoint, _TOPIC, stage.bench.amount(_RULES))
        return _compare(stage, (plain, asking))


def _with_quotas(stage: Stage) -> Values:
    stage.close()
    off = wire.set_quotas("ANONYMOUS", dict.fromkeys(_NO_LIMIT))
    on = wire.set_quotas("ANONYMOUS", _NO_LIMIT)
    with _broker(stage, "quotas") as broker:
        return _compare(stage, (broker, broker), (off, on))


def _decisions(stage: Stage) -> Values:
    from benchmarks.clients import decisions  # here, so that no other axis needs our packages

    stage.close()
    found = isolation.run(decisions.decide, _RULES)
    return {"first": found.first, "remembered": found.remembered}


def _held(stage: Stage) -> Values:
    stage.close()
    with _broker(stage, "held") as broker:
        with broker.connect() as connection:
            wire.check_quotas(connection.ask(wire.set_quotas("ANONYMOUS", {"producer_byte_rate": _QUOTA})))
        load = LimitedLoad(broker.endpoint, _TOPIC, 100, _QUOTA, stage.bench.seconds(_QUOTA_SECONDS))
        held = isolation.run(limited.produce, load)
        with broker.connect() as connection:
            found = record_count(connection, _TOPIC)
    if found != held.acknowledged * load.batch_records:
        raise wire.WireError(f"{_TOPIC} holds {found} records where {held.acknowledged * 100} were acknowledged")
    return {"rate": held.taken_bytes / held.elapsed / _QUOTA * 100}


def _logins(stage: Stage) -> Values:
    """Somebody else sends a record each two milliseconds: without log-ins, and while they come."""
    seconds = stage.bench.seconds(3)
    with serving(stage, "SASL_PLAINTEXT") as secure, stage.bench.scratch("stop") as stop:
        secure.make_topic()
        watch = RequestLoad(secure.broker.endpoint, secure.topic, 100, stage.warmup_seconds, seconds)
        before = isolation.run(requests.paced_for, watch, _PAUSE_SECONDS)
        load = LoginLoad(secure.endpoint, USER, PASSWORD, 2 * seconds, stage.warmup_seconds + 1, str(stop))
        with isolation.beside(requests.paced_until, watch, _PAUSE_SECONDS, Path(stop)) as others:
            done = isolation.run(logins.log_in, load)
            meanwhile = others.result()
    return {
        "rate": done.per_second,
        "cpu": done.broker_cpu_us,
        "before": before.p999 / 1000,
        "meanwhile": meanwhile.p999 / 1000,
    }


AXES = (
    Axis("acls", f"single-record requests, 64 in flight, without and with {_RULES:,} ACLs", OFF_AND_ON, _with_acls),
    Axis("quotas", "single-record requests, 64 in flight, without and with quotas", OFF_AND_ON, _with_quotas),
    Axis(
        "quota-rate",
        "a producer with a quota of 2 MB/s, that sends what it can for 30 s",
        (Measure("rate", "% of the quota", lower_is_better=False),),
        _held,
    ),
    Axis(
        "decision",
        f"one decision of the authorizer with {_RULES:,} ACLs",
        (Measure("first", "µs CPU the first time"), Measure("remembered", "µs CPU from then on")),
        _decisions,
        ours_only=True,
    ),
    Axis(
        "scram-logins",
        "log-ins by SCRAM-SHA-512 with 4,096 iterations, one connection after another",
        (
            Measure("rate", "log-ins/s", lower_is_better=False),
            Measure("cpu", "broker µs CPU each"),
            Measure("before", "p99.9 ms of others before"),
            Measure("meanwhile", "p99.9 ms of others meanwhile"),
        ),
        _logins,
    ),
)
