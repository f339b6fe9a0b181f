"""The command line: `python -m benchmarks.growth [--quick] [--only NAME …] [--svg FILE] [--markdown FILE]`."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks import machine
from benchmarks.growth.measuring import MEASURES, GrowthRun, curves
from benchmarks.growth.page import row, spliced, table
from benchmarks.growth.plot import svg


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print the table, and write picture and page where they are asked for."""
    parser = argparse.ArgumentParser("python -m benchmarks.growth", description="Measure how odradek grows.")
    parser.add_argument("--only", nargs="+", default=list(MEASURES), choices=list(MEASURES), metavar="NAME")
    parser.add_argument("--quick", action="store_true", help="the smaller amounts, for a first look")
    parser.add_argument("--svg", metavar="FILE", help="write the picture there")
    parser.add_argument("--markdown", metavar="FILE", help="write the table as markdown, in its place in FILE")
    parser.add_argument("--directory", metavar="DIR", help="where scratch data goes, up to 12 GB")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="odradek-growth-", dir=options.directory) as directory:
        run = GrowthRun(Path(directory), 0.5 if options.quick else 2.0, options.quick)
        before, found = machine.read_cpu(), []
        for curve in curves(run, options.only):
            print(row(curve), file=sys.stderr, flush=True)
            found.append(curve)
        others = before.others_share(machine.read_cpu())
    remark = f"{machine.describe()}. Others used {others:.0%} of the machine meanwhile."
    picture = os.path.relpath(options.svg, Path(options.markdown).parent) if options.svg and options.markdown else ""
    shown = table(found, remark, picture)
    print(shown)
    if options.svg:
        Path(options.svg).write_text(svg(found))
    if options.markdown:
        page = Path(options.markdown)
        page.write_text(spliced(page.read_text(), shown))
    return 0


if __name__ == "__main__":
    sys.exit(main())
