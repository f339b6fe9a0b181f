"""`odradek transactions`: list, describe, producers, find-hanging, abort, force-terminate."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated

from typer import Argument, Option

from odradek.cli.arguments import topic_partitions
from odradek.cli.command import group, online
from odradek.cluster import hanging_transactions
from odradek.cluster.connection import ClusterClients
from odradek.cluster.hanging_transactions import (
    broker_addresses,
    chosen_partitions,
    leader_of,
    producers_of,
    transaction_at,
)
from odradek.cluster.offsets import Partition
from odradek.cluster.partition_producers import PartitionProducer, write_abort_marker
from odradek.cluster.topology import describe_partitions
from odradek.cluster.transactions import (
    TransactionDescription,
    TransactionSelection,
    describe_transactions,
    force_terminate,
    list_transactions,
)
from odradek.documents import transactions as documents
from odradek.terminal.durations import duration_ms
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
        duration_ms=None if duration is None else duration_ms(duration, "--duration"),
        pattern=pattern,
    )
    listed = list_transactions(cluster.requests, broker_addresses(cluster.requests), only)
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
    found = producers_of(cluster.requests, chosen_partitions(cluster.requests, topic, partitions or ()), broker)
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
    limit_ms = duration_ms(longest, "--max-transaction-timeout")
    if topic is None:
        chosen = describe_partitions(cluster.requests)
    else:
        chosen = chosen_partitions(cluster.requests, *topic_partitions(topic))
    found = hanging_transactions.find_hanging(cluster.requests, chosen, time.time_ns() // 1_000_000, limit_ms, broker)
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
    [chosen] = chosen_partitions(cluster.requests, topic, [partition])
    if start_offset is not None:
        found = transaction_at(cluster.requests, chosen, start_offset, force=force)
        producer_id, producer_epoch = found.producer_id, found.producer_epoch
        coordinator_epoch = found.coordinator_epoch
    assert producer_id is not None
    assert producer_epoch is not None
    leader, epoch = leader_of(chosen), max(coordinator_epoch or 0, 0)
    where = broker_addresses(cluster.requests)[leader]
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
