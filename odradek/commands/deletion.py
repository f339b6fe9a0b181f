"""What `topics delete` and `groups delete` have in common."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Future

from odradek.cli.errors import CommandError
from odradek.cli.output import Output
from odradek.cluster.errors import answer


def show_deleted(output: Output, kind: str, futures: Mapping[str, Future[None]]) -> None:
    """Wait for deletions, show those that were done, and raise CommandError with what kept the others."""
    deleted: list[str] = []
    failures: list[str] = []
    for name, future in futures.items():
        try:
            answer(future, f"{kind} {name}")
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
