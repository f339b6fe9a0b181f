"""`odradek groups`: list, describe, reset, delete groups, delete offsets."""

from __future__ import annotations

import time
from typing import Annotated

from typer import Argument, Option

from odradek.cli.arguments import regular_expression, topic_partitions
from odradek.cli.command import group, online
from odradek.cli.completion import group_names
from odradek.cluster.connection import ClusterClients
from odradek.cluster.group_resets import plan_reset
from odradek.cluster.groups import (
    CommittedPosition,
    GroupDescription,
    committed_offsets,
    delete_group,
    describe_group,
    forget_offsets,
    group_lags,
    list_groups,
    move_offsets,
)
from odradek.cluster.offset_spec import SYNTAX, OffsetSpecification, parse_offset_spec
from odradek.commands import groups_import, groups_translate, groups_watch
from odradek.commands.deletion import delete_each
from odradek.documents import groups as documents
from odradek.terminal.errors import CommandError, WrongUsageError
from odradek.terminal.human import count_text, plural
from odradek.terminal.output import CommandOutput

app = group("groups", "List, describe, watch, reset and delete consumer groups.")
app.add_typer(groups_watch.app)

Name = Annotated[
    str, Argument(metavar="GROUP", help="Name of the group.", show_default=False, autocompletion=group_names)
]
Names = Annotated[
    list[str], Argument(metavar="GROUP...", help="Names of groups.", show_default=False, autocompletion=group_names)
]


@online(
    app,
    "list",
    document=documents.LISTED,
    examples="""\
    odradek groups list
    odradek groups list --lag --pattern 'billing.*'
    odradek groups list --json""",
)
def list_all(
    cluster: ClusterClients,
    output: CommandOutput,
    pattern: Annotated[str | None, Option("--pattern", metavar="REGEX", help="Only groups of this form.")] = None,
    with_lag: Annotated[
        bool, Option("--lag", help="Also how many offsets they are behind, those that are most so first.")
    ] = False,
) -> None:
    """List consumer groups with their state and the protocol they use."""
    expression = None if pattern is None else regular_expression("--pattern", pattern)
    groups = [each for each in list_groups(cluster) if expression is None or expression.fullmatch(each.group_id)]
    lags = group_lags(cluster, [each.group_id for each in groups]) if with_lag else {}
    groups.sort(key=lambda each: (-lags.get(each.group_id, 0), each.group_id))
    if output.json:
        rows = [
            {
                "group": each.group_id,
                "state": each.state.name,
                "type": each.type.name,
                "lag": lags.get(each.group_id),
            }
            for each in groups
        ]
        output.document({"groups": rows})
    elif groups:
        shown = [[each.group_id, _word(each.state.name), _word(each.type.name)] for each in groups]
        if with_lag:
            shown = [[*row, count_text(lags[each.group_id])] for row, each in zip(shown, groups, strict=True)]
        output.table(["GROUP", "STATE", "TYPE", *([">LAG"] if with_lag else [])], shown)
    elif pattern is not None:
        output.note(f"no group is of the form {pattern}")
    else:
        output.note("there are no groups yet; `odradek consume TOPIC --group NAME` makes one")


@online(
    app,
    "describe",
    document=documents.DESCRIBED,
    examples="odradek groups describe billing\nodradek groups describe billing audit --json",
)
def describe(cluster: ClusterClients, output: CommandOutput, names: Names) -> None:
    """Show how far groups are behind in each partition, and who reads it."""
    groups = [describe_group(cluster, name) for name in names]
    if output.json:
        output.document({"groups": [_group_json(each) for each in groups]})
        return
    for number, each in enumerate(groups):
        if number:
            output.line()
        _show(output, each)


