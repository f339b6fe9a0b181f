"""Lending the clients of a cluster."""

from __future__ import annotations

import logging
import threading

import pytest

from odradek.cluster.connection import ClusterClients
from odradek.console.clusters import ClusterPool
from odradek.terminal.errors import CommandError


class _Made:
    def __init__(self) -> None:
        self.clients: list[ClusterClients] = []

    def __call__(self) -> ClusterClients:
        self.clients.append(ClusterClients("127.0.0.1:1", {}, logging.getLogger("test")))
        return self.clients[-1]


def test_clients_are_lent_again() -> None:
    """What is given back is lent to the next one, and nobody gets what is in use."""
    made = _Made()
    pool = ClusterPool(made)
    with pool.borrow() as first, pool.borrow() as second:
        assert first is not second
    with pool.borrow() as third:
        assert third is second or third is first
    assert len(made.clients) == 2


def test_clients_with_a_problem_are_not_lent_again() -> None:
    """After an error the next one gets new clients: the old ones may be in the middle of an answer."""
    made = _Made()
    pool = ClusterPool(made)
    with pytest.raises(CommandError), pool.borrow():
        raise CommandError("no")
    with pool.borrow() as second:
        assert second is made.clients[1]


def test_waiting_has_an_end() -> None:
    """Who waits for clients too long is told so; who does not wait long gets them."""
    pool = ClusterPool(_Made(), at_once=1, wait_s=0.01)
    with pool.borrow(), pytest.raises(CommandError, match="busy"), pool.borrow():
        pass
    patient = ClusterPool(_Made(), at_once=1, wait_s=60)
    got = threading.Event()

    def wait() -> None:
        with patient.borrow():
            got.set()

    with patient.borrow():
        thread = threading.Thread(target=wait)
        thread.start()
    thread.join(60)
    assert got.is_set()
