"""`odradek groups import-zookeeper`: the offsets of consumers that kept them in ZooKeeper."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Annotated

from typer import Argument, Option

from odradek.cli.command import online, part
from odradek.cluster.connection import ClusterClients
from odradek.cluster.groups import check_empty, committed_offsets, move_offsets
from odradek.cluster.offsets import Partition, within
from odradek.cluster.zookeeper_import import ImportedOffset, changes_of, planned
from odradek.documents import groups as documents
from odradek.terminal.errors import CommandError, WrongUsageError
from odradek.terminal.human import plural
from odradek.terminal.output import CommandOutput
from odradek.zookeeper import consumer_offsets
from odradek.zookeeper.address import parse_address
from odradek.zookeeper.errors import ZooKeeperError
from odradek.zookeeper.session import ZooKeeperSession, zookeeper_session

app = part()


@online(
    app,
    "import-zookeeper",
    document=documents.IMPORTED,
    examples="""\
    odradek groups import-zookeeper zookeeper://127.0.0.1:2181/kafka --dry-run
    odradek groups import-zookeeper zookeeper://127.0.0.1:2181/kafka billing audit
    odradek groups import-zookeeper zookeeper://reader:secret@zk1:2181,zk2:2181 billing --json""",
)
def import_zookeeper(
    cluster: ClusterClients,
    output: CommandOutput,
    url: Annotated[
        str,
        Argument(metavar="ZOOKEEPER", help="Where it is: zookeeper://host:2181/chroot.", show_default=False),
    ],
    names: Annotated[
        list[str] | None, Argument(metavar="[GROUP...]", help="Only these; all that have offsets if not given.")
    ] = None,
    overwrite: Annotated[
        bool, Option("--overwrite", help="Also where the group has come further in the cluster since.")
    ] = False,
    dry_run: Annotated[bool, Option("--dry-run", help="Show what would change, and change nothing.")] = False,
) -> None:
    """Bring offsets that old consumers kept in ZooKeeper into groups of the cluster.

    Reads `/consumers/GROUP/offsets`, which consumers up to Kafka 1.1 and connectors of those times write, and changes
    nothing there. Consumers must have ended on both sides. An offset outside of what a partition has becomes its
    beginning or its end; one that the group has committed in the cluster and that is further stays. The same command
    again changes nothing more.
    """
    stored = _stored(url, names or (), dry_run)
    rows: list[ImportedOffset] = []
    existing = {(name, number) for name, topic in cluster.metadata().topics.items() for number in topic.partitions}
    for group, offsets in stored.items():
        if not dry_run:
            check_empty(cluster, group)
        before = committed_offsets(cluster, group)
        rows += planned(group, offsets, before, existing, lambda wanted: within(cluster.admin, wanted), overwrite)
    if not dry_run:
        for group in stored:
            if offsets := changes_of(rows, group):
                move_offsets(cluster, group, offsets)
    _show(output, rows, dry_run)


def _stored(url: str, names: Sequence[str], dry_run: bool) -> Mapping[str, Mapping[Partition, int]]:
    """Return the offsets of groups that have any. Raises CommandError."""
    found: dict[str, dict[Partition, int]] = {}
    with _session(url) as session:
        for group in names or consumer_offsets.groups(session):
            offsets = consumer_offsets.stored_offsets(session, group)
            if not offsets:
                if names:
                    raise CommandError(f"group {group} has no offsets in ZooKeeper")
                continue
            running = consumer_offsets.running_consumers(session, group)
            if running and not dry_run:
                raise CommandError(
                    f"group {group} has {plural(len(running), 'consumer')} running with ZooKeeper, such as"
                    f" {running[0]}; stop them first"
                )
            found[group] = {each: one.offset for each, one in offsets.items()}
    return found


@contextmanager
def _session(url: str) -> Iterator[ZooKeeperSession]:
    try:
        address = parse_address(url)
    except ValueError as wrong:
        raise WrongUsageError(str(wrong)) from None
    if find_spec("kazoo") is None:
        raise CommandError("reading ZooKeeper needs kazoo: pip install 'odradek[pipeline]'")
    try:
        with zookeeper_session(address) as session:
            yield session
    except ZooKeeperError as failed:
        raise CommandError(str(failed)) from failed


def _show(output: CommandOutput, rows: Sequence[ImportedOffset], dry_run: bool) -> None:
    if output.json:
        offsets = [
            {
                "group": each.group,
                "topic": each.topic,
                "partition": each.partition,
                "stored": each.stored,
                "before": each.before,
                "after": each.after,
            }
            for each in rows
        ]
        output.document({"dry_run": dry_run, "offsets": offsets})
        return
    if not rows:
        output.note("no group has offsets in that ZooKeeper")
        return
    output.table(
        ["GROUP", "TOPIC", ">PARTITION", ">ZOOKEEPER", ">BEFORE", ">AFTER"],
        [[each.group, each.topic, each.partition, each.stored, each.before, each.after] for each in rows],
    )
    if missing := sorted({each.topic for each in rows if each.after is None}):
        output.note(f"left out, because the cluster has no such partitions: {', '.join(missing)}")
    if dry_run:
        output.note("nothing was changed; leave out --dry-run to do it")
