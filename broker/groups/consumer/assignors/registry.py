"""Assignors by the names that members and configs call them."""

from __future__ import annotations

from types import MappingProxyType

from odradek.broker.groups.consumer.assignors.range import assign_ranges
from odradek.broker.groups.consumer.assignors.spec import Assignor
from odradek.broker.groups.consumer.assignors.uniform import assign_uniformly

ASSIGNORS: MappingProxyType[str, Assignor] = MappingProxyType({"uniform": assign_uniformly, "range": assign_ranges})
"""In the order in which Kafka's config names them; the first is the default."""
