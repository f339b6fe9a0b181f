"""What `topics delete` and `groups delete` have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from odradek.terminal.errors import CommandError
from odradek.terminal.output import CommandOutput


def delete_each(output: CommandOutput, kind: str, names: Iterable[str], delete: Callable[[str], None]) -> None:
    """Delete by name, show what was deleted, and raise CommandError with what kept the others."""
    deleted: list[str] = []
    failures: list[str] = []
    for name in names:
        try:
            delete(name)
            deleted.append(name)
        except CommandError as refused:
            failures.append(str(refused))
    if output.json:
        output.document({"deleted": deleted})
    else:
        for name in deleted:
            output.line(f"{kind} {name} deleted")
    if failures:
        raise CommandError("; ".join(failures))
