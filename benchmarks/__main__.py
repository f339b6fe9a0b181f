"""The command line: `python -m benchmarks [--only NAME …] [--quick] [--peers] [--markdown FILE]`."""

from __future__ import annotations

import argparse
import fnmatch
import shlex
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks import axes, peers, table, target
from benchmarks.axis import Axis, Bench
from benchmarks.runner import BenchmarkPlan, run

_QUICK_SCALE = 0.2


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what the arguments say and print the table; 1 when an axis failed, 2 when there was nothing to run."""
    options = _parser().parse_args(arguments)
    if options.list:
        for axis in (*axes.ALL, *axes.CLUSTER):
            print(f"{axis.name:16} {axis.title}")
        return 0
    chosen = _choose(options.only, axes.CLUSTER if options.cluster else axes.ALL)
    if not chosen:
        print(f"no axis is called {' or '.join(options.only)}; --list shows their names", file=sys.stderr)
        return 2
    targets = [] if options.kafka else [target.odradek(shlex.split(options.under), options.unpacked)]
    if options.peers or options.kafka:
        try:
            peers.install()
        except peers.PeerUnavailableError as error:
            print(error, file=sys.stderr)
            return 2
        targets.insert(0, target.APACHE_KAFKA)
    if options.quick:
        targets = [target.brief(each) for each in targets]
    with tempfile.TemporaryDirectory(prefix="odradek-bench-", dir=options.directory) as directory:
        bench = Bench(_QUICK_SCALE if options.quick else 1.0, Path(directory))
        report = run(BenchmarkPlan(chosen, targets, options.repeat, not options.no_floors, options.patience), bench)
    print(table.text(report))
    if options.markdown:
        page = Path(options.markdown)
        page.write_text(table.spliced(page.read_text() if page.exists() else "", report))
    return 1 if report.failed else 0


def _choose(patterns: Sequence[str], offered: Sequence[Axis]) -> list[Axis]:
    """The axes whose name fits any of the patterns, in their own order; all that are offered when there is none."""
    if not patterns:
        return list(offered)
    wanted = [pattern for given in patterns for pattern in given.split(",")]
    every = (*axes.ALL, *axes.CLUSTER)
    return [axis for axis in every if any(fnmatch.fnmatch(axis.name, pattern) for pattern in wanted)]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("python -m benchmarks", description="Measure odradek beside its floors.")
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="axes to run, or 'produce-*'")
    parser.add_argument("--list", action="store_true", help="list the axes and end")
    parser.add_argument("--quick", action="store_true", help="shorter loads, for a first look")
    parser.add_argument("--repeat", type=int, default=1, metavar="N", help="take each axis N times, show medians")
    parser.add_argument("--no-floors", action="store_true", help="leave the floors out")
    parser.add_argument("--peers", action="store_true", help="Apache Kafka from Maven, then odradek; ratios")
    parser.add_argument("--cluster", action="store_true", help="the axes of three brokers with three replicas")
    parser.add_argument("--kafka", action="store_true", help="Apache Kafka alone")
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
