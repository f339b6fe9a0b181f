"""`odradek groups translate`: groups that move to a copy of their topics, in another cluster or in the same."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from typing import Annotated

from typer import Argument, Option

from odradek.cli.arguments import pairs
from odradek.cli.command import online, part
from odradek.cli.completion import group_names
from odradek.cli.other_cluster import Renames, ToBootstrapServer, ToCommandConfig, ToProfile, other_cluster
from odradek.cluster.connection import ClusterClients
from odradek.cluster.group_translation import (
    CopiedPlaces,
    TranslatedOffset,
    changes_of,
    planned,
    renamed,
    topic_rename,
    translatable,
)
from odradek.cluster.groups import check_empty, committed_offsets, move_offsets
from odradek.documents import groups as documents
from odradek.terminal.errors import CommandError, WrongUsageError
from odradek.terminal.output import CommandOutput

app = part()


@online(
    app,
    "translate",
    document=documents.TRANSLATED,
    examples="""\
    odradek groups translate billing --to-profile new --dry-run
    odradek groups translate billing audit --to-bootstrap-server other:9092 --rename 'orders-(.*)=eu.orders-$1'
    odradek groups translate billing --topic orders --rename orders=kept""",
)
def translate(
    cluster: ClusterClients,
    output: CommandOutput,
    names: Annotated[
        list[str],
        Argument(metavar="GROUP...", help="Names of groups.", show_default=False, autocompletion=group_names),
    ],
    to_bootstrap_server: ToBootstrapServer = None,
    to_command_config: ToCommandConfig = None,
    to_profile: ToProfile = None,
    topic: Annotated[
        list[str] | None, Option("--topic", metavar="TOPIC", help="Only offsets in this one; repeatable.")
    ] = None,
    rename: Renames = None,
    overwrite: Annotated[bool, Option("--overwrite", help="Also where the group is further there.")] = False,
    dry_run: Annotated[bool, Option("--dry-run", help="Show what would change, and change nothing.")] = False,
) -> None:
    """Let groups go on in a copy of their topics, which `odradek pipeline relay` makes with --source-header.

    Each record of the copy says where it is from, so that the place is found that stands for an offset: from there on
    the copy has everything that the group has not read yet. Its consumers there must have ended; those here may go on,
    and the same command again brings over how far they have come since.
    """
    renames = [topic_rename(*each) for each in pairs(rename or (), "--rename")]
    is_elsewhere = to_bootstrap_server or to_command_config or to_profile
    if not is_elsewhere and not renames:
        raise WrongUsageError("name the other cluster, or with --rename the topics that are copies in this one")

    def named(name: str) -> str:
        return renamed(name, renames)

    rows: list[TranslatedOffset] = []
    with closing(other_cluster(cluster, to_bootstrap_server, to_command_config, to_profile, output)) as copy:
        existing = {(name, number) for name, found in copy.metadata().topics.items() for number in found.partitions}
        with closing(CopiedPlaces(copy, output.note)) as places:
            for group in names:
                committed = translatable(committed_offsets(cluster, group), topic)
                if not is_elsewhere:
                    committed = {each: offset for each, offset in committed.items() if named(each[0]) != each[0]}
                if not committed:
                    raise CommandError(f"group {group} has committed nothing{' in these topics' if topic else ''}")
                if not dry_run:
                    check_empty(copy, group)
                before = committed_offsets(copy, group)
                rows += planned(group, committed, named, before, existing, places.place, overwrite)
        if not dry_run:
            for group in names:
                if offsets := changes_of(rows, group):
                    move_offsets(copy, group, offsets)
    _show(output, rows, dry_run)


def _show(output: CommandOutput, rows: Sequence[TranslatedOffset], dry_run: bool) -> None:
    if output.json:
        offsets = [
            {
                "group": each.group,
                "topic": each.source[0],
                "partition": each.source[1],
                "committed": each.committed,
                "copy": each.target[0],
                "before": each.before,
                "after": each.after,
            }
            for each in rows
        ]
        output.document({"dry_run": dry_run, "offsets": offsets})
        return
    output.table(
        ["GROUP", "TOPIC", ">PARTITION", ">COMMITTED", "COPY", ">BEFORE", ">AFTER"],
        [[each.group, *each.source, each.committed, each.target[0], each.before, each.after] for each in rows],
    )
    if missing := sorted({each.target[0] for each in rows if each.after is None}):
        output.note(f"left out, because there are no such partitions there: {', '.join(missing)}")
    if dry_run:
        output.note("nothing was changed; leave out --dry-run to do it")
