"""Options that commands share, declared once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Option

DEFAULT_BOOTSTRAP = "127.0.0.1:9092"
BOOTSTRAP_VARIABLE = "ODRADEK_BOOTSTRAP"

BootstrapServer = Annotated[
    str,
    Option(
        "--bootstrap-server",
        "-b",
        envvar=BOOTSTRAP_VARIABLE,
        metavar="HOST:PORT",
        help="Where the cluster is reached; several with commas between them.",
    ),
]

CommandConfig = Annotated[
    Path | None,
    Option(
        "--command-config",
        metavar="FILE",
        help="Client settings as a properties file: security.protocol, sasl.*, ssl.* and others.",
    ),
]

Json = Annotated[bool, Option("--json", help="Print one JSON document instead of tables.")]

Debug = Annotated[bool, Option("--debug", help="Show where an error comes from, and what the Kafka client logs.")]
