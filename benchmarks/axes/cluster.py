"""What a cluster of three brokers does about many partitions, and about a broker that dies or goes; and what one of one
to four broker processes takes in."""

from __future__ import annotations

import time

from benchmarks import isolation, wire
from benchmarks.axes.requests import WARM_AT_ONCE_SECONDS
from benchmarks.axis import Axis, Measure, Stage, Values
from benchmarks.clients import requests
from benchmarks.clients.failover import SteadyProducer
from benchmarks.clients.requests import RequestLoad
from benchmarks.clusters import Cluster

_PARTITIONS = 1000
_SETTLING_SECONDS = 15.0
_IDLE_SECONDS = 20.0
_REPLICAS = [(1, 2, 3)]
_PROCESSES = (1, 2, 3, 4)
_CONNECTIONS = 100


def _partitions(stage: Stage) -> Values:
    """Make them, leave them alone, and lose a broker that leads a third of them."""
    count = stage.bench.amount(_PARTITIONS)
    stage.close()  # nothing but these partitions
    cluster = stage.cluster()
    topic = "many"
    with cluster.brokers[0].connect() as connection:
        began = time.perf_counter()
        request = wire.create_topics([wire.NewTopic(topic, count, replicas=3)])
        wire.check_created(connection.ask(request))
        answered = time.perf_counter() - began
    cluster.await_in_sync(topic, count)
    known = time.perf_counter() - began
    time.sleep(_SETTLING_SECONDS)
    seconds = stage.bench.seconds(_IDLE_SECONDS)
    before = cluster.cpu_seconds()
    time.sleep(seconds)
    shares = [(after - before[node_id]) / seconds for node_id, after in cluster.cpu_seconds().items()]
    moved = _kill_and_see(cluster, topic)
    stage.close()
    return {
        "answer": answered * 1e3,
        "known": known * 1e3,
        "idle": max(shares) * 100,
        "moved": moved * 1e3,
    }


def _kill_and_see(cluster: Cluster, topic: str) -> float:
    """Seconds from when a broker that was killed is fenced until nothing is led by it, as another broker knows it."""
    killed = 3
    cluster.kill(killed)
    cluster.until(lambda: killed not in cluster.image().brokers, f"broker {killed} is not fenced")
    fenced = time.perf_counter()

    def is_moved() -> bool:
        found = cluster.image([topic]).partitions[topic].values()
        return all(one.leader not in (killed, -1) for one in found)

    cluster.until(is_moved, f"broker {killed} still leads")
    return time.perf_counter() - fenced


def _failover(stage: Stage) -> Values:
    cluster = stage.cluster()
    with cluster.topic("moved", assignments=_REPLICAS) as topic:
        stopped = SteadyProducer(cluster.bootstrap, topic)
        stopped.start()
        time.sleep(stage.bench.seconds(3))
        cluster.stop(1)
        time.sleep(1)
        after_stop = stopped.finish()
        cluster.start(1)
        cluster.await_in_sync(topic, 1)

        killed = SteadyProducer(cluster.bootstrap, topic)
        killed.start()
        time.sleep(stage.bench.seconds(3))
        leader = cluster.leader_of(topic)
        moment = time.monotonic()
        cluster.kill(leader)
        killed.await_acknowledgement_after(moment + 0.1)
        time.sleep(1)
        after_kill = killed.finish()
        cluster.start(leader)
        cluster.await_in_sync(topic, 1)
    return {
        "stop": after_stop.longest_gap * 1e3,
        "refused": after_stop.refused,
        "kill": after_kill.longest_gap,
    }


def _processes(stage: Stage) -> Values:
    """The same connections, spread over as many leaders as there are brokers: one partition each, one replica."""
    stage.close()
    values: dict[str, float] = {}
    for count in _PROCESSES:
        with stage.bench.scratch("processes") as directory, Cluster(stage.target, directory, count) as cluster:
            ids = range(1, count + 1)
            cluster.make_topic("spread", [(node_id,) for node_id in ids])
            load = RequestLoad(
                cluster[1].endpoint,
                "spread",
                100,
                stage.warmup_seconds,
                stage.bench.seconds(4),
                _CONNECTIONS,
                until_steady=stage.warmup_seconds > WARM_AT_ONCE_SECONDS,
                leaders=tuple(cluster[node_id].endpoint for node_id in ids),
            )
            figures = isolation.run(requests.many_connections, load)
            values |= {f"rate-{count}": figures.per_second, f"cpu-{count}": figures.broker_cpu_us}
    return values


AXES = (
    Axis(
        "cluster-processes",
        f"{_CONNECTIONS} request-response connections, 100 B, over the leaders of 1 to 4 broker processes",
        tuple(
            measure
            for count in _PROCESSES
            for measure in (
                Measure(f"rate-{count}", f"requests/s, {count} broker{'s' * (count > 1)}", lower_is_better=False),
                Measure(f"cpu-{count}", f"brokers' µs CPU each, {count}"),
            )
        ),
        _processes,
    ),
    Axis(
        "cluster-many",
        "1,000 partitions x 3 replicas on 3 brokers",
        (
            Measure("answer", "ms to the answer of CreateTopics"),
            Measure("known", "ms until all brokers know all leaders"),
            Measure("idle", "% CPU of one core, busiest broker, idle"),
            Measure("moved", "ms from fencing of a dead broker until its leaders are moved"),
        ),
        _partitions,
    ),
    Axis(
        "cluster-failover",
        "a leader goes, with a librdkafka producer at 200 records a second, acks=all",
        (
            Measure("stop", "ms without ack, controlled shutdown"),
            Measure("refused", "records refused, controlled shutdown"),
            Measure("kill", "s without ack, kill -9 (session timeout 9 s)"),
        ),
        _failover,
    ),
)
