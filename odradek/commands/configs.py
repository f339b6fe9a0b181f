"""`odradek configs`: list, describe and alter, for topics, brokers, groups and subscriptions to clients' metrics."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Annotated

from rich.text import Text
from typer import Option

from odradek.cli.arguments import config_pairs, units_told
from odradek.cli.command import group, online
from odradek.cli.completion import group_names, topic_names
from odradek.cluster.config_requests import alter_by_request, config_names, describe_by_request
from odradek.cluster.configs import Config, ConfigOrigin, ConfigResourceType, alter_configs, describe_configs
from odradek.cluster.connection import ClusterClients
from odradek.documents import configs as documents
from odradek.terminal.errors import CommandError, WrongUsageError
from odradek.terminal.output import CommandOutput

app = group("configs", "Describe and alter the configs of topics, brokers, groups and clients' metrics.")

Topic = Annotated[str | None, Option("--topic", "-t", metavar="NAME", help="A topic.", autocompletion=topic_names)]
Broker = Annotated[int | None, Option("--broker", metavar="ID", min=0, help="A broker.")]
BrokerDefaults = Annotated[bool, Option("--broker-defaults", help="What holds for all brokers that have no own.")]
GroupName = Annotated[str | None, Option("--group", "-g", metavar="NAME", help="A group.", autocompletion=group_names)]

SOURCES = {
    ConfigOrigin.DYNAMIC_TOPIC_CONFIG: "topic",
    ConfigOrigin.DYNAMIC_BROKER_CONFIG: "broker, at run time",
    ConfigOrigin.DYNAMIC_DEFAULT_BROKER_CONFIG: "all brokers, at run time",
    ConfigOrigin.STATIC_BROKER_CONFIG: "broker's file",
    ConfigOrigin.DYNAMIC_CLIENT_METRICS_CONFIG: "subscription",
    ConfigOrigin.GROUP_CONFIG: "group",
    ConfigOrigin.DEFAULT_CONFIG: "default",
}


ClientMetrics = Annotated[
    str | None,
    Option("--client-metrics", metavar="NAME", help="A subscription to metrics that clients send (KIP-714)."),
]
ALL_BROKERS = "the default of all brokers"


@dataclass(frozen=True, slots=True)
class _Resource:
    """What has configs; without a name it is all brokers."""

    kind: ConfigResourceType
    name: str | None

    def __str__(self) -> str:
        return ALL_BROKERS if self.name is None else f"{self.kind.word} {self.name}"

    def head(self) -> dict[str, object]:
        """Return how documents about it begin."""
        return {"resource": self.kind.word, "name": self.name}

    @property
    def _needs_requests(self) -> bool:
        return self.name is None or self.kind is ConfigResourceType.CLIENT_METRICS

    def describe(self, cluster: ClusterClients) -> Sequence[Config]:
        """Return its configs."""
        if self._needs_requests:
            return describe_by_request(cluster, self.kind, self.name or "", str(self))
        return describe_configs(cluster, self.kind, self.name or "")

    def alter(self, cluster: ClusterClients, changes: Sequence[tuple[str, str]], deletions: Sequence[str]) -> None:
        """Set and take back."""
        if self._needs_requests:
            alter_by_request(cluster, self.kind, self.name or "", changes, deletions, str(self))
        else:
            alter_configs(cluster, self.kind, self.name or "", changes, deletions)


@online(
    app,
    "list",
    document=documents.LISTED,
    examples="""\
    odradek configs list
    odradek configs list --json""",
)
def list_resources(cluster: ClusterClients, output: CommandOutput) -> None:
    """List the groups that have configs of their own, and the subscriptions to metrics of clients.

    Of topics and brokers, which all have configs, see `odradek topics list` and `odradek cluster info`. Brokers of
    Apache Kafka before 4.1 tell of no groups.
    """
    found = config_names(cluster, (ConfigResourceType.GROUP, ConfigResourceType.CLIENT_METRICS))
    if output.json:
        output.document({"resources": [_Resource(kind, name).head() for kind, name in found]})
    elif found:
        output.table(["RESOURCE", "NAME"], [[kind.word, name] for kind, name in found])
    else:
        output.note("no group has configs of its own, and nobody subscribes to metrics of clients")


@online(
    app,
    "describe",
    document=documents.DESCRIBED,
    examples="""\
    odradek configs describe --topic orders
    odradek configs describe --topic orders --changed --json
    odradek configs describe --broker 1 --changed
    odradek configs describe --broker-defaults
    odradek configs describe --group billing
    odradek configs describe --client-metrics latencies""",
)
def describe(
    cluster: ClusterClients,
    output: CommandOutput,
    topic: Topic = None,
    broker: Broker = None,
    broker_defaults: BrokerDefaults = False,
    group_name: GroupName = None,
    client_metrics: ClientMetrics = None,
    changed: Annotated[bool, Option("--changed", help="Only what is not the default.")] = False,
) -> None:
    """Show every config of a topic, a broker, a group or a subscription, and where its value comes from.

    Of all brokers only those that are set for them are shown.
    """
    resource = _resource(cluster, topic, broker, broker_defaults, group_name, client_metrics)
    _check_there(cluster, resource)
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
    odradek configs alter --group billing --set consumer.session.timeout.ms=60000
    odradek configs alter --client-metrics latencies --set metrics=org.apache.kafka.producer. --set interval.ms=30s""",
)
def alter(
    cluster: ClusterClients,
    output: CommandOutput,
    topic: Topic = None,
    broker: Broker = None,
    broker_defaults: BrokerDefaults = False,
    group_name: GroupName = None,
    client_metrics: ClientMetrics = None,
    changes: Annotated[
        list[str] | None, Option("--set", metavar="NAME=VALUE", help="Set one, also as 7d or 1GiB; repeatable.")
    ] = None,
    deletions: Annotated[
        list[str] | None, Option("--delete", metavar="NAME", help="Take one back to its default; repeatable.")
    ] = None,
) -> None:
    """Set configs of a topic, a broker, a group or a subscription, or take them back; all or, if one is refused, none.

    A subscription to metrics is made with its first config, and gone with its last.
    """
    wanted = config_pairs(changes or (), "--set")
    if not wanted and not deletions:
        raise WrongUsageError("nothing to change; give --set or --delete")
    resource = _resource(cluster, topic, broker, broker_defaults, group_name, client_metrics)
    if deletions and resource.name is not None:
        if not wanted:
            _check_there(cluster, resource)
        _check_known(resource, {each.name for each in resource.describe(cluster)}, deletions)
    with units_told(wanted):
        resource.alter(cluster, wanted, deletions or ())
    if output.json:
        output.document({**resource.head(), "set": dict(wanted), "deleted": list(deletions or ())})
    else:
        output.line(f"{resource} changed")


