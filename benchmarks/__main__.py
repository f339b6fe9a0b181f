"""The command line: `python -m benchmarks [--only NAME …] [--quick] [--peers | --beside REV] [--markdown FILE]`."""

from __future__ import annotations

import argparse
import fnmatch
import shlex
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks import axes, peers, revisions, table, target
from benchmarks.axis import Axis, Bench
from benchmarks.runner import BenchmarkPlan, run
from benchmarks.target import Target

_QUICK_SCALE = 0.2


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what the arguments say and print the table; 1 when an axis failed, 2 when there was nothing to run."""
    options = _parser().parse_args(arguments)
    if options.list:
        for axis in (*axes.ALL, *axes.CLUSTER, *axes.ON_REQUEST):
            print(f"{axis.name:16} {axis.title}")
        return 0
    chosen = _choose(options.only, axes.CLUSTER if options.cluster else axes.ALL)
    if options.beside:
        chosen = [axis for axis in chosen if not axis.in_process]
    if not chosen:
        print(f"no axis is called {' or '.join(options.only)}; --list shows their names", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory(prefix="odradek-bench-", dir=options.directory) as directory:
        try:
            targets = _targets(options, Path(directory))
        except (peers.PeerUnavailableError, revisions.RevisionUnavailableError) as error:
            print(error, file=sys.stderr)
            return 2
        if options.quick:
            targets = [target.brief(each) for each in targets]
        bench = Bench(_QUICK_SCALE if options.quick else 1.0, Path(directory))
        floors = not (options.no_floors or options.beside)
        plan = BenchmarkPlan(chosen, targets, options.repeat, floors, options.patience, in_turns=bool(options.beside))
        report = run(plan, bench)
    print(table.text(report))
    if options.markdown:
        page = Path(options.markdown)
        page.write_text(table.spliced(page.read_text() if page.exists() else "", report))
    return 1 if report.failed else 0


def _targets(options: argparse.Namespace, scratch: Path) -> list[Target]:
    """What is measured, ours last; PeerUnavailableError or RevisionUnavailableError where the other cannot be had."""
    prefix = shlex.split(options.under)
    if options.beside:
        base = revisions.check_out(options.beside, scratch)
        head = Path(options.unpacked) if options.unpacked else revisions.REPOSITORY
        return [revisions.target_in(base, options.beside, prefix), revisions.target_in(head, "odradek", prefix)]
    targets = [] if options.kafka else [target.odradek(prefix, options.unpacked)]
    if options.peers or options.kafka:
        peers.install()
        targets.insert(0, target.APACHE_KAFKA)
    return targets


def _choose(patterns: Sequence[str], offered: Sequence[Axis]) -> list[Axis]:
    """The axes whose name fits any of the patterns, in their own order; all that are offered when there is none."""
    if not patterns:
        return list(offered)
    wanted = [pattern for given in patterns for pattern in given.split(",")]
    every = (*axes.ALL, *axes.CLUSTER, *axes.ON_REQUEST)
    return [axis for axis in every if any(fnmatch.fnmatch(axis.name, pattern) for pattern in wanted)]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("python -m benchmarks", description="Measure odradek beside its floors.")
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="axes to run, or 'produce-*'")
    parser.add_argument("--list", action="store_true", help="list the axes and end")
    parser.add_argument("--quick", action="store_true", help="shorter loads, for a first look")
    parser.add_argument("--repeat", type=int, default=1, metavar="N", help="take each axis N times, show medians")
    parser.add_argument("--no-floors", action="store_true", help="leave the floors out")
    others = parser.add_mutually_exclusive_group()
    others.add_argument("--peers", action="store_true", help="Apache Kafka from Maven, then odradek; ratios")
    others.add_argument("--kafka", action="store_true", help="Apache Kafka alone")
    others.add_argument(
        "--beside", metavar="REV", help="a revision of git and the working tree in turns, each axis with both; ratios"
    )
    parser.add_argument("--cluster", action="store_true", help="the axes of three brokers with three replicas")
    parser.add_argument(
        "--patience", type=float, default=0, metavar="SECONDS", help="wait so long for a quiet machine before each axis"
    )
    parser.add_argument("--markdown", metavar="FILE", help="write the table as markdown, in its place in FILE")
    parser.add_argument("--directory", metavar="DIR", help="where scratch data goes, several GB")
    parser.add_argument("--under", default="", metavar="COMMAND", help="start odradek under this command: a profiler")
    parser.add_argument("--unpacked", metavar="DIR", help="measure the odradek of an unpacked wheel: the compiled one")
    return parser


if __name__ == "__main__":
    sys.exit(main())
