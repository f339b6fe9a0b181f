"""Visitors of a console of the shared broker."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.broker import BrokerProcess
from tests.support.console import ConsoleVisitor


@pytest.fixture(scope="module")
def visitor(broker: BrokerProcess) -> Iterator[ConsoleVisitor]:
    """A browser's session with a console of the shared broker."""
    visitor = ConsoleVisitor(broker.bootstrap)
    yield visitor
    visitor.close()
