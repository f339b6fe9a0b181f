"""`odradek serve` among the other commands: in their list and their completion.

`odradek.__main__` goes to `odradek.serving` before any of this is imported; here is the way for callers of the
application itself.
"""

from __future__ import annotations

import typer

from odradek import serving

app = typer.Typer()


@app.command(
    "serve",
    help=serving.SUMMARY,
    add_help_option=False,
    context_settings={"ignore_unknown_options": True, "allow_extra_args": True},  # serving reads them
)
def serve(context: typer.Context) -> None:
    """Leave everything to `odradek.serving`."""
    raise typer.Exit(serving.serve(context.args))
