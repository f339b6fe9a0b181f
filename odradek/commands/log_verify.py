"""Running `odradek log verify`: the check, and with `--repair` new indexes between two checks."""

from __future__ import annotations

from odradek.commands.log_errors import in_one_sentence
from odradek.logs.message_json import Json
from odradek.logs.verify.directory import VerifyReport, data_size, read_layout, verify_directory
from odradek.logs.verify.findings import Finding
from odradek.logs.verify.repair import Repair, repair_indexes
from odradek.storage.directories.directory_lock import lock_directory
from odradek.storage.files import FileSystem, HeldLock, PosixFiles
from odradek.terminal.human import plural, size_text
from odradek.terminal.output import CommandOutput


def run(output: CommandOutput, directory: str, deep: bool, repair: bool, interval_bytes: int) -> bool:
    """Print what is wrong in the directory; return whether nothing is, at the end."""
    fs = PosixFiles()
    with in_one_sentence(directory):
        if not repair:
            report, done = _verify(output, fs, directory, deep, "Checking"), None
        else:
            lock = _lock(fs, directory)
            try:
                report = _verify(output, fs, directory, deep, "Checking", is_ours=True)
                done = repair_indexes(fs, report, interval_bytes)
                if done.rebuilt:
                    report = _verify(output, fs, directory, deep, "Checking again", is_ours=True)
            finally:
                if lock is not None:
                    lock.release()
    if output.json:
        output.document(report_json(report, done))
    else:
        _print(output, report, done)
    return report.errors == 0


def _lock(fs: FileSystem, directory: str) -> HeldLock | None:
    """Keep brokers out of the log directory. Raises DirectoryLocked where one runs, Apache Kafka included."""
    home = read_layout(fs, directory).log_directory
    return None if home is None else lock_directory(fs, home)


def _verify(
    output: CommandOutput, fs: FileSystem, directory: str, deep: bool, what: str, is_ours: bool = False
) -> VerifyReport:
    with output.progress(in_bytes=True) as progress:
        task = progress.add_task(what, total=data_size(fs, read_layout(fs, directory)))
        return verify_directory(fs, directory, deep, lambda count: progress.advance(task, count), is_ours)


def _print(output: CommandOutput, report: VerifyReport, done: Repair | None) -> None:
    if report.is_running:
        output.note("a broker runs on this directory: what it writes just now may look unfinished")
    elif report.was_clean is False:
        output.note("the broker was not stopped in order: its next start checks and cuts the ends of the logs")
    for finding in report.findings:
        output.line(f"{finding.severity.value}: {finding}")
    if done is not None:
        for path in done.rebuilt:
            output.line(f"rebuilt: {path}")
        for path, reason in done.left.items():
            output.line(f"not rebuilt: {path}: {reason}")
    gone_over = (
        f"{plural(report.segments, 'segment')}, {plural(report.batches, 'batch', 'batches')}, {size_text(report.size)}"
    )
    notes = len(report.findings) - report.errors
    found = f"{plural(report.errors, 'error')}, {plural(notes, 'note')}" if report.findings else "nothing is wrong"
    output.heading(f"{plural(len(report.partitions), 'partition')}, {gone_over}: {found}")


def report_json(report: VerifyReport, done: Repair | None) -> dict[str, Json]:
    """Return the report as a JSON value."""
    return {
        "directory": report.directory,
        "ok": report.errors == 0,
        "broker_running": report.is_running,
        "clean_shutdown": report.was_clean,
        "errors": report.errors,
        "findings": [_finding_json(each) for each in report.findings],
        "rebuilt": [] if done is None else list(done.rebuilt),
        "not_rebuilt": [] if done is None else [{"path": path, "reason": why} for path, why in done.left.items()],
        "partitions": [
            {
                "directory": each.directory,
                "segments": each.segments,
                "batches": each.batches,
                "size": each.size,
                "start_offset": each.start_offset,
                "end_offset": each.end_offset,
            }
            for each in report.partitions
        ],
    }


def _finding_json(finding: Finding) -> dict[str, Json]:
    return {
        "severity": finding.severity.value,
        "path": finding.path,
        "position": finding.position,
        "offset": finding.offset,
        "reason": finding.reason,
    }
