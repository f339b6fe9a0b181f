"""Why a partition takes no records: what a cluster says of its leader, its replicas in sync and its disk."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from odradek.client.errors import ClientError
from odradek.cluster.broker_requests import BrokerRequests
from odradek.cluster.log_dirs import LogDirFacts, describe_log_dirs
from odradek.cluster.topology import PartitionState, describe_brokers, describe_partitions
from odradek.terminal.errors import CommandError
from odradek.terminal.human import plural, size_text


def why_not_writable(requests: BrokerRequests, topics: Collection[str]) -> str | None:
    """Return in words what keeps partitions of topics from taking records; None where nothing is to be seen.

    Also where the cluster does not answer: then that is what is wrong, and who asks knows it.
    """
    try:
        partitions = describe_partitions(requests, topics, with_min_isr=True)
        brokers = describe_brokers(requests).brokers
        wanted = {number for each in partitions for number in each.replicas}
        addresses = {number: brokers[number].address for number in wanted if number in brokers}
        told = describe_log_dirs(requests, dict.fromkeys(addresses.values()))
    except (CommandError, ClientError):
        return None
    directories: dict[int, Sequence[LogDirFacts]] = {}
    for number, address in addresses.items():
        found = told[address]
        directories[number] = () if isinstance(found, ClientError) else found
    return reason(partitions, directories)


def reason(partitions: Iterable[PartitionState], directories: Mapping[int, Sequence[LogDirFacts]]) -> str | None:
    """Return what is wrong with the first partition with which something is."""
    for each in partitions:
        what = f"partition {each.number} of {each.topic}"
        asked = each.replicas if each.leader is None else (each.leader,)
        full = next(filter(None, (_disk_problem(each, number, directories.get(number, ())) for number in asked)), None)
        if each.leader is None:
            brokers = ", ".join(str(number) for number in each.replicas)
            return f"{what} has no leader among brokers {brokers}{'' if full is None else f': {full}'}"
        if each.is_under_min_isr:
            in_sync = plural(len(each.isr), "replica")
            return f"{what} has {in_sync} in sync, and its min.insync.replicas asks for {each.min_isr}"
        if full is not None:
            return full
    return None


def _disk_problem(partition: PartitionState, broker: int, directories: Sequence[LogDirFacts]) -> str | None:
    own = [each for each in directories if partition.key in each.sizes]
    for each in own or directories:
        if each.error is not None:
            return f"log directory {each.path} of broker {broker} has failed ({each.error})"
        if each.is_full:
            left = size_text(each.usable_bytes or 0)
            return f"the disk of broker {broker} is full: {left} are left for {each.path}"
    return None
