"""Options that commands share, declared once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Option

from odradek.cli.profile_names import profile_names

DEFAULT_BOOTSTRAP = "127.0.0.1:9092"
BOOTSTRAP_VARIABLE = "ODRADEK_BOOTSTRAP"

PROFILE_VARIABLE = "ODRADEK_PROFILE"

BootstrapServer = Annotated[
    str | None,
    Option(
        "--bootstrap-server",
        "-b",
        metavar="HOST:PORT",
        help="Where the cluster is reached; several with commas between them; "
        f"{BOOTSTRAP_VARIABLE}, the profile in use or {DEFAULT_BOOTSTRAP} if not given.",
    ),
]

Profile = Annotated[
    str | None,
    Option(
        "--profile",
        metavar="NAME",
        help="A cluster that `odradek profile set` keeps, instead of the one in use.",
        autocompletion=profile_names,
    ),
]

ClientSettings = Annotated[
    list[str] | None,
    Option("-X", metavar="KEY=VALUE", help="A client setting, over those of the file and the profile; repeatable."),
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
