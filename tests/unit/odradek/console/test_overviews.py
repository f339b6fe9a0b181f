"""How often the cluster is asked for everything."""

from __future__ import annotations

import logging
import threading

import pytest

from odradek.cluster.connection import ClusterClients
from odradek.cluster.overview import ClusterOverview, TopicOverview
from odradek.console.clusters import ClusterPool
from odradek.console.overviews import FRESH_S, MUCH, OLDEST_S, Overviews
from odradek.terminal.errors import CommandError
from tests.support.waiting import eventually


class _AskedCluster:
    """Counts how often it is asked."""

    def __init__(self) -> None:
        self.now = 100.0
        self.asked = 0
        self.takes = 0.0
        self.is_away = False
        pool = ClusterPool(lambda: ClusterClients("127.0.0.1:1", {}, logging.getLogger("test")))
        self.overviews = Overviews(pool, self.ask, lambda: self.now, self.names)
        self.partitions = 1
        self.names_asked = 0
        self.may_answer = threading.Event()
        self.may_answer.set()

    def ask(self, _: ClusterClients) -> ClusterOverview:
        self.may_answer.wait(30)
        if self.is_away:
            raise CommandError("away")
        self.asked += 1
        self.now += self.takes
        return ClusterOverview([TopicOverview("t", False, self.partitions, 1, 0, 0, 10, 0, None, 0)], [])

    def names(self, _: ClusterClients) -> ClusterOverview:
        if self.is_away:
            raise CommandError("away")
        self.names_asked += 1
        topic = TopicOverview("t", False, self.partitions, 1, 0, 0, None, None, None, 0)
        return ClusterOverview([topic], [], is_whole=False)


def test_fresh_overview_is_shared() -> None:
    """Who looks soon after another one sees the same; later the cluster is asked again."""
    cluster = _AskedCluster()
    first = cluster.overviews.current()
    cluster.now += FRESH_S - 0.1
    assert cluster.overviews.current() is first
    cluster.now += 0.2
    assert cluster.overviews.current() is not first


def test_slow_overview_stays_fresh_longer() -> None:
    """A large cluster, of which an overview takes long, is asked less often."""
    cluster = _AskedCluster()
    cluster.takes = 10.0
    first = cluster.overviews.current()
    cluster.now += 40
    assert cluster.overviews.current() is first


def test_nobody_waits_for_a_slow_overview() -> None:
    """Of a large cluster the last overview is shown, with its age, while a new one is asked for in the background."""
    cluster = _AskedCluster()
    cluster.takes = 10.0
    first = cluster.overviews.current()
    cluster.now += 100
    cluster.takes = 0.0
    assert cluster.overviews.current() is first
    assert cluster.overviews.age(first) == 100
    eventually(lambda: cluster.overviews.current() is not first, "the new one is there")
    assert cluster.asked == 2


def test_cluster_that_went_away_in_the_background_is_told() -> None:
    """Where asking in the background fails, the next one who looks is told why."""
    cluster = _AskedCluster()
    cluster.takes = 10.0
    cluster.overviews.current()
    cluster.now += 100
    cluster.is_away = True
    cluster.overviews.current()

    def is_told() -> bool:
        try:
            cluster.overviews.current()
        except CommandError:
            return True
        return False

    eventually(is_told, "the cluster is away")


def test_change_is_seen_at_once() -> None:
    """After a change the next one who looks gets a new overview."""
    cluster = _AskedCluster()
    cluster.overviews.current()
    cluster.overviews.forget()
    cluster.overviews.current()
    assert cluster.asked == 2


def test_away_cluster_is_told() -> None:
    """A cluster that is away is an error, and the next one asks again."""
    cluster = _AskedCluster()
    cluster.is_away = True
    with pytest.raises(CommandError, match="away"):
        cluster.overviews.current()
    cluster.is_away = False
    assert cluster.overviews.current().overview.topics


def test_nobody_waits_while_there_is_a_last_one() -> None:
    """While one asks the cluster, others get the last overview, unless that is too old."""
    cluster = _AskedCluster()
    first = cluster.overviews.current()
    asking, go_on = threading.Event(), threading.Event()
    ask = cluster.ask

    def slow(clients: ClusterClients) -> ClusterOverview:
        asking.set()
        assert go_on.wait(60)
        return ask(clients)

    cluster.overviews._ask = slow
    cluster.now += FRESH_S + 1
    thread = threading.Thread(target=cluster.overviews.current)
    thread.start()
    assert asking.wait(60)
    assert cluster.overviews.current() is first
    go_on.set()
    thread.join(60)
    cluster.now += OLDEST_S + 1
    assert cluster.overviews.current().at == cluster.now


def test_names_of_a_large_cluster_are_there_before_the_rest() -> None:
    """Nobody waits for the first overview: each who looks meanwhile sees the names, and later all of it."""
    cluster = _AskedCluster()
    cluster.partitions = MUCH
    cluster.may_answer.clear()
    assert not cluster.overviews.at_once().overview.is_whole
    assert not cluster.overviews.at_once().overview.is_whole
    assert (cluster.asked, cluster.names_asked) == (0, 1)
    cluster.may_answer.set()
    eventually(lambda: cluster.overviews.at_once().overview.is_whole, "all of it is there")
    assert cluster.names_asked == 1
    cluster.overviews.forget()
    cluster.overviews.at_once()
    assert cluster.names_asked == 2


def test_of_a_small_cluster_all_is_there_at_once() -> None:
    """It takes no time, and nobody sees a list without its numbers."""
    cluster = _AskedCluster()
    cluster.partitions = MUCH - 1
    assert cluster.overviews.at_once().overview.is_whole
    assert cluster.overviews.at_once().overview.is_whole
    assert (cluster.asked, cluster.names_asked) == (1, 1)


def test_a_large_cluster_that_goes_away_meanwhile_is_told() -> None:
    """Names of a cluster that no longer answers are not shown for ever."""
    cluster = _AskedCluster()
    cluster.partitions = MUCH
    cluster.may_answer.clear()
    assert not cluster.overviews.at_once().overview.is_whole
    cluster.is_away = True

    def is_away() -> bool:
        cluster.may_answer.set()
        try:
            cluster.overviews.at_once()
        except CommandError:
            return True
        return False

    eventually(is_away, "it is told")
