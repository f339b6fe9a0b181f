"""The stand-in for testcontainers' KafkaContainer, as far as no broker has to run."""

from __future__ import annotations

import pytest

from odradek.testing.containers import REFUSED, KafkaContainer

SERVED = {
    "start", "stop", "with_kraft", "with_env", "with_envs", "with_bind_ports",
    "get_bootstrap_server", "get_container_host_ip", "get_exposed_port", "get_logs",
}  # fmt: skip
OF_TESTCONTAINERS = SERVED | {
    "configure", "copy_from_container", "copy_into_container", "create_file", "exec", "get_container_id",
    "get_container_info", "get_docker_client", "get_wrapped_container", "maybe_emulate_amd64", "reload", "status",
    "tc_start", "wait", "waiting_for", "with_cluster_id", "with_command", "with_copy_into_container", "with_env_file",
    "with_exposed_ports", "with_kwargs", "with_name", "with_network", "with_network_aliases", "with_tmpfs_mount",
    "with_volume_mapping",
}  # fmt: skip
"""The public calls of its KafkaContainer and what that inherits, in testcontainers 4.15."""


@pytest.mark.parametrize("name", sorted(OF_TESTCONTAINERS))
def test_each_call_of_testcontainers_is_served_or_refused(name: str) -> None:
    """Whoever changes the import meets no call that is there and does nothing; a refusal says why."""
    kafka = KafkaContainer()
    if name in SERVED:
        assert callable(getattr(kafka, name))
    else:
        with pytest.raises(AttributeError, match=rf"odradek has no {name}: \w+ .*") as refused:
            getattr(kafka, name)
        assert REFUSED.get(name, "in no container") in str(refused.value)


def test_only_calls_of_testcontainers_are_refused_by_name() -> None:
    """A reason that nobody can meet is a mistake in its name."""
    assert set(REFUSED) <= OF_TESTCONTAINERS - SERVED


@pytest.mark.parametrize(
    "key", ["KAFKA_LISTENERS", "KAFKA_ADVERTISED_LISTENERS", "KAFKA_LOG_DIRS", "CLUSTER_ID", "TZ", "KAFKA_", ""]
)
def test_variables_that_are_no_settings_of_it_are_refused(key: str) -> None:
    """A path of a container would be one of this machine, and a variable without effect is told at once."""
    with pytest.raises(ValueError, match=f"^{key}"):
        KafkaContainer(env={key: "x"})


def test_variables_are_kept_as_given() -> None:
    """Numbers become text, and those for Java pass, since they change nothing here."""
    kafka = KafkaContainer("confluentinc/cp-kafka:7.6.0", env={"KAFKA_HEAP_OPTS": "-Xmx1g"}).with_kraft()
    kafka.with_env("KAFKA_NUM_PARTITIONS", 3).with_envs(KAFKA_COMPRESSION_TYPE="zstd")
    assert kafka.env == {
        "KAFKA_HEAP_OPTS": "-Xmx1g",
        "KAFKA_NUM_PARTITIONS": "3",
        "KAFKA_COMPRESSION_TYPE": "zstd",
    }


@pytest.mark.parametrize(("container", "host"), [(9092, 5000), ("x", 5000), (9093, "x"), (9093, 65536), (9093, -1)])
def test_ports_that_are_none_are_refused(container: int | str, host: int | str) -> None:
    """One port inside, and outside what a port can be."""
    with pytest.raises(ValueError, match=r"port"):
        KafkaContainer().with_bind_ports(container, host)


def test_what_a_container_needs_is_no_argument() -> None:
    """An argument without effect is refused by its name."""
    with pytest.raises(TypeError, match="takes no docker_client_kw, network: the broker is a process"):
        KafkaContainer(network="x", docker_client_kw={})


def test_what_only_a_running_broker_has() -> None:
    """Before the start there is no address."""
    for ask in (KafkaContainer().get_bootstrap_server, KafkaContainer().get_logs):
        with pytest.raises(RuntimeError, match="has not been started"):
            ask()
