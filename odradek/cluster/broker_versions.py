"""What brokers can do, as each says itself (ApiVersions, KIP-35, KIP-584): versions of requests, levels of features."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from odradek import __version__
from odradek.client.errors import ClientError
from odradek.cluster.broker_requests import Address, BrokerRequests
from odradek.cluster.log_dirs import error_name
from odradek.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from odradek.protocol.registry import ApiKey
from odradek.terminal.errors import CommandError

Range = tuple[int, int]
"""The lowest and the highest."""


@dataclass(frozen=True, slots=True)
class BrokerVersions:
    """What one broker can do, by names in order."""

    requests: Mapping[str, Range]
    features: Mapping[str, Range]
    """The levels that it can run."""
    finalized: Mapping[str, int]
    """The levels that the cluster runs, as far as the broker knows."""


@dataclass(frozen=True, slots=True)
class ClusterFeature:
    """A feature of the cluster: its level, 0 where it is off, and the levels that all brokers can run."""

    name: str
    level: int
    supported: Range | None
    """None where there is no such level, or a broker does not tell."""


def describe_versions(
    requests: BrokerRequests, addresses: Mapping[int, Address]
) -> dict[int, BrokerVersions | ClientError]:
    """Return what brokers can do, or why one does not tell; CommandError where a broker refuses the question."""
    request = ApiVersionsRequest(client_software_name="odradek", client_software_version=__version__)
    answers = requests.ask_each(dict.fromkeys(addresses.values(), request), ApiVersionsResponse)
    return {number: _versions(number, answers[address]) for number, address in addresses.items()}


def cluster_features(brokers: Iterable[BrokerVersions]) -> list[ClusterFeature]:
    """Return the features that brokers know, by name; of levels that they tell differently the newest."""
    known = list(brokers)
    names = {name for each in known for name in (*each.features, *each.finalized)}
    return [
        ClusterFeature(
            name,
            max(each.finalized.get(name, 0) for each in known),
            _common([each.features.get(name) for each in known]),
        )
        for name in sorted(names)
    ]


def _common(ranges: Iterable[Range | None]) -> Range | None:
    told = list(ranges)
    known = [each for each in told if each is not None]
    if len(known) < len(told) or not known:
        return None
    lowest, highest = max(each[0] for each in known), min(each[1] for each in known)
    return (lowest, highest) if lowest <= highest else None


def _versions(number: int, answer: ApiVersionsResponse | ClientError) -> BrokerVersions | ClientError:
    if isinstance(answer, ClientError):
        return answer
    if answer.error_code:
        raise CommandError(f"the versions of broker {number}: {error_name(answer.error_code)}")
    return BrokerVersions(
        requests={_name(each.api_key): (each.min_version, each.max_version) for each in answer.api_keys},
        features={
            each.name: (each.min_version, each.max_version)
            for each in sorted(answer.supported_features, key=lambda feature: feature.name)
        },
        finalized={each.name: each.max_version_level for each in answer.finalized_features},
    )


def _name(key: int) -> str:
    """Return the name of an API in capitals, its number for one that is not known here."""
    try:
        return ApiKey(key).name
    except ValueError:
        return str(key)
