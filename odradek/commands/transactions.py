"""`odradek transactions`: list, describe, producers, find-hanging, abort, force-terminate."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict
from typing import Annotated

from typer import Argument, Option

from odradek.cli.arguments import topic_partitions
from odradek.cli.command import group, online
from odradek.cluster.broker_requests import Address
from odradek.cluster.connection import ClusterClients
from odradek.cluster.offset_spec import parse_duration
from odradek.cluster.offsets import Partition
from odradek.cluster.partition_producers import (
    PartitionProducer,
    describe_producers,
    hanging,
    open_for_longer,
    write_abort_marker,
)
from odradek.cluster.topology import PartitionState, describe_brokers, describe_partitions
from odradek.cluster.transactions import (
    TransactionDescription,
    TransactionSelection,
    describe_transactions,
    force_terminate,
    list_transactions,
)
from odradek.documents import transactions as documents
from odradek.terminal.errors import CommandError, WrongUsageError
from odradek.terminal.human import duration_text, plural, time_text
from odradek.terminal.output import CommandOutput

app = group("transactions", "List, describe and end transactions, and find those that nobody ends.")

Names = Annotated[list[str], Argument(metavar="ID...", help="Transactional ids.", show_default=False)]
Name = Annotated[str, Argument(metavar="ID", help="A transactional id.", show_default=False)]
Topic = Annotated[str, Argument(metavar="TOPIC", help="A topic that exists.", show_default=False)]
Broker = Annotated[
    int | None, Option("--broker", metavar="ID", help="Ask this broker, follower or leader, instead of the leaders.")
]

_PRODUCER_COLUMNS = ["TOPIC", ">PARTITION", ">PRODUCER", ">EPOCH", ">COORDINATOR EPOCH", ">SEQUENCE", "LAST", ">START"]


@online(
    app,
    "list",
    document=documents.LISTED,
    examples="""\
    odradek transactions list
    odradek transactions list --state Ongoing --duration 5m --json
    odradek transactions list --transactional-id-pattern 'orders-.*'""",
)
def list_all(
    cluster: ClusterClients,
    output: CommandOutput,
    states: Annotated[
        list[str] | None,
        Option("--state", metavar="STATE", help="Only those in this state, as Ongoing; may be repeated."),
    ] = None,
    producer_ids: Annotated[
        list[int] | None, Option("--producer-id", metavar="N", help="Only those of this producer; may be repeated.")
    ] = None,
    duration: Annotated[
        str | None, Option("--duration", metavar="TIME", help="Only those that are open for longer, as 90s or 2h30m.")
    ] = None,
    pattern: Annotated[
        str | None,
        Option("--transactional-id-pattern", metavar="REGEX", help="Only ids that match it as a whole (RE2)."),
    ] = None,
) -> None:
    """List transactional ids with the state of their transaction; all brokers are asked."""
    only = TransactionSelection(
        states=states or (),
        producer_ids=producer_ids or (),
        duration_ms=None if duration is None else _duration_ms(duration, "--duration"),
        pattern=pattern,
    )
    listed = list_transactions(cluster.requests, _addresses(cluster), only)
    if output.json:
        output.document({"transactions": [asdict(each) for each in listed]})
    elif listed:
        output.table(
            ["ID", ">COORDINATOR", ">PRODUCER", "STATE"],
            [[each.transactional_id, each.coordinator, each.producer_id, each.state] for each in listed],
        )
    else:
        output.note("there are no such transactions")


@online(
    app,
    "describe",
    document=documents.DESCRIBED,
    examples="odradek transactions describe orders-1\nodradek transactions describe orders-1 orders-2 --json",
)
def describe(cluster: ClusterClients, output: CommandOutput, names: Names) -> None:
    """Show where the transactions of ids stand, and in which partitions they have not ended yet."""
    found = _described(cluster, names)
    if output.json:
        rows = [asdict(each) | {"partitions": _partitions_json(each.partitions)} for each in found]
        output.document({"transactions": rows})
        return
    for number, each in enumerate(found):
        if number:
            output.line()
        _show(output, each)


@online(
    app,
    "producers",
    document=documents.PRODUCERS,
    examples="odradek transactions producers orders\nodradek transactions producers orders --partition 0 --json",
)
def producers(
    cluster: ClusterClients,
    output: CommandOutput,
    topic: Topic,
    partitions: Annotated[
        list[int] | None, Option("--partition", "-p", metavar="N", help="Only this one; may be repeated.")
    ] = None,
    broker: Broker = None,
) -> None:
    """Show the producers that partitions remember, and where their open transactions begin."""
    found = _producers(cluster, _chosen(cluster, topic, partitions or ()), broker)
    if output.json:
        output.document({"producers": [asdict(each) for each in found]})
    elif found:
        output.table(_PRODUCER_COLUMNS, [_row(each) for each in found])
    else:
        output.note("no idempotent or transactional producer has written there lately")


@online(
    app,
    "find-hanging",
    document=documents.HANGING,
    examples="""\
    odradek transactions find-hanging
    odradek transactions find-hanging --topic orders:0,1 --max-transaction-timeout 1h
    odradek transactions find-hanging --broker 2 --json""",
)
def find_hanging(
    cluster: ClusterClients,
    output: CommandOutput,
    topic: Annotated[
        str | None, Option("--topic", "-t", metavar="TOPIC[:0,1]", help="Look only there; everywhere if not given.")
    ] = None,
    broker: Broker = None,
    longest: Annotated[
        str,
        Option(
            "--max-transaction-timeout",
            metavar="TIME",
            help="How long a transaction may last (transaction.max.timeout.ms); younger ones are passed over.",
        ),
    ] = "15m",
) -> None:
    """Find transactions that are open in a partition, and that no coordinator is going to end there.

    Consumers with isolation.level=read_committed wait behind them until `odradek transactions abort` ends them.
    """
    limit_ms = _duration_ms(longest, "--max-transaction-timeout")
    if topic is None:
        chosen = describe_partitions(cluster.requests)
    else:
        chosen = _chosen(cluster, *topic_partitions(topic))
    old = open_for_longer(_producers(cluster, chosen, broker), time.time_ns() // 1_000_000, limit_ms)
    found = _hanging(cluster, chosen, old, broker)
    if output.json:
        output.document({"hanging": [asdict(each) for each in found]})
    elif found:
        output.table(_PRODUCER_COLUMNS, [_row(each) for each in found])
        output.note("`odradek transactions abort --topic TOPIC --partition N --start-offset START` ends one of them")
    else:
        output.note("no transaction hangs")


@online(
    app,
    "abort",
    document=documents.ABORTED,
    examples="""\
    odradek transactions abort --topic orders --partition 0 --start-offset 4711
    odradek transactions abort -t orders -p 0 --producer-id 7 --producer-epoch 3 --coordinator-epoch 12""",
)
def abort(
    cluster: ClusterClients,
    output: CommandOutput,
    topic: Annotated[str, Option("--topic", "-t", metavar="TOPIC", help="Where the transaction hangs.")],
    partition: Annotated[int, Option("--partition", "-p", metavar="N", help="And in which partition.")],
    start_offset: Annotated[
        int | None, Option("--start-offset", metavar="OFFSET", help="Where it begins, as find-hanging says.")
    ] = None,
    producer_id: Annotated[
        int | None, Option("--producer-id", metavar="N", help="Its producer, instead of --start-offset.")
    ] = None,
    producer_epoch: Annotated[
        int | None, Option("--producer-epoch", metavar="N", help="The producer's epoch, with --producer-id.")
    ] = None,
    coordinator_epoch: Annotated[
        int | None,
        Option(
            "--coordinator-epoch", metavar="N", help="The coordinator's epoch, with --producer-id; below 0 counts as 0."
        ),
    ] = None,
    force: Annotated[
        bool, Option("--force", help="Even if its coordinator is going to end it: parts of it may be committed then.")
    ] = False,
) -> None:
    """End a hanging transaction in one partition: its records there do not count, and readers go on.

    A transaction that its coordinator knows is none that hangs: `odradek transactions force-terminate` ends it whole.
    """
    named = [producer_id, producer_epoch, coordinator_epoch]
    if (start_offset is None) == (None in named) or (start_offset is not None and named != [None] * 3):
        raise WrongUsageError("give either --start-offset, or --producer-id, --producer-epoch and --coordinator-epoch")
    [chosen] = _chosen(cluster, topic, [partition])
    if start_offset is not None:
        found = _beginning_at(cluster, chosen, start_offset, force=force)
        producer_id, producer_epoch = found.producer_id, found.producer_epoch
        coordinator_epoch = found.coordinator_epoch
    assert producer_id is not None
    assert producer_epoch is not None
    leader, epoch = _led(chosen), max(coordinator_epoch or 0, 0)
    where = _addresses(cluster)[leader]
    write_abort_marker(cluster.requests, where, chosen.key, producer_id, producer_epoch, epoch)
    if output.json:
        output.document(
            {
                "topic": topic,
                "partition": partition,
                "producer_id": producer_id,
                "producer_epoch": producer_epoch,
                "coordinator_epoch": epoch,
            }
        )
    else:
        output.line(f"aborted the transaction of producer {producer_id} in partition {partition} of {topic}")


@online(app, "force-terminate", document=documents.TERMINATED, examples="odradek transactions force-terminate orders-1")
def terminate(cluster: ClusterClients, output: CommandOutput, name: Name) -> None:
    """Abort the open transaction of an id, and fence its producer, which gets an error at its next request."""
    [before] = _described(cluster, [name])
    successor = force_terminate(cluster.requests, before)
    if output.json:
        output.document({"transactional_id": name, "state_before": before.state, **asdict(successor)})
        return
    ended = "its transaction is aborted" if before.started_ms is not None else "no transaction was open"
    output.line(f"fenced the producer of {name}; {ended}")


def _described(cluster: ClusterClients, names: Sequence[str]) -> list[TransactionDescription]:
    found = describe_transactions(cluster.requests, list(dict.fromkeys(names)))
    result = []
    for name, each in found.items():
        if each is None:
            raise CommandError(
                f"transactional id {name} does not exist; `odradek transactions list` shows those that do"
            )
        result.append(each)
    return result


def _chosen(cluster: ClusterClients, topic: str, numbers: Sequence[int]) -> list[PartitionState]:
    """Return partitions of a topic, all of them if none is named; CommandError for one that does not exist."""
    existing = {each.number: each for each in describe_partitions(cluster.requests, [topic])}
    for number in numbers:
        if number not in existing:
            raise CommandError(f"topic {topic} has no partition {number}; it has 0 to {max(existing)}")
    return [existing[number] for number in dict.fromkeys(numbers or existing)]


def _producers(
    cluster: ClusterClients, partitions: Collection[PartitionState], broker: int | None
) -> list[PartitionProducer]:
    """Return the producers of partitions as their leaders know them, or as one broker does of those that it has."""
    addresses = _addresses(cluster)
    asked: dict[Partition, int] = {}
    for each in partitions:
        if broker is None:
            asked[each.key] = _led(each)
        elif broker in each.replicas:
            asked[each.key] = broker
    if broker is not None and broker not in addresses:
        raise CommandError(f"broker {broker} is not there; `odradek cluster status` shows those that are")
    return describe_producers(cluster.requests, addresses, asked)


def _hanging(
    cluster: ClusterClients,
    partitions: Collection[PartitionState],
    opened: Collection[PartitionProducer],
    broker: int | None = None,
) -> list[PartitionProducer]:
    """Return those of open transactions that hang.

    They are looked at once more in the end, as one that ends while coordinators are asked is unknown to these, too.
    """
    if not opened:
        return []
    ids = sorted({each.producer_id for each in opened})
    listed = list_transactions(cluster.requests, _addresses(cluster), TransactionSelection(producer_ids=ids))
    named = {each.producer_id: each.transactional_id for each in listed}
    found = hanging(opened, named, describe_transactions(cluster.requests, list(named.values())))
    places = {each.key for each in found}
    again = _producers(cluster, [each for each in partitions if each.key in places], broker)
    still = {(each.key, each.producer_id, each.start_offset) for each in again}
    return [each for each in found if (each.key, each.producer_id, each.start_offset) in still]


def _beginning_at(cluster: ClusterClients, partition: PartitionState, offset: int, *, force: bool) -> PartitionProducer:
    """Return the producer whose open transaction begins at an offset; CommandError where its coordinator ends it."""
    opened = [each for each in _producers(cluster, [partition], None) if each.start_offset == offset]
    if not opened:
        raise CommandError(
            f"no open transaction begins at offset {offset} of partition {partition.number} of {partition.topic}; "
            f"`odradek transactions producers {partition.topic}` shows where some do"
        )
    if not force and not _hanging(cluster, [partition], opened):
        raise CommandError(
            f"the coordinator of the transaction at offset {offset} is going to end it; `odradek transactions list "
            f"--producer-id {opened[0].producer_id}` shows whose it is, and force-terminate ends it in all partitions"
        )
    return opened[0]


def _led(partition: PartitionState) -> int:
    if partition.leader is None:
        raise CommandError(f"partition {partition.number} of {partition.topic} has no leader that could be asked")
    return partition.leader


def _addresses(cluster: ClusterClients) -> Mapping[int, Address]:
    return {number: each.address for number, each in describe_brokers(cluster.requests).live.items()}


def _duration_ms(text: str, option: str) -> int:
    try:
        return parse_duration(text)
    except ValueError as wrong:
        raise WrongUsageError(f"{option}: {wrong}") from None


def _partitions_json(partitions: Sequence[Partition]) -> list[dict[str, object]]:
    return [{"topic": topic, "partition": number} for topic, number in partitions]


def _show(output: CommandOutput, transaction: TransactionDescription) -> None:
    output.heading(transaction.transactional_id)
    words = [
        transaction.state,
        f"coordinator {transaction.coordinator}",
        f"producer {transaction.producer_id} epoch {transaction.producer_epoch}",
        f"timeout {duration_text(transaction.timeout_ms / 1000)}",
    ]
    if transaction.started_ms is not None:
        lasted = time.time_ns() // 1_000_000 - transaction.started_ms
        words.append(f"open since {time_text(transaction.started_ms)} ({duration_text(max(lasted, 0) / 1000)})")
    output.line(", ".join(words))
    if transaction.partitions:
        output.line(f"{plural(len(transaction.partitions), 'partition')} in which it has not ended:")
        output.table(["TOPIC", ">PARTITION"], transaction.partitions)


def _row(producer: PartitionProducer) -> list[object]:
    written = producer.last_timestamp_ms
    return [
        producer.topic,
        producer.partition,
        producer.producer_id,
        producer.producer_epoch,
        producer.coordinator_epoch,
        producer.last_sequence,
        None if written is None else time_text(written),
        producer.start_offset,
    ]
