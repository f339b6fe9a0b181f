"""Faults of a cluster's processes: brokers and controller are killed, stopped, paused and cut off."""

from __future__ import annotations

import random
import signal
import threading
import time

from tests.support.cluster_processes import ProxiedCluster, ProxiedNode


class Faults:
    """What goes wrong, one thing or two at a time, by chance; never more than one broker at a time is dead or alone."""

    def __init__(self, cluster: ProxiedCluster, seed: int, session_s: float) -> None:
        """`session_s` is how long a broker may be silent before it is fenced."""
        self._cluster = cluster
        self._session_s = session_s
        self._random = random.Random(seed)
        self.story: list[str] = []

    def go_on(self, seconds: float) -> None:
        """Let things go wrong for so long."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            node = self._random.choice(self._cluster.brokers)
            fault = self._random.choice(
                [self._kill, self._kill, self._stop, self._pause, self._cut_off, self._cut_one_way, self._controller]
            )
            self._tell(f"{fault.__name__} {node.node_id}")
            fault(node)
            self._wait(self._random.uniform(0.5, 2.5))

    def _kill(self, node: ProxiedNode) -> None:
        node.kill()
        self._wait(self._random.choice([0.1, 1.0, self._session_s + 2]))
        node.start()

    def _stop(self, node: ProxiedNode) -> None:
        assert node.stop() == 0, node.log
        self._wait(self._random.choice([0.1, 2.0]))
        node.start()

    def _pause(self, node: ProxiedNode) -> None:
        node.signal(signal.SIGSTOP)
        self._wait(self._random.choice([0.5, 2.0, self._session_s + 3]))
        node.signal(signal.SIGCONT)

    def _cut_off(self, node: ProxiedNode) -> None:
        node.proxy.cut()
        self._wait(self._random.choice([1.0, self._session_s + 2]))
        node.proxy.heal()

    def _cut_one_way(self, node: ProxiedNode) -> None:
        inward = self._random.random() < 0.5
        node.proxy.cut(inward=inward, outward=not inward)
        self._wait(self._random.choice([1.0, self._session_s + 2]))
        node.proxy.heal()

    def _controller(self, _node: ProxiedNode) -> None:
        controller = self._cluster.controller
        if self._random.random() < 0.5:
            controller.kill()
            self._wait(self._random.uniform(0.1, 2.0))
            controller.start()
        else:
            controller.proxy.cut()
            self._wait(self._random.uniform(0.5, self._session_s + 1))
            controller.proxy.heal()

    def _wait(self, seconds: float) -> None:
        threading.Event().wait(seconds)  # a fault lasts: there is nothing to wait for but time

    def _tell(self, what: str) -> None:
        self.story.append(f"{time.strftime('%H:%M:%S')} {what}")
