"""From --bootstrap-server and --command-config to a cluster that answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from odradek.cli.output import Output


@dataclass(frozen=True, slots=True)
class Cluster:
    """A cluster to talk to; `settings` are librdkafka's."""

    bootstrap: str
    settings: Mapping[str, str]
    properties: Path | None
    output: Output


def connect(bootstrap: str, properties: Path | None, output: Output) -> Cluster:
    """Return the cluster at these addresses."""
    return Cluster(bootstrap, {"bootstrap.servers": bootstrap}, properties, output)
