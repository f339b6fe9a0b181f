"""`odradek serve` among the other commands: in their list and their completion.

`odradek.__main__` goes to `odradek.serving` before any of this is imported; here is the way for callers of the
application itself.
"""

from __future__ import annotations

import typer

from odradek import serving


def register(app: typer.Typer) -> None:
    """Add the command, which leaves its arguments to `odradek.serving`."""
    unread = {"ignore_unknown_options": True, "allow_extra_args": True}
    app.command("serve", help=serving.SUMMARY, add_help_option=False, context_settings=unread)(_serve)


def _serve(context: typer.Context) -> None:
    raise typer.Exit(serving.serve(context.args))
