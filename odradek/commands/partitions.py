"""`odradek partitions`: where replicas are, and who leads."""

from __future__ import annotations

import time
from typing import Annotated, Final

from typer import Option

from odradek.cli.arguments import topic_partitions
from odradek.cli.command import group, online
from odradek.cluster.connection import ClusterClients
from odradek.cluster.offsets import Partition
from odradek.cluster.reassignments import ElectionType, elect_leaders
from odradek.cluster.topology import describe_partitions
from odradek.commands import partitions_reassign
from odradek.documents import partitions as documents
from odradek.terminal.errors import CommandError, WrongUsageError
from odradek.terminal.human import plural
from odradek.terminal.output import CommandOutput

app = group("partitions", "Move partitions to other brokers, and elect leaders.")
app.add_typer(partitions_reassign.app)

SEEN_TIMEOUT_S: Final = 3.0
"""For brokers to learn of an election."""
PAUSE_S: Final = 0.05


@online(
    app,
    "elect",
    document=documents.ELECTED,
    examples="""\
    odradek partitions elect --preferred
    odradek partitions elect --preferred --topic orders --topic audit:0,2
    odradek partitions elect --unclean --topic orders:1""",
)
def elect(
    cluster: ClusterClients,
    output: CommandOutput,
    preferred: Annotated[
        bool, Option("--preferred", help="Of the first replica of each partition, where it is in sync.")
    ] = False,
    unclean: Annotated[
        bool, Option("--unclean", help="Of any replica where there is no leader: what it lacks is lost for good.")
    ] = False,
    topic: Annotated[
        list[str] | None,
        Option("--topic", "-t", metavar="NAME[:N,N]", help="A topic, or some partitions of it; repeatable."),
    ] = None,
    everywhere: Annotated[bool, Option("--all", help="All partitions; what --preferred does without --topic.")] = False,
) -> None:
    """Elect leaders of partitions: the preferred ones, or, where nobody in sync is left, any."""
    if preferred == unclean:
        raise WrongUsageError("give either --preferred or --unclean")
    if topic and everywhere:
        raise WrongUsageError("give either --topic or --all")
    if unclean and not topic and not everywhere:
        raise WrongUsageError("--unclean may lose records; say where with --topic, or --all")
    named = _named(cluster, topic) if topic else None
    kind = ElectionType.PREFERRED if preferred else ElectionType.UNCLEAN
    elections = elect_leaders(cluster.requests, kind, named)
    elected = {key for key, refused in elections.items() if refused is None}
    leaders = _leaders_of(cluster, elections, elected, kind)
    rows = [
        {"topic": name, "partition": number, "leader": leaders.get((name, number)), "error": refused}
        for (name, number), refused in sorted(elections.items())
    ]
    if output.json:
        output.document({"partitions": rows})
    elif rows:
        shown = [[*list(row.values())[:3], row["error"] or "elected"] for row in rows]
        output.table(["TOPIC", ">PARTITION", ">LEADER", "ELECTION"], shown)
    else:
        output.note("no election was needed")
    failed = sum(refused is not None for refused in elections.values())
    if failed:
        raise CommandError(f"{failed} of {plural(len(elections), 'election')} failed")


def _named(cluster: ClusterClients, given: list[str]) -> list[Partition]:
    """Return the partitions that `--topic` names; CommandError where one does not exist."""
    wanted = [topic_partitions(each) for each in given]
    there = {each.key for each in describe_partitions(cluster.requests, sorted({name for name, _ in wanted}))}
    named = {(name, number) for name, numbers in wanted for number in numbers}
    if missing := sorted(named - there):
        name, number = missing[0]
        raise CommandError(
            f"topic {name} has no partition {number}; `odradek topics describe {name}` shows what there is"
        )
    whole = {name for name, numbers in wanted if not numbers}
    return sorted(named | {key for key in there if key[0] in whole})


def _leaders_of(
    cluster: ClusterClients, elections: dict[Partition, str | None], elected: set[Partition], kind: ElectionType
) -> dict[Partition, int | None]:
    """Return who leads; brokers learn of an election a moment after the controller, so they are asked again for one
    that has no leader, or not the preferred one that was elected."""
    if not elections:
        return {}
    deadline = time.monotonic() + SEEN_TIMEOUT_S
    while True:
        states = describe_partitions(cluster.requests, sorted({topic for topic, _ in elections}))
        late = [
            each
            for each in states
            if each.key in elected
            and (each.leader is None or (kind is ElectionType.PREFERRED and each.leader != each.replicas[0]))
        ]
        if not late or time.monotonic() > deadline:
            return {each.key: each.leader for each in states}
        time.sleep(PAUSE_S)
