"""What is said of the logs that a start has found."""

from odradek.broker.runtime.logging import get_logger
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
