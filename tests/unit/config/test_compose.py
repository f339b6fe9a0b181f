"""The compose files start what they say: settings that a broker takes, and nodes that fit together."""

import re
from pathlib import Path

from odradek.config.loading import load_settings
from odradek.config.settings import BrokerSettings

CLUSTER = Path(__file__).resolve().parents[3] / "docker" / "compose.cluster.yaml"


def nodes() -> dict[str, BrokerSettings]:
    """Return the settings of each service that has some."""
    services = re.split(r"\n  (?=[\w-]+:\n    <<)", CLUSTER.read_text())[1:]
    return {text.partition(":")[0]: load_settings(None, re.findall(r"--override=(\S+)", text)) for text in services}


def test_the_cluster_of_the_compose_file_has_a_controller_and_brokers_that_look_for_it() -> None:
    """Nothing in their settings is unknown, ids differ, and the voter is the controller at its own name."""
    found = nodes()
    assert list(found) == ["controller", "broker-1", "broker-2", "broker-3"]
    assert [settings.warnings for settings in found.values()] == [()] * 4
    assert len({settings.node_id for settings in found.values()}) == 4
    assert {settings.quorum.voters for settings in found.values()} == {found["controller"].quorum.voters}
    [voter] = found["controller"].quorum.voters
    assert (voter.node_id, voter.host) == (found["controller"].node_id, "controller")


def test_every_broker_of_the_compose_file_tells_the_port_that_the_host_maps_to_it() -> None:
    """A client on the host is told localhost with the published port, other containers the service's name."""
    text = CLUSTER.read_text()
    for name, settings in nodes().items():
        if settings.quorum.is_broker:
            told = {one.name: one for one in settings.advertised_listeners}
            assert f'"127.0.0.1:{told["HOST"].port}:9092"' in text
            assert told["CONTAINERS"].host == name
            assert settings.inter_broker_listener_name == "CONTAINERS"