def _resource(
    cluster: ClusterClients,
    topic: str | None,
    broker: int | None,
    broker_defaults: bool,
    group_name: str | None,
    client_metrics: str | None,
) -> _Resource:
    named = {
        ConfigResourceType.TOPIC: topic,
        ConfigResourceType.GROUP: group_name,
        ConfigResourceType.CLIENT_METRICS: client_metrics,
    }
    given = [_Resource(kind, name) for kind, name in named.items() if name is not None]
    if len(given) + broker_defaults + (broker is not None) != 1:
        raise WrongUsageError("give one of --topic, --broker, --broker-defaults, --group and --client-metrics")
    if given:
        return given[0]
    if broker is None:
        return _Resource(ConfigResourceType.BROKER, None)
    brokers = sorted(cluster.metadata().brokers)
    if broker not in brokers:
        raise CommandError(f"there is no broker {broker}; the cluster has {', '.join(str(each) for each in brokers)}")
    return _Resource(ConfigResourceType.BROKER, str(broker))


def _check_there(cluster: ClusterClients, resource: _Resource) -> None:
    """Brokers describe a subscription that nobody has made as if it were there."""
    is_subscription = resource.kind is ConfigResourceType.CLIENT_METRICS
    if is_subscription and (resource.kind, resource.name) not in config_names(cluster, [resource.kind]):
        raise CommandError(f"{resource} does not exist; `odradek configs list` shows those that do")


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
