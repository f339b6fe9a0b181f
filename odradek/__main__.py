"""The `odradek` command. Kept light: `serve` must be up in a fraction of a second, so it imports only what it runs."""

import argparse
import sys

from odradek import __version__

EXAMPLES = """\
examples:
  odradek serve                                     on 127.0.0.1:9092, data in ./odradek-data
  odradek serve server.properties                   as Apache Kafka would read the file
  odradek serve --override listeners=PLAINTEXT://:19092 --override log.dirs=/var/lib/odradek
"""


def main(arguments: list[str] | None = None) -> int:
    """Run the command; returns its exit code."""
    parser = argparse.ArgumentParser(
        prog="odradek", description="An Apache Kafka-compatible broker: one process, Kafka's protocol, Kafka's files."
    )
    parser.add_argument("--version", action="version", version=f"odradek {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    serve = commands.add_parser(
        "serve",
        help="run the broker",
        description="Run the broker until SIGTERM or SIGINT (Ctrl-C); a second signal ends it at once.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    serve.add_argument(
        "properties",
        nargs="?",
        metavar="server.properties",
        help="configuration file; without it: node.id=1, listeners=PLAINTEXT://127.0.0.1:9092, log.dirs=./odradek-data",
    )
    serve.add_argument(
        "--override",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="set a config, over the file; may be given several times",
    )
    serve.add_argument(
        "--log-level", default="info", choices=("debug", "info", "warning", "error"), help="default: info"
    )
    options = parser.parse_args(arguments)

    from broker.process import serve as run  # only now: --help and --version need none of it

    return run(options.properties, options.override, options.log_level)


if __name__ == "__main__":
    sys.exit(main())
