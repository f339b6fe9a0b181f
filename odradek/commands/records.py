"""`odradek records`: deleting them from the beginning of partitions, and copying them."""

from __future__ import annotations

import time
from typing import Annotated

from confluent_kafka import TopicPartition
from typer import Argument, Option

from odradek.cli.command import group, online
from odradek.cli.completion import topic_names
from odradek.cluster.connection import ClusterClients
from odradek.cluster.errors import ANSWER_TIMEOUT_S, answer
from odradek.cluster.offset_spec import SYNTAX, parse_offset_spec
from odradek.cluster.offsets import Offsets, earliest, find
from odradek.cluster.topics import partitions_of
from odradek.commands import records_copy
from odradek.documents import deleted_records as documents
from odradek.terminal.errors import CommandError, WrongUsageError
from odradek.terminal.human import count_text
from odradek.terminal.output import CommandOutput

app = group("records", "Delete records from the beginning of topics, and copy topics.")
app.add_typer(records_copy.app)


@online(
    app,
    "delete",
    document=documents.DELETED,
    details=f"Places for --before: {SYNTAX}.",
    examples="""\
    odradek records delete orders --before 7d --dry-run
    odradek records delete orders --before 2026-11-21T00:00
    odradek records delete orders --partition 0 --before 4711
    odradek records delete orders --before end                 everything that is there now""",
)
def delete(
    cluster: ClusterClients,
    output: CommandOutput,
    topic: Annotated[
        str, Argument(metavar="TOPIC", help="Whose records.", show_default=False, autocompletion=topic_names)
    ],
    before: Annotated[
        str, Option("--before", metavar="WHERE", help="What is older goes; this place stays.", show_default=False)
    ],
    partition: Annotated[
        list[int] | None, Option("--partition", "-p", min=0, help="Only of this one; repeatable.")
    ] = None,
    dry_run: Annotated[bool, Option("--dry-run", help="Show what would go, and delete nothing.")] = False,
) -> None:
    """Delete the records of a topic up to a place, for good: consumers go on with what is left.

    The topic must let records be deleted, so its cleanup.policy must not be compact alone.
    """
    try:
        spec = parse_offset_spec(before, time.time_ns() // 1_000_000)
    except ValueError as wrong:
        raise WrongUsageError(f"--before: {wrong}") from None
    numbers = partitions_of(cluster, topic)
    if missing := sorted(set(partition or ()) - set(numbers)):
        raise CommandError(f"topic {topic} has no partition {missing[0]}; it has 0 to {max(numbers)}")
    places = [(topic, number) for number in sorted(set(partition or numbers))]
    first, wanted = earliest(cluster.admin, places), find(cluster.admin, places, spec)
    after = wanted if dry_run else _delete(cluster, wanted)
    rows = [
        {"topic": each[0], "partition": each[1], "before": first[each], "after": max(first[each], after[each])}
        for each in places
    ]
    if output.json:
        output.document({"dry_run": dry_run, "partitions": rows})
        return
    gone = sum(max(0, after[each] - first[each]) for each in places)
    output.table(["TOPIC", ">PARTITION", ">BEFORE", ">AFTER"], [list(row.values()) for row in rows])
    what = "would be deleted; leave out --dry-run to do it" if dry_run else "deleted"
    output.note(f"{count_text(gone)} offset{'' if gone == 1 else 's'} {what}")


def _delete(cluster: ClusterClients, wanted: Offsets) -> Offsets:
    """Delete what lies before these offsets; returns where partitions begin now."""
    asked = [TopicPartition(topic, number, offset) for (topic, number), offset in wanted.items()]
    futures = cluster.admin.delete_records(asked, request_timeout=ANSWER_TIMEOUT_S)
    return {
        (each.topic, each.partition): answer(future, f"partition {each.partition} of {each.topic}").low_watermark
        for each, future in futures.items()
    }
