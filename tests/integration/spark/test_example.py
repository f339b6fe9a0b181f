"""The example that goes from nothing to a chart."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import pytest

from tests.support.broker import REPOSITORY, BrokerProcess

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.xdist_group("spark"), pytest.mark.timeout(600)]


def _example() -> Any:
    path = REPOSITORY / "examples" / "orders_by_minute.py"
    spec = importlib.util.spec_from_file_location("orders_by_minute", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_orders_become_a_chart(spark: SparkSession, broker: BrokerProcess, topic: str, tmp_path: Path) -> None:
    """Every order is in the bar of its minute."""
    picture = tmp_path / "chart.svg"
    produced, minutes = _example().run(spark, broker.bootstrap, topic, picture)
    assert len(minutes) == 60
    bars = ElementTree.parse(picture).getroot().findall("{http://www.w3.org/2000/svg}rect")
    titles = [bar[0].text for bar in bars]
    assert titles == [f"{each.label}: {each.orders} orders, {each.amount:.2f}" for each in minutes]
    assert sum(each.orders for each in minutes) == produced