@online(
    app,
    "reset",
    document=documents.RESET,
    details=f"Places for --to: {SYNTAX}.",
    examples="""\
    odradek groups reset billing --to beginning --dry-run
    odradek groups reset billing --to 2026-11-21T08:00 --topic orders
    odradek groups reset billing --to 2h --topic orders:0,1
    odradek groups reset billing --shift-by -100""",
)
def reset(
    cluster: ClusterClients,
    output: CommandOutput,
    name: Name,
    to: Annotated[str | None, Option("--to", metavar="WHERE", help="Where the group is to go on.")] = None,
    shift_by: Annotated[
        int | None, Option("--shift-by", metavar="N", help="Move each offset by so many, back if negative.")
    ] = None,
    topics: Annotated[
        list[str] | None,
        Option("--topic", "-t", metavar="TOPIC[:0,1]", help="Only these; all that it has committed if not given."),
    ] = None,
    dry_run: Annotated[bool, Option("--dry-run", help="Show what would change, and change nothing.")] = False,
) -> None:
    """Set the offsets of a group, which must have no members then.

    An offset outside of what a partition has becomes its beginning or its end.
    """
    if (to is None) == (shift_by is None):
        raise WrongUsageError("give either --to or --shift-by")
    spec: OffsetSpecification | int = shift_by or 0
    if to is not None:
        try:
            spec = parse_offset_spec(to, time.time_ns() // 1_000_000)
        except ValueError as wrong:
            raise WrongUsageError(f"--to: {wrong}") from None
    planned = plan_reset(cluster, name, [topic_partitions(each) for each in topics or ()], spec)
    before, after = planned.before, planned.after
    if not dry_run:
        move_offsets(cluster, name, after)
    if output.json:
        rows = [
            {"topic": each[0], "partition": each[1], "before": before.get(each), "after": after[each]}
            for each in sorted(after)
        ]
        output.document({"group": name, "dry_run": dry_run, "offsets": rows})
        return
    output.table(
        ["TOPIC", ">PARTITION", ">BEFORE", ">AFTER"], [[*each, before.get(each), after[each]] for each in sorted(after)]
    )
    if not before:
        output.note(f"group {name} had committed nothing: is it the one that is meant?")
    if dry_run:
        output.note("nothing was changed; leave out --dry-run to do it")


@online(app, "delete", document=documents.DELETED, examples="odradek groups delete billing")
def delete(cluster: ClusterClients, output: CommandOutput, names: Names) -> None:
    """Delete groups with their committed offsets; they must have no members."""
    delete_each(output, "group", names, lambda name: delete_group(cluster, name))


app.add_typer(groups_import.app)
app.add_typer(groups_translate.app)


@online(
    app,
    "delete-offsets",
    document=documents.FORGOTTEN,
    examples="""\
    odradek groups delete-offsets billing --topic orders
    odradek groups delete-offsets billing --topic orders:0,1 --topic audit --json""",
)
def delete_offsets(
    cluster: ClusterClients,
    output: CommandOutput,
    name: Name,
    topics: Annotated[
        list[str], Option("--topic", "-t", metavar="TOPIC[:0,1]", help="Of these; repeatable.", show_default=False)
    ],
) -> None:
    """Delete what a group has committed for topics that no member of it reads, and keep the rest."""
    before = committed_offsets(cluster, name)
    named = [topic_partitions(each) for each in topics]
    gone = [
        (topic, number)
        for topic, number in sorted(before)
        if any(topic == wanted and (not numbers or number in numbers) for wanted, numbers in named)
    ]
    if not gone:
        shows = f"`odradek groups describe {name}` shows where it has"
        raise CommandError(f"group {name} has committed nothing there; {shows}")
    forget_offsets(cluster, name, gone)
    if output.json:
        rows = [{"topic": topic, "partition": number, "before": before[topic, number]} for topic, number in gone]
        output.document({"group": name, "offsets": rows})
    else:
        output.table(["TOPIC", ">PARTITION", ">DELETED OFFSET"], [[*each, before[each]] for each in gone])


def _show(output: CommandOutput, group: GroupDescription) -> None:
    lags = [each.lag for each in group.positions if each.lag is not None]
    output.heading(group.name)
    words = [_word(group.state), f"{_word(group.kind)} protocol", f"coordinator {group.coordinator}"]
    words += [f"assignor {group.assignor}"] if group.assignor else []
    output.line(", ".join([*words, plural(len(group.members), "member"), f"lag {count_text(sum(lags))}"]))
    if group.positions:
        output.table(
            ["TOPIC", ">PARTITION", ">OFFSET", ">END", ">LAG", "CLIENT", "HOST", "MEMBER"],
            [_row(each) for each in group.positions],
        )
    idle = [each for each in group.members if not each.partitions]
    for member in idle:
        output.line(f"without partitions: {member.client_id} {member.host} {member.instance_id or member.member_id}")


def _row(position: CommittedPosition) -> list[object]:
    member = position.member
    who = (member.client_id, member.host, member.instance_id or member.member_id) if member else (None, None, None)
    return [position.topic, position.partition, position.committed, position.end, position.lag, *who]


def _group_json(group: GroupDescription) -> dict[str, object]:
    return {
        "group": group.name,
        "state": group.state,
        "type": group.kind,
        "assignor": group.assignor,
        "coordinator": group.coordinator,
        "lag": sum(each.lag or 0 for each in group.positions),
        "members": [
            {
                "member_id": each.member_id,
                "instance_id": each.instance_id,
                "client_id": each.client_id,
                "host": each.host,
                "partitions": [{"topic": topic, "partition": number} for topic, number in each.partitions],
            }
            for each in group.members
        ],
        "offsets": [
            {
                "topic": each.topic,
                "partition": each.partition,
                "committed": each.committed,
                "end": each.end,
                "lag": each.lag,
                "member_id": each.member.member_id if each.member else None,
            }
            for each in group.positions
        ],
    }


def _word(name: str) -> str:
    """Return one of Kafka's names as a word: `PREPARING_REBALANCING` is `preparing rebalancing`."""
    return name.lower().replace("_", " ")
