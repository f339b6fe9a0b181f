"""Bringing many logs to the disk at once, as a stop does."""

from collections.abc import Iterable
from contextlib import suppress

from odradek.storage.errors import StorageError
from odradek.storage.files import FileSystem
from odradek.storage.log.flush_plan import FlushPlan
from odradek.storage.log.log import Log
from odradek.storage.threads import for_each

_SYNC_THREADS = 8


def flush_all(fs: FileSystem, logs: Iterable[Log]) -> dict[str, str]:
    """Bring many logs to the disk, several at a time: a disk can do so at little more cost than one.

    Returns why it did not work, by the directory of the log; the others are not concerned.
    """
    problems: dict[str, str] = {}
    plans: list[tuple[Log, FlushPlan]] = []
    for log in logs:
        try:
            plan = log.prepare_flush()
        except StorageError as error:
            problems[log.directory] = str(error)
        else:
            if plan is not None:
                plans.append((log, plan))

    def sync(planned: tuple[Log, FlushPlan]) -> None:
        log, plan = planned
        try:
            plan.sync_files()
        except (OSError, StorageError) as error:
            problems[log.directory] = str(log.local.sync_failed(error))

    for_each(plans, lambda: sync, _SYNC_THREADS)
    for directory in {directory for _, plan in plans for directory in plan.directories}:
        try:
            with suppress(FileNotFoundError):
                fs.sync_dir(directory)
        except OSError as error:
            hit = [log for log, plan in plans if directory in plan.directories]
            problems |= {log.directory: str(log.local.sync_failed(error)) for log in hit}
    for log, plan in plans:
        if log.directory not in problems:
            log.local.complete_flush(plan)
    return problems
