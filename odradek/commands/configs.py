"""`odradek configs`: describe and alter, for topics and brokers."""

from __future__ import annotations

from typing import Annotated

from confluent_kafka.admin import ConfigSource
from rich.text import Text
from typer import Option

from odradek.cli.arguments import pairs
from odradek.cli.command import group, online
from odradek.cli.errors import CommandError, WrongUsageError
from odradek.cli.output import Output
from odradek.cluster.configs import Config, Kind, alter_configs, describe_configs
from odradek.cluster.connection import Cluster

app = group("configs", "Describe and alter the configs of topics and brokers.")

Topic = Annotated[str | None, Option("--topic", "-t", metavar="NAME", help="A topic.")]
Broker = Annotated[int | None, Option("--broker", metavar="ID", min=0, help="A broker.")]

SOURCES = {
    ConfigSource.DYNAMIC_TOPIC_CONFIG: "topic",
    ConfigSource.DYNAMIC_BROKER_CONFIG: "broker, at run time",
    ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG: "all brokers, at run time",
    ConfigSource.STATIC_BROKER_CONFIG: "broker's file",
    ConfigSource.DEFAULT_CONFIG: "default",
}


@online(
    app,
    "describe",
    examples="""\
    odradek configs describe --topic orders
    odradek configs describe --topic orders --changed --json
    odradek configs describe --broker 1 --changed""",
)
def describe(
    cluster: Cluster,
    output: Output,
    topic: Topic = None,
    broker: Broker = None,
    changed: Annotated[bool, Option("--changed", help="Only what is not the default.")] = False,
) -> None:
    """Show every config of a topic or a broker, and where its value comes from."""
    kind, name = _resource(cluster, topic, broker)
    configs = [each for each in describe_configs(cluster, kind, name) if not (changed and each.is_default)]
    if output.json:
        output.document({"resource": kind.name.lower(), "name": name, "configs": [_json(each) for each in configs]})
    elif configs:
        output.table(["CONFIG", "VALUE", "SOURCE"], [_row(each) for each in configs])
    else:
        output.note(f"every config of {kind.name.lower()} {name} is the default")


@online(
    app,
    "alter",
    examples="""\
    odradek configs alter --topic orders --set retention.ms=86400000 --set cleanup.policy=delete
    odradek configs alter --topic orders --delete retention.ms
    odradek configs alter --broker 1 --set log.retention.ms=3600000""",
)
def alter(
    cluster: Cluster,
    output: Output,
    topic: Topic = None,
    broker: Broker = None,
    changes: Annotated[list[str] | None, Option("--set", metavar="NAME=VALUE", help="Set one; repeatable.")] = None,
    deletions: Annotated[
        list[str] | None, Option("--delete", metavar="NAME", help="Take one back to its default; repeatable.")
    ] = None,
) -> None:
    """Set configs of a topic or a broker, or take them back; all of them or, if one is refused, none."""
    wanted = pairs(changes or (), "--set")
    if not wanted and not deletions:
        raise WrongUsageError("nothing to change; give --set or --delete")
    kind, name = _resource(cluster, topic, broker)
    alter_configs(cluster, kind, name, wanted, deletions or ())
    if output.json:
        output.document(
            {"resource": kind.name.lower(), "name": name, "set": dict(wanted), "deleted": list(deletions or ())}
        )
    else:
        output.line(f"{kind.name.lower()} {name} changed")


def _resource(cluster: Cluster, topic: str | None, broker: int | None) -> tuple[Kind, str]:
    if (topic is None) == (broker is None):
        raise WrongUsageError("give either --topic or --broker")
    if topic is not None:
        return Kind.TOPIC, topic
    brokers = sorted(cluster.metadata().brokers)
    if broker not in brokers:
        raise CommandError(f"there is no broker {broker}; the cluster has {', '.join(str(each) for each in brokers)}")
    return Kind.BROKER, str(broker)


def _row(config: Config) -> list[object]:
    style = "" if config.is_default else "bold"
    value = "(secret)" if config.sensitive else "-" if config.value is None else config.value
    source = SOURCES.get(config.source, config.source.name.lower())
    return [Text(each, style=style) for each in (config.name, value, source)]


def _json(config: Config) -> dict[str, object]:
    return {
        "name": config.name,
        "value": config.value,
        "source": config.source.name,
        "sensitive": config.sensitive,
        "read_only": config.read_only,
    }
