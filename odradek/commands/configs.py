"""`odradek configs`: describe and alter, for topics, brokers and groups."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Annotated

from confluent_kafka.admin import ConfigSource
from rich.text import Text
from typer import Option

from odradek.cli.arguments import config_pairs
from odradek.cli.command import group, online
from odradek.cli.completion import group_names, topic_names
from odradek.cluster.broker_defaults import WHAT, alter_broker_defaults, describe_broker_defaults
from odradek.cluster.configs import Config, ConfigResourceType, alter_configs, describe_configs
from odradek.cluster.connection import ClusterClients
from odradek.documents import configs as documents
from odradek.terminal.errors import CommandError, WrongUsageError
from odradek.terminal.output import CommandOutput

app = group("configs", "Describe and alter the configs of topics, brokers and groups.")

Topic = Annotated[str | None, Option("--topic", "-t", metavar="NAME", help="A topic.", autocompletion=topic_names)]
Broker = Annotated[int | None, Option("--broker", metavar="ID", min=0, help="A broker.")]
BrokerDefaults = Annotated[bool, Option("--broker-defaults", help="What holds for all brokers that have no own.")]
GroupName = Annotated[str | None, Option("--group", "-g", metavar="NAME", help="A group.", autocompletion=group_names)]

SOURCES = {
    ConfigSource.DYNAMIC_TOPIC_CONFIG: "topic",
    ConfigSource.DYNAMIC_BROKER_CONFIG: "broker, at run time",
    ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG: "all brokers, at run time",
    ConfigSource.STATIC_BROKER_CONFIG: "broker's file",
    ConfigSource.GROUP_CONFIG: "group",
    ConfigSource.DEFAULT_CONFIG: "default",
}


@dataclass(frozen=True, slots=True)
class _Resource:
    """What has configs; without a name it is all brokers."""

    kind: ConfigResourceType
    name: str | None

    def __str__(self) -> str:
        return WHAT if self.name is None else f"{self.kind.name.lower()} {self.name}"

    def head(self) -> dict[str, object]:
        """Return how documents about it begin."""
        return {"resource": self.kind.name.lower(), "name": self.name}

    def describe(self, cluster: ClusterClients) -> Sequence[Config]:
        """Return its configs."""
        return (
            describe_broker_defaults(cluster) if self.name is None else describe_configs(cluster, self.kind, self.name)
        )

    def alter(self, cluster: ClusterClients, changes: Sequence[tuple[str, str]], deletions: Sequence[str]) -> None:
        """Set and take back."""
        if self.name is None:
            alter_broker_defaults(cluster, changes, deletions)
        else:
            alter_configs(cluster, self.kind, self.name, changes, deletions)


@online(
    app,
    "describe",
    document=documents.DESCRIBED,
    examples="""\
    odradek configs describe --topic orders
    odradek configs describe --topic orders --changed --json
    odradek configs describe --broker 1 --changed
    odradek configs describe --broker-defaults
    odradek configs describe --group billing""",
)
def describe(
    cluster: ClusterClients,
    output: CommandOutput,
    topic: Topic = None,
    broker: Broker = None,
    broker_defaults: BrokerDefaults = False,
    group_name: GroupName = None,
    changed: Annotated[bool, Option("--changed", help="Only what is not the default.")] = False,
) -> None:
    """Show every config of a topic, a broker or a group, and where its value comes from.

    Of all brokers only those that are set for them are shown.
    """
    resource = _resource(cluster, topic, broker, broker_defaults, group_name)
    configs = [each for each in resource.describe(cluster) if not (changed and each.is_default)]
    if output.json:
        output.document({**resource.head(), "configs": [_json(each) for each in configs]})
    elif configs:
        output.table(["CONFIG", "VALUE", "SOURCE"], [_row(each) for each in configs])
    else:
        output.note(f"nothing is set for {resource}")


@online(
    app,
    "alter",
    document=documents.ALTERED,
    examples="""\
    odradek configs alter --topic orders --set retention.ms=7d --set segment.bytes=256MiB
    odradek configs alter --topic orders --delete retention.ms
    odradek configs alter --broker 1 --set log.retention.ms=3600000
    odradek configs alter --broker-defaults --set log.retention.ms=3600000
    odradek configs alter --group billing --set consumer.session.timeout.ms=60000""",
)
def alter(
    cluster: ClusterClients,
    output: CommandOutput,
    topic: Topic = None,
    broker: Broker = None,
    broker_defaults: BrokerDefaults = False,
    group_name: GroupName = None,
    changes: Annotated[
        list[str] | None, Option("--set", metavar="NAME=VALUE", help="Set one, also as 7d or 1GiB; repeatable.")
    ] = None,
    deletions: Annotated[
        list[str] | None, Option("--delete", metavar="NAME", help="Take one back to its default; repeatable.")
    ] = None,
) -> None:
    """Set configs of a topic, a broker or a group, or take them back; all of them or, if one is refused, none."""
    wanted = config_pairs(changes or (), "--set")
    if not wanted and not deletions:
        raise WrongUsageError("nothing to change; give --set or --delete")
    resource = _resource(cluster, topic, broker, broker_defaults, group_name)
    if deletions and resource.name is not None:
        _check_known(resource, {each.name for each in resource.describe(cluster)}, deletions)
    resource.alter(cluster, wanted, deletions or ())
    if output.json:
        output.document({**resource.head(), "set": dict(wanted), "deleted": list(deletions or ())})
    else:
        output.line(f"{resource} changed")


def _resource(
    cluster: ClusterClients, topic: str | None, broker: int | None, broker_defaults: bool, group_name: str | None
) -> _Resource:
    if [topic is not None, broker is not None, broker_defaults, group_name is not None].count(True) != 1:
        raise WrongUsageError("give either --topic, --broker, --broker-defaults or --group")
    if topic is not None:
        return _Resource(ConfigResourceType.TOPIC, topic)
    if group_name is not None:
        return _Resource(ConfigResourceType.GROUP, group_name)
    if broker is None:
        return _Resource(ConfigResourceType.BROKER, None)
    brokers = sorted(cluster.metadata().brokers)
    if broker not in brokers:
        raise CommandError(f"there is no broker {broker}; the cluster has {', '.join(str(each) for each in brokers)}")
    return _Resource(ConfigResourceType.BROKER, str(broker))


def _check_known(resource: _Resource, known: Collection[str], names: Sequence[str]) -> None:
    """Brokers take back what nobody has set without a word, whatever it is called."""
    for name in names:
        if name not in known:
            near = get_close_matches(name, known, 1)
            hint = f"; did you mean {near[0]}?" if near else ""
            raise CommandError(f"{resource} has no config {name}{hint}")


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
