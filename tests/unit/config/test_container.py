"""Settings of a container: from variables, and what a container has without any."""

from pathlib import Path

import pytest

from odradek.config.container import NOT_KEYS, given_cluster_id, settings_of
from odradek.config.errors import ConfigError
from odradek.config.loading import load_settings


@pytest.mark.parametrize(
    ("variable", "key"),
    [
        ("KAFKA_NUM_PARTITIONS", "num.partitions"),
        ("KAFKA_NODE_ID", "node.id"),
        ("KAFKA_A__B", "a_b"),
        ("KAFKA_A___B", "a-b"),
        (
            "KAFKA_LISTENER_NAME_SASL__SSL_SCRAM___SHA___512_SASL_JAAS_CONFIG",
            "listener.name.sasl_ssl.scram-sha-512.sasl.jaas.config",
        ),
        ("KAFKA_ODRADEK_HTTP_LISTENER", "odradek.http.listener"),
    ],
)
def test_variables_are_keys_by_kafkas_rules(variable: str, key: str) -> None:
    """One underscore is a dot, two are an underscore, three are a hyphen."""
    assert list(settings_of({variable: " x "})) == [(key, "x", variable)]


def test_what_is_for_java_or_for_somebody_else_is_no_setting() -> None:
    """Variables of Apache Kafka's image that its broker does not read, and those of other programs."""
    others = dict.fromkeys([*NOT_KEYS, "KAFKA_", "KAFKA", "CLUSTER_ID", "PATH", "MY_KAFKA_X", "kafka_x"], "1")
    assert list(settings_of(others)) == []


def test_without_settings_clients_on_the_host_reach_it_and_data_is_in_the_volume() -> None:
    """All addresses are listened on, clients are told localhost; nothing to warn of."""
    settings = load_settings(container={})
    assert [str(one) for one in settings.listeners] == ["PLAINTEXT://0.0.0.0:9092"]
    assert [(one.host, one.port) for one in settings.advertised_listeners] == [("localhost", 9092)]
    assert settings.log_dirs == ("/var/lib/odradek",)
    assert settings.origin("listeners") == "container default"
    assert settings.warnings == ()


def test_one_setting_leaves_the_others_as_they_are() -> None:
    """As an argument or a variable."""
    for settings in (
        load_settings(None, ["num.partitions=3"], container={}),
        load_settings(container={"KAFKA_NUM_PARTITIONS": "3"}),
    ):
        assert settings.num_partitions == 3
        assert settings.log_dirs == ("/var/lib/odradek",)
        assert [str(one) for one in settings.listeners] == ["PLAINTEXT://0.0.0.0:9092"]


def test_who_speaks_of_listeners_says_all_of_it() -> None:
    """No address is told then that was not given, and a controller gets no listener for clients."""
    settings = load_settings(container={"KAFKA_LISTENERS": "PLAINTEXT://0.0.0.0:7000"})
    assert settings.advertised_listeners == () or {one.port for one in settings.advertised_listeners} == {7000}
    given = {"KAFKA_ADVERTISED_LISTENERS": "PLAINTEXT://kafka.example:1"}
    settings = load_settings(container=given)
    assert [(one.host, one.port) for one in settings.advertised_listeners] == [("kafka.example", 1)]
    assert [one.port for one in settings.listeners] == [9092]
    controller = load_settings(
        container={
            "KAFKA_PROCESS_ROLES": "controller",
            "KAFKA_CONTROLLER_LISTENER_NAMES": "CONTROLLER",
            "KAFKA_CONTROLLER_QUORUM_VOTERS": "1@c:9093",
            "KAFKA_LISTENERS": "CONTROLLER://:9093",
        }
    )
    assert controller.listeners == ()


def test_arguments_over_variables_over_the_file(tmp_path: Path) -> None:
    """And each says where it comes from, as errors do."""
    path = tmp_path / "server.properties"
    path.write_text("num.partitions=1\nfetch.max.bytes=2000\nlog.dirs=/file\nlisteners=PLAINTEXT://:7000\n")
    variables = {"KAFKA_NUM_PARTITIONS": "2", "KAFKA_FETCH_MAX_BYTES": "3000"}
    settings = load_settings(str(path), ["num.partitions=3"], container=variables)
    assert (settings.num_partitions, settings.fetch_max_bytes, settings.log_dirs) == (3, 3000, ("/file",))
    assert [one.port for one in settings.listeners] == [7000]
    assert settings.origin("fetch.max.bytes") == "environment KAFKA_FETCH_MAX_BYTES"
    with pytest.raises(ConfigError, match=r"^environment KAFKA_NUM_PARTITIONS: num.partitions=many: "):
        load_settings(container={"KAFKA_NUM_PARTITIONS": "many"})


def test_without_a_container_variables_are_nobodys() -> None:
    """A shell may have variables for other programs."""
    assert load_settings().origin("num.partitions") is None


def test_a_misspelt_variable_is_said() -> None:
    """With the variable as its place."""
    [warning] = load_settings(container={"KAFKA_NUM_PARTITOINS": "3"}).warnings
    assert warning.origin == "environment KAFKA_NUM_PARTITOINS"


@pytest.mark.parametrize(("text", "found"), [("", None), (" MkU3OEVBNTcwNTJENDM2Qk ", "MkU3OEVBNTcwNTJENDM2Qk")])
def test_the_cluster_may_be_named(text: str, found: str | None) -> None:
    """By an id in Kafka's form; empty is none."""
    assert given_cluster_id({"CLUSTER_ID": text}) == found


@pytest.mark.parametrize("text", ["my-cluster", "a" * 23, "../" * 7 + "a", "MkU3OEVBNTcwNTJENDM2Q\n"])
def test_what_is_no_id_is_refused(text: str) -> None:
    """Before it gets into a file."""
    with pytest.raises(ConfigError, match="CLUSTER_ID="):
        given_cluster_id({"CLUSTER_ID": text})


def test_key_stores_are_found_where_apache_kafkas_image_has_them(tmp_path: Path) -> None:
    """A file is named without its directory, and a password by the file that it stands in."""
    (tmp_path / "store").write_text("secret\n")
    given = {
        "KAFKA_SSL_KEYSTORE_FILENAME": "server.p12",
        "KAFKA_SSL_KEYSTORE_CREDENTIALS": "store",
        "KAFKA_SSL_KEYSTORE_TYPE": "PKCS12",
    }
    found = {one.key: one.value for one in settings_of(given, str(tmp_path))}
    assert found == {
        "ssl.keystore.location": f"{tmp_path}/server.p12",
        "ssl.keystore.password": "secret",
        "ssl.keystore.type": "PKCS12",
    }
    [default] = settings_of({"KAFKA_SSL_TRUSTSTORE_FILENAME": "ca.p12"})
    assert default.value == "/etc/kafka/secrets/ca.p12"


def test_a_password_that_cannot_be_read_is_said(tmp_path: Path) -> None:
    """With the variable and the file, before the broker starts without it."""
    (tmp_path / "binary").write_bytes(b"\xff\xfe")
    for name in ("missing", "binary"):
        with pytest.raises(ConfigError, match=rf"^environment: KAFKA_SSL_KEY_CREDENTIALS: \S+/{name} cannot be read"):
            list(settings_of({"KAFKA_SSL_KEY_CREDENTIALS": name}, str(tmp_path)))
