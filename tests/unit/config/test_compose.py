"""The compose files start what they say: settings that a broker takes, and nodes that fit together."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from odradek.config.loading import load_settings
from odradek.config.settings import BrokerSettings

DOCKER = Path(__file__).resolve().parents[3] / "docker"
CLUSTER = DOCKER / "compose.cluster.yaml"


def services(path: Path) -> dict[str, dict[str, Any]]:
    """Return the services of a file that run odradek."""
    found = yaml.safe_load(path.read_text())["services"]
    return {name: service for name, service in found.items() if "build" in service}


def nodes(path: Path) -> dict[str, BrokerSettings]:
    """Return the settings of each service, as its container reads them."""
    found = {}
    for name, service in services(path).items():
        assert "command" not in service
        environment = {key: str(value) for key, value in service["environment"].items()}
        found[name] = load_settings(container=environment)
    return found


@pytest.mark.parametrize("path", sorted(DOCKER.glob("compose*.yaml")), ids=lambda path: path.stem)
def test_every_service_is_built_from_the_file_and_keeps_its_data(path: Path) -> None:
    """Its settings have no warnings, data lies in a volume of its own, and each listener can be reached from outside
    the container."""
    volumes = []
    for name, settings in nodes(path).items():
        service = services(path)[name]
        assert (path.parent / service["build"]["context"] / service["build"]["dockerfile"]).is_file()
        assert settings.warnings == ()
        assert settings.log_dirs == ("/var/lib/odradek",)
        [volume] = [one for one in service["volumes"] if one.endswith(":/var/lib/odradek")]
        volumes.append(volume)
        assert {listener.host for listener in settings.all_listeners} <= {"", "0.0.0.0"}
        mapped = {int(one.split(":")[2]) for one in service.get("ports", [])}
        assert mapped <= {listener.port for listener in settings.listeners}
    assert len(set(volumes)) == len(volumes)


def test_the_cluster_of_the_compose_file_has_a_controller_and_brokers_that_look_for_it() -> None:
    """Ids differ, and the voter is the controller at its own name."""
    found = nodes(CLUSTER)
    assert list(found) == ["controller", "broker-1", "broker-2", "broker-3"]
    assert len({settings.node_id for settings in found.values()}) == 4
    assert {settings.quorum.voters for settings in found.values()} == {found["controller"].quorum.voters}
    [voter] = found["controller"].quorum.voters
    assert (voter.node_id, voter.host) == (found["controller"].node_id, "controller")


def test_every_broker_of_the_compose_file_tells_the_port_that_the_host_maps_to_it() -> None:
    """A client on the host is told localhost with the published port, other containers the service's name."""
    for name, settings in nodes(CLUSTER).items():
        if settings.quorum.is_broker:
            told = {one.name: one for one in settings.advertised_listeners}
            assert services(CLUSTER)[name]["ports"] == [f"127.0.0.1:{told['HOST'].port}:9092"]
            assert told["HOST"].host == "localhost"
            assert told["CONTAINERS"].host == name
            assert settings.inter_broker_listener_name == "CONTAINERS"
