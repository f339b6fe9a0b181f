"""`odradek bench`: a load generator, with throughput and latencies."""

from __future__ import annotations

import time
from itertools import islice
from typing import Annotated

from confluent_kafka import KafkaError, Message
from typer import Argument, Option

from odradek.cli.arguments import Acks, ProducerCompression
from odradek.cli.command import group, online
from odradek.cluster.connection import ClusterClients
from odradek.cluster.consuming import batches, read_partitions
from odradek.cluster.errors import sentence
from odradek.cluster.offset_spec import SYNTAX, Latest, parse_offset_spec
from odradek.cluster.producing import MAX_RECORD_BYTES, MESSAGE_TIMEOUT_MS, SendRate, drain
from odradek.cluster.topics import partitions_of
from odradek.cluster.transacting import Transactions
from odradek.documents import bench as documents
from odradek.load.histogram import Histogram
from odradek.load.payload import payloads
from odradek.load.report import Report
from odradek.terminal.errors import EXIT_INTERRUPTED, EXIT_OK, CommandError, WrongUsageError
from odradek.terminal.interrupts import asked_to_stop
from odradek.terminal.output import CommandOutput

app = group("bench", "Measure throughput and latency.")

PROGRESS_EVERY = 1_024
DEFAULTS = {"message.timeout.ms": MESSAGE_TIMEOUT_MS, "message.max.bytes": MAX_RECORD_BYTES}


Topic = Annotated[str, Argument(metavar="TOPIC", help="A topic that exists.", show_default=False)]


@online(
    app,
    "produce",
    document=documents.REPORT,
    examples="""\
    odradek bench produce load --records 1000000 --size 100
    odradek bench produce load --rate 1000 --linger 0 --acks all --json
    odradek bench produce load --compression zstd --batch 1000000
    odradek bench produce load --transactional-id load-1 --transaction-records 100""",
)
def produce(
    cluster: ClusterClients,
    output: CommandOutput,
    topic: Topic,
    records: Annotated[int, Option("--records", "-n", min=1, metavar="N", help="How many records.")] = 100_000,
    size: Annotated[int, Option("--size", "-s", min=0, metavar="BYTES", help="Size of each value.")] = 100,
    rate: Annotated[
        float | None,
        Option("--rate", min=0.001, metavar="N", help="At most so many a second."),
    ] = None,
    acks: Annotated[Acks, Option("--acks", help="Who must have a record before it counts.")] = Acks.ALL,
    compression: Annotated[
        ProducerCompression, Option("--compression", "-z", help="Compress batches.")
    ] = ProducerCompression.NONE,
    linger: Annotated[float, Option("--linger", min=0, metavar="MS", help="How long a batch waits for more.")] = 5,
    batch: Annotated[int, Option("--batch", min=1, max=2**31 - 1, metavar="BYTES", help="Largest batch.")] = 1_000_000,
    transactional_id: Annotated[
        str | None, Option("--transactional-id", metavar="ID", help="Produce in transactions of this id.")
    ] = None,
    transaction_records: Annotated[
        int, Option("--transaction-records", min=1, metavar="N", help="How many records a transaction has.")
    ] = 1_000,
) -> int:
    """Produce records as fast as they go, or at a rate, and report how long each took to be acknowledged.

    In transactions it is also reported how long a commit took, from asking for it to its answer.
    """
    if transactional_id is not None and acks is not Acks.ALL:
        raise WrongUsageError("transactions need --acks all")
    partitions_of(cluster, topic)
    report = Report(topic)
    errors: list[KafkaError] = []

    def on_delivery(error: KafkaError | None, message: Message) -> None:
        if error is not None:
            report.failed += 1
            errors[:] = errors or [error]
            return
        report.records += 1
        report.bytes += len(message)
        report.latency.add(int((message.latency() or 0) * 1_000_000))

    settings = {"acks": acks.value, "compression.type": compression.value, "linger.ms": linger, "batch.size": batch}
    if transactional_id is not None:
        settings["transactional.id"] = transactional_id
    producer = cluster.producer(settings, defaults=DEFAULTS)
    transactions = None
    if transactional_id is not None:
        commits = report.commits = Histogram()
        transactions = Transactions(
            producer, transactional_id, transaction_records, lambda seconds: commits.add(int(seconds * 1_000_000))
        )
    pace = SendRate(rate)
    began = time.monotonic()
    with asked_to_stop() as asked, output.progress() as progress:
        task = progress.add_task(f"to {topic}", total=records)
        for number, value in enumerate(islice(payloads(size), records)):
            pace.wait(producer.poll)
            if transactions is not None:
                transactions.before_record()
            while not asked():
                try:
                    producer.produce(topic, value, on_delivery=on_delivery)
                    break
                except BufferError:
                    producer.poll(0.1)
            if asked() or errors:
                break
            producer.poll(0)
            if not number % PROGRESS_EVERY:
                progress.update(task, completed=report.records)
        if errors:
            producer.purge()  # no reason to wait for the others
            if transactions is not None:
                transactions.abort()
        elif transactions is not None:
            transactions.commit()
        left = drain(producer, asked)
        stopped = asked()
    report.seconds = time.monotonic() - began
    report.show(output, "to", "from producing a record to its acknowledgement")
    if errors:
        raise CommandError(f"{report.failed} records could not be produced: {sentence(errors[0], f'topic {topic}')}")
    if left:
        raise CommandError(f"{left} records are not acknowledged; is the broker still there?")
    return EXIT_INTERRUPTED if stopped else EXIT_OK


@online(
    app,
    "consume",
    document=documents.REPORT,
    details=f"Places for --from: {SYNTAX}.",
    examples="""\
    odradek bench consume load
    odradek bench consume load --from end --records 10000        while something produces""",
)
def consume(
    cluster: ClusterClients,
    output: CommandOutput,
    topic: Topic,
    start: Annotated[str, Option("--from", metavar="WHERE", help="Where to start.")] = "beginning",
    records: Annotated[
        int | None,
        Option("--records", "-n", min=1, metavar="N", help="How many, waiting for them; all there are if not given."),
    ] = None,
) -> int:
    """Read records as fast as they come, and report how long those took that were produced meanwhile.

    Their latency is from the timestamp of a record, which its producer sets, to its arrival here: clocks must agree.
    """
    try:
        spec = parse_offset_spec(start, time.time_ns() // 1_000_000)
    except ValueError as wrong:
        raise WrongUsageError(f"--from: {wrong}") from None
    places = [(topic, number) for number in partitions_of(cluster, topic)]
    reading = read_partitions(cluster, places, spec, Latest() if records is None else None, output.note)
    total = records
    if reading.ends is not None:
        total = sum(reading.ends.offsets.values()) - sum(reading.starts.values())
    report = Report(topic)
    began, began_ms = time.monotonic(), time.time_ns() // 1_000_000
    with asked_to_stop() as asked, output.progress() as progress:
        task = progress.add_task(f"from {topic}", total=total)
        for batch in batches(reading, asked, records):
            _count(report, batch, began_ms)
            progress.update(task, completed=report.records)
        stopped = asked()
    report.seconds = time.monotonic() - began
    reading.consumer.close()
    report.show(output, "from", "from a record's timestamp to its arrival here, for those produced meanwhile")
    return EXIT_INTERRUPTED if stopped else EXIT_OK


def _count(report: Report, records: list[Message], began_ms: int) -> None:
    now_ms = time.time_ns() // 1_000_000
    for record in records:
        report.bytes += len(record)
        _, made_ms = record.timestamp()
        if made_ms >= began_ms:
            report.latency.add((now_ms - made_ms) * 1_000)
    report.records += len(records)
