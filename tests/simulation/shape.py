"""What kind of life a seed leads: how many brokers, how busy their clients are, what goes wrong and how often."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from random import Random


class Fault(Enum):
    """What may happen to a cluster."""

    KILL = "a broker's process is killed"
    LOSE_POWER = "a broker's machine loses power"
    STOP = "a broker is stopped in order"
    REPLACE_DISK = "a broker is stopped in order, and comes back with an empty disk"
    STAND_STILL = "a broker stands still"
    CUT = "bytes do not arrive"
    SLOW_DISK = "a disk is slow"
    FULL_DISK = "a disk is full"
    SLOW_NETWORK = "the network is slow"
    JUMP = "a clock jumps"
    END_CONTROLLER = "the controller loses power"
    REASSIGN = "a partition is moved"
    CANCEL = "a move is called off"
    ELECT = "the preferred replicas are to lead"
    CONFIGURE = "a config is changed"
    RECREATE = "a topic is deleted, and made again"


MACHINES = {
    Fault.KILL: 2,
    Fault.LOSE_POWER: 2,
    Fault.STOP: 1,
    Fault.REPLACE_DISK: 1,
    Fault.STAND_STILL: 1,
    Fault.CUT: 6,
    Fault.SLOW_DISK: 1,
    Fault.FULL_DISK: 1,
    Fault.SLOW_NETWORK: 1,
    Fault.JUMP: 1,
    Fault.END_CONTROLLER: 1,
}
ADMINISTRATORS = {
    Fault.REASSIGN: 3,
    Fault.CANCEL: 1,
    Fault.ELECT: 1,
    Fault.CONFIGURE: 1,
    Fault.RECREATE: 1,
}


@dataclass(frozen=True, slots=True)
class Shape:
    """A kind of life. Times are virtual seconds."""

    brokers: int = 3
    replicas: int = 3
    partitions: int = 2
    faults_s: float = 10.0
    """How long things go wrong."""
    rest_s: tuple[float, float] = (0.1, 2.0)
    """How long nothing new goes wrong in between."""
    produce_pause_s: float = 0.2
    """How long a producer waits after an acknowledgement, on average."""
    session_s: float = 3.0
    """broker.session.timeout.ms"""
    cut_s: tuple[float, float] = (0.2, 6.0)
    """How long bytes do not arrive."""
    cuts_controller: bool = True
    """Whether brokers are cut off from the controller, too."""
    away_s: tuple[float, ...] = (0.05, 1.0, 5.0)
    """How long a broker that has ended is away, one of these."""
    lag_s: float = 2.0
    """replica.lag.time.max.ms"""
    deletes: bool = False
    """Whether old records go: segments are small, and retention keeps few of them."""
    copiers: int = 0
    """How many clients copy numbers from topic to topic in transactions."""
    transactions_end_s: float = 400.0
    """Until when all transactions must have ended once nothing is wrong any more: a clock that jumped ahead by a minute
    and back lets them last longer."""
    faults: Mapping[Fault, int] = field(default_factory=lambda: MACHINES)
    """What may go wrong, and how likely each is beside the others."""

    @property
    def settings(self) -> dict[str, str]:
        """Settings of all nodes."""
        return {
            "broker.session.timeout.ms": str(round(self.session_s * 1000)),
            "broker.heartbeat.interval.ms": str(round(self.session_s * 1000 / 6)),
            "replica.lag.time.max.ms": str(round(self.lag_s * 1000)),
            "log.retention.check.interval.ms": "1000",
            "offsets.topic.num.partitions": "1",
            "offsets.topic.replication.factor": str(self.replicas),
            "group.initial.rebalance.delay.ms": "0",
            "transaction.state.log.num.partitions": "2",
            "transaction.state.log.replication.factor": str(self.replicas),
            "transaction.state.log.min.isr": "2",
            "transaction.abort.timed.out.transaction.cleanup.interval.ms": "1000",
        }

    @property
    def configs(self) -> dict[str, str]:
        """Configs of the topic."""
        small = {"internal.segment.bytes": "1000", "retention.bytes": "4000", "file.delete.delay.ms": "500"}
        return {"min.insync.replicas": "2", **(small if self.deletes else {})}


def shape_of(seed: int) -> Shape:
    """Return the kind of life that a seed leads: mostly short ones."""
    random = Random(f"shape {seed}")
    brokers, replicas = random.choice(((2, 2), (3, 2), (3, 3), (3, 3), (4, 3)))
    session_s = random.choice((1.0, 3.0))
    return Shape(
        brokers=brokers,
        replicas=replicas,
        partitions=random.choice((1, 2)),
        faults_s=random.choice((3.0, 4.0, 5.0, 6.0, 6.0, 15.0)),
        rest_s=random.choice(((0.02, 0.4), (0.1, 0.8), (0.1, 1.5))),
        produce_pause_s=random.choice((0.1, 0.3, 0.6)),
        session_s=session_s,
        cut_s=(0.2, session_s + random.choice((0.0, 3.0))),
        away_s=(0.05, 1.0, session_s + 2),
        lag_s=random.choice((0.8, 2.0, 5.0)),
        deletes=random.random() < 0.25,
        faults={**MACHINES, **ADMINISTRATORS} if brokers > replicas or random.random() < 0.5 else MACHINES,
        copiers=random.choice((0, 0, 0, 0, 0, 0, 1, 2)),
    )
