"""`odradek cluster info`: which cluster this is, who is in it, and what it can do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

from typer import Option

from odradek.cli.command import online, part
from odradek.client.errors import ClientError
from odradek.cluster.broker_versions import BrokerVersions, ClusterFeature, Range, cluster_features, describe_versions
from odradek.cluster.connection import ClusterClients
from odradek.cluster.quorum import describe_quorum
from odradek.cluster.topology import ClusterBroker, ClusterBrokers, describe_brokers
from odradek.documents import cluster as documents
from odradek.terminal.output import CommandOutput

app = part()


@dataclass(frozen=True, slots=True)
class ClusterInfo:
    """What there is to say; `voters` is empty where no quorum is told."""

    found: ClusterBrokers
    controller: int | None
    voters: Sequence[int]
    versions: Mapping[int, BrokerVersions | ClientError]

    @property
    def features(self) -> list[ClusterFeature]:
        """Those that the brokers know."""
        return cluster_features(each for each in self.versions.values() if isinstance(each, BrokerVersions))


@online(
    app,
    "info",
    document=documents.INFO,
    examples="""\
    odradek cluster info
    odradek cluster info --requests
    odradek cluster info --json""",
)
def info(
    cluster: ClusterClients,
    output: CommandOutput,
    requests: Annotated[
        bool, Option("--requests", help="Also which versions of which requests each broker serves.")
    ] = False,
) -> None:
    """Show the cluster's id, its controllers, brokers with their addresses, and the levels of its features.

    Whether anything is wrong is said by `odradek cluster status`.
    """
    found = describe_brokers(cluster.requests)
    quorum = describe_quorum(cluster.requests)
    controller = quorum.leader if quorum is not None else found.controller_id if found.controller_id >= 0 else None
    facts = ClusterInfo(
        found,
        controller,
        [each.node_id for each in quorum.voters] if quorum is not None else [],
        describe_versions(cluster.requests, {number: each.address for number, each in found.live.items()}),
    )
    if output.json:
        output.document(_document(facts))
    else:
        _show(output, facts)
        if requests:
            _show_requests(output, facts.versions)


def _document(facts: ClusterInfo) -> dict[str, object]:
    return {
        "cluster_id": facts.found.cluster_id,
        "controller": facts.controller,
        "voters": list(facts.voters),
        "features": [
            {"name": each.name, "level": each.level, "supported": _range_json(each.supported)}
            for each in facts.features
        ],
        "brokers": [_broker_json(each, facts.versions.get(each.broker_id)) for each in facts.found.brokers.values()],
    }


def _show(output: CommandOutput, facts: ClusterInfo) -> None:
    is_led = facts.controller is not None
    output.line(f"cluster {facts.found.cluster_id}")
    output.line(f"active controller {facts.controller}" if is_led else "no active controller")
    if facts.voters:
        output.line(f"controllers {', '.join(map(str, facts.voters))}")
    output.line()
    output.table(
        [">BROKER", "ADDRESS", "RACK", "STATE"],
        [
            [each.broker_id, f"{each.host}:{each.port}", each.rack, "fenced" if each.is_fenced else "up"]
            for each in facts.found.brokers.values()
        ],
    )
    if facts.features:
        output.line()
        output.table(
            ["FEATURE", ">LEVEL", ">POSSIBLE"],
            [[each.name, each.level, _range_text(each.supported)] for each in facts.features],
        )
    for number, told in facts.versions.items():
        if isinstance(told, ClientError):
            output.note(f"broker {number} does not tell what it can do: {told}")


def _show_requests(output: CommandOutput, versions: Mapping[int, BrokerVersions | ClientError]) -> None:
    known = {number: each.requests for number, each in versions.items() if isinstance(each, BrokerVersions)}
    names = dict.fromkeys(name for each in known.values() for name in each)
    output.line()
    output.table(
        ["REQUEST", *(f">BROKER {number}" for number in known)],
        [[name, *(_range_text(each.get(name)) for each in known.values())] for name in names],
    )


def _range_text(found: Range | None) -> str | None:
    if found is None:
        return None
    lowest, highest = found
    return str(lowest) if lowest == highest else f"{lowest}-{highest}"


def _range_json(found: Range | None) -> list[int] | None:
    return None if found is None else list(found)


def _broker_json(broker: ClusterBroker, told: BrokerVersions | ClientError | None) -> dict[str, object]:
    known = told if isinstance(told, BrokerVersions) else None
    return {
        "broker": broker.broker_id,
        "host": broker.host,
        "port": broker.port,
        "rack": broker.rack,
        "fenced": broker.is_fenced,
        "features": {} if known is None else {name: list(each) for name, each in known.features.items()},
        "requests": {} if known is None else {name: list(each) for name, each in known.requests.items()},
        "problem": str(told) if isinstance(told, ClientError) else None,
    }
