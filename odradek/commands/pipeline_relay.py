"""`odradek pipeline relay`: topics into other topics, within a cluster or from one to another."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Option

from odradek.cli.arguments import pairs
from odradek.cli.command import part
from odradek.cli.other_cluster import Renames, ToBootstrapServer
from odradek.cluster.client_settings import read_client_settings
from odradek.commands.pipeline_jobs import JobPlan, register
from odradek.commands.pipeline_options import STOPPING, JobOptions, client_settings, settings
from odradek.terminal.errors import WrongUsageError
from odradek.terminal.output import CommandOutput

if TYPE_CHECKING:
    from odradek.pipeline.running import Job
    from odradek.pipeline.store import HadoopStore

app = part()


@register(
    app,
    "relay",
    details=STOPPING,
    examples="""\
    odradek pipeline relay orders --to kept --transactional-id keep-orders
    odradek pipeline relay orders --bootstrap-server external:9092 --to-bootstrap-server 127.0.0.1:9092 --to orders \
--offsets zookeeper://127.0.0.1:2181/kafka
    odradek pipeline relay --pattern 'orders-.*' --to-bootstrap-server other:9092 --rename 'orders-(.*)=eu.orders-$1' \
--keep-partitions --checkpoint mirror-checkpoint
    odradek pipeline relay logs --matching 'ERROR|WARN' --to alarms --checkpoint alarms-checkpoint
    odradek pipeline relay orders --where "length(value) < 1000" --select "upper(CAST(value AS STRING)) AS value" \
--to shouted --checkpoint shouted-checkpoint""",
)
def relay(
    output: CommandOutput,
    given: JobOptions,
    to: Annotated[
        str | None,
        Option(
            "--to",
            metavar="TOPIC",
            help="Where to, unless --select makes a column topic; in another cluster the same name if not given.",
        ),
    ] = None,
    rename: Renames = None,
    keep_partitions: Annotated[
        bool, Option("--keep-partitions", help="Each record to the partition of the number that it came from.")
    ] = False,
    to_bootstrap_server: ToBootstrapServer = None,
    to_command_config: Annotated[
        Path | None,
        Option(
            "--to-command-config", metavar="FILE", help="Settings of the producer, as in a client.properties of Kafka."
        ),
    ] = None,
    to_kafka: Annotated[
        list[str] | None, Option("--to-kafka", metavar="NAME=VALUE", help="A setting of the producer; repeatable.")
    ] = None,
    matching: Annotated[
        str | None, Option("--matching", metavar="REGEX", help="Only values in which this is found.")
    ] = None,
    where: Annotated[
        str | None, Option("--where", metavar="SQL", help="Only records for which this condition holds.")
    ] = None,
    select: Annotated[
        list[str] | None,
        Option(
            "--select",
            metavar="SQL",
            help="An expression AS key, value, timestamp, headers, topic or partition; repeatable.",
        ),
    ] = None,
    source_header: Annotated[
        bool, Option("--source-header", help="Add a header that says which record it was: topic/partition/offset.")
    ] = False,
    transactional_id: Annotated[
        str | None,
        Option(
            "--transactional-id",
            metavar="ID",
            help="Exactly once, within one cluster: in transactions, whose ids begin with this one.",
        ),
    ] = None,
    group: Annotated[
        str | None,
        Option(
            "--group",
            metavar="NAME",
            help="The group that has the offsets; the transactional id if not given.",
        ),
    ] = None,
) -> JobPlan:
    """Produce what is in topics to other topics, filtered or changed, also from one cluster to another.

    With --transactional-id exactly once for readers of committed records, and the group says where to go on. Without
    it at least once: after a kill the micro-batch in work is produced again. With --source-header readers can tell.
    """
    del output
    one_cluster = to_bootstrap_server in (None, client_settings(given)["bootstrap.servers"])
    renames = pairs(rename or (), "--rename")
    if to and renames:
        raise WrongUsageError("give --to or --rename: --to is for all records")
    if transactional_id is not None:
        _check_transactional(given, transactional_id, one_cluster)
    elif group is not None:
        raise WrongUsageError("--group is for a relay with --transactional-id")
    elif given.checkpoint is None and given.offsets is None:
        raise WrongUsageError(
            "say with --checkpoint, --offsets or --transactional-id where to keep how far the relay has come"
        )
    shared = client_settings(given) if one_cluster else {}
    own = {} if one_cluster else {"bootstrap.servers": str(to_bootstrap_server)}
    own |= read_client_settings(to_command_config) if to_command_config else {}
    own |= settings(to_kafka, "--to-kafka")

    def make(store: HadoopStore) -> Job:
        del store
        from odradek.pipeline.relay import Relay, Rename, Rules
        from odradek.pipeline.sink import TopicSink, sink_options
        from odradek.pipeline.transactional_relay import TransactionalRelay

        sink = sink_options(shared, own, to)
        rules = Rules(
            matching,
            where,
            tuple(select or ()),
            source_header,
            tuple(Rename(*each) for each in renames),
            keep_topics=to is None and not one_cluster,
            refuse_same_topic=one_cluster,
            keep_partitions=keep_partitions,
        )
        if transactional_id is not None:
            return TransactionalRelay(rules, sink, transactional_id, group or transactional_id)
        return Relay(rules, TopicSink(sink))

    reading = {"kafka.isolation.level": "read_committed"} if transactional_id else {}
    return JobPlan(make, reading=reading, produces=to if one_cluster else None)


def _check_transactional(given: JobOptions, transactional_id: str, one_cluster: bool) -> None:
    """Raise WrongUsageError where records and offsets could not be in one transaction."""
    if not transactional_id.strip():
        raise WrongUsageError("--transactional-id names nothing")
    if not one_cluster:
        raise WrongUsageError(
            "--transactional-id is for one cluster: a transaction cannot have the offsets in one and the records in"
            " another, so leave out --to-bootstrap-server, or relay at least once with --checkpoint"
        )
    if given.min_partitions is not None:
        raise WrongUsageError("--min-partitions cannot be with --transactional-id: a partition is one task's alone")
