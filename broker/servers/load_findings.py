"""What is said of the logs that a start has found, and once it is done."""

import os

from odradek.broker.runtime.logging import get_logger
from odradek.broker.servers.listeners import ServerListeners
from odradek.broker.servers.shared import SharedServer
from odradek.build_kind import build_kind
from odradek.storage.directories.loading import LoadReport

log = get_logger("broker")


def log_findings(report: LoadReport) -> None:
    """Say what was not as it should be, and what was done about it."""
    for finding in report.findings:
        log.warning("found at start", finding=finding)
    for path in report.strays.values():
        log.warning("set aside as stray: it belongs to no topic of this cluster; nothing was removed", directory=path)
    for partition, reason in report.offline.items():
        log.error("partition is offline", partition=str(partition), reason=reason)
    if report.recovered:
        log.info("checked logs after an unclean stop", logs=report.recovered)


def log_ready(shared: SharedServer, listeners: ServerListeners, report: LoadReport) -> None:
    """Say where clients reach the node, and how long the start took."""
    log.info(
        "ready",
        listeners=listeners.bound_text(),
        advertised=listeners.advertised_text(),
        data=",".join(os.path.abspath(directory.path) for directory in shared.directories),
        node_id=shared.settings.node_id,
        partitions=report.loaded,
        build=build_kind(),
        took_ms=round((shared.clock.monotonic() - shared.started_at) * 1000),
    )
