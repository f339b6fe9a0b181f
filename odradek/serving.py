"""`odradek serve`: its arguments, and the only way from the command into the broker.

Read with argparse, not with the library of the other commands: the broker answers before that one is imported.
"""

import argparse
import gc
import os
from collections.abc import Sequence

SUMMARY = "Run the broker."

EXAMPLES = """\
examples:
  odradek serve                                     on 127.0.0.1:9092, data in ./odradek-data
  odradek serve server.properties                   as Apache Kafka would read the file
  odradek serve --override listeners=PLAINTEXT://:19092 --override log.dirs=/var/lib/odradek
  odradek serve --console                           with a web page on http://127.0.0.1:8090/
  odradek serve --override listeners=PLAINTEXT://127.0.0.1:0       any free port; the start line names it
"""


GC_THRESHOLDS = (50_000, 20, 100)
"""Imports and requests leave few cycles behind, so the collector has little to find; it must not look after every 700
allocations."""


class _HelpFormatter(argparse.RawDescriptionHelpFormatter):
    """Asks for the width of the terminal by itself: argparse imports shutil for that, with all its compressors."""

    def __init__(self, prog: str) -> None:
        try:
            width = int(os.environ.get("COLUMNS") or 0) or os.get_terminal_size().columns
        except (OSError, ValueError):
            width = 80
        super().__init__(prog, width=width - 2)


def arguments_parser() -> argparse.ArgumentParser:
    """Return the parser of what follows `odradek serve`."""
    parser = argparse.ArgumentParser(
        prog="odradek serve",
        description="Run the broker until SIGTERM or SIGINT (Ctrl-C); a second signal ends it at once.",
        epilog=EXAMPLES,
        formatter_class=_HelpFormatter,
    )
    parser.add_argument(
        "properties",
        nargs="?",
        metavar="server.properties",
        help="configuration file; without it: node.id=1, listeners=PLAINTEXT://127.0.0.1:9092, log.dirs=./odradek-data",
    )
    parser.add_argument(
        "--override",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="set a config, over the file; may be given several times, the last one for a key wins",
    )
    parser.add_argument(
        "--port-file",
        metavar="FILE",
        help="write the ports of the listeners there once clients are served, one a line, in the order of listeners",
    )
    parser.add_argument(
        "--stop-with-stdin",
        action="store_true",
        help="also stop in order when standard input ends: with a pipe, when the process that holds its other end has",
    )
    parser.add_argument(
        "--container",
        action="store_true",
        help="as the container image does: settings also from variables (KAFKA_NUM_PARTITIONS=3), and unless something"
        " else is said data in /var/lib/odradek and clients on all addresses",
    )
    parser.add_argument(
        "--console",
        nargs="?",
        const="127.0.0.1:8090",
        metavar="HOST:PORT",
        help="also run `odradek console` for this node, at http://127.0.0.1:8090/ unless another address is given",
    )
    parser.add_argument(
        "--log-level", default="info", choices=("debug", "info", "warning", "error"), help="default: info"
    )
    return parser


def serve(arguments: Sequence[str]) -> int:
    """Run the broker until it is told to stop; returns the exit code of the process."""
    options = arguments_parser().parse_args(arguments)
    gc.set_threshold(*GC_THRESHOLDS)

    from odradek.broker.process import ProcessOptions  # only now: --help needs none of it
    from odradek.broker.process import serve as run

    return run(
        options.properties,
        options.override,
        options.log_level,
        ProcessOptions(options.port_file, options.stop_with_stdin, options.container, options.console),
    )
