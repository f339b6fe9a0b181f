"""From file and command line to settings: precedence, origins, warnings, errors."""

from pathlib import Path

import pytest

from odradek.config.errors import ConfigError, ConfigWarning, SeveralConfigErrors
from odradek.config.loading import load_settings

NOT_SERVED = "Kafka knows this key, odradek does not serve it"
LOWER_CASE = "the name in such a key is in lower case"


def write(tmp_path: Path, text: str) -> str:
    file = tmp_path / "server.properties"
    file.write_text(text)
    return str(file)


def test_without_a_file_the_broker_is_for_this_machine_only() -> None:
    """127.0.0.1:9092, node 1, data in ./odradek-data; nothing to warn of."""
    settings = load_settings()
    assert [str(one) for one in settings.listeners] == ["PLAINTEXT://127.0.0.1:9092"]
    assert settings.log_dirs == (str(Path("odradek-data").absolute()),)
    assert (settings.node_id, settings.warnings) == (1, ())
    assert settings.origin("listeners") == "embedded default"
    assert settings.origin("num.partitions") is None


def test_with_a_file_what_it_does_not_say_has_kafkas_default(tmp_path: Path) -> None:
    """So that Apache Kafka understands the same file in the same way."""
    settings = load_settings(write(tmp_path, ""))
    assert [str(one) for one in settings.listeners] == ["PLAINTEXT://:9092"]
    assert settings.log_dirs == ("/tmp/kafka-logs",)
    assert settings.values == {"node.id": "1", "process.roles": "broker,controller"}


def test_override_over_file_over_base(tmp_path: Path) -> None:
    """The command line wins over the file, the file over what the caller lays below it."""
    path = write(tmp_path, "num.partitions=2\nlog.dirs=/file\n")
    base = {"num.partitions": "1", "fetch.max.bytes": "2000"}
    settings = load_settings(path, ["num.partitions=3", " log.segment.bytes = 2000000 "], base)
    assert (settings.num_partitions, settings.log_dirs, settings.fetch_max_bytes) == (3, ("/file",), 2000)
    assert settings.topic_defaults.segment_bytes == 2_000_000
    assert settings.origin("num.partitions") == "--override"
    assert settings.origin("log.dirs") == f"{path}:2"


def test_an_override_may_be_empty_or_contain_equals_signs() -> None:
    """Only the first = separates."""
    settings = load_settings(None, ["broker.rack=a=b", "log.cleanup.policy="])
    assert settings.broker_rack == "a=b"
    assert settings.topic_defaults.cleanup_policy == frozenset()


@pytest.mark.parametrize("override", ["num.partitions", "=3", " = 3", ""])
def test_an_override_that_is_none_is_refused(override: str) -> None:
    """The form is key=value."""
    with pytest.raises(ConfigError, match=r"^--override: .* is not of the form key=value"):
        load_settings(None, [override])


def test_a_bad_value_names_file_line_key_value_and_what_was_expected(tmp_path: Path) -> None:
    """All that is needed to mend it."""
    path = write(tmp_path, "# a\nnum.partitions=2\n\nlog.segment.bytes=100\n")
    with pytest.raises(ConfigError) as caught:
        load_settings(path)
    assert str(caught.value) == f"{path}:4: log.segment.bytes=100: expected at least 1048576"


def test_all_bad_values_are_named_at_once(tmp_path: Path) -> None:
    """Each with its line, so that all of them can be mended before the next start."""
    path = write(tmp_path, "log.segment.bytes=100\nnum.partitions=2\nnum.io.threads=x\n")
    with pytest.raises(SeveralConfigErrors) as caught:
        load_settings(path, ["num.network.threads=0"])
    assert str(caught.value).splitlines() == [
        "3 settings cannot be used:",
        f"  {path}:1: log.segment.bytes=100: expected at least 1048576",
        f"  {path}:3: num.io.threads=x: expected a whole number, digits only",
        "  --override: num.network.threads=0: expected at least 1",
    ]


def test_all_rules_that_do_not_hold_are_named_at_once(tmp_path: Path) -> None:
    """Rules between keys beside values that are wrong by themselves, each thing once, in whatever part it is met."""
    path = write(
        tmp_path,
        """\
offsets.topic.replication.factor=0
log.cleaner.dedupe.buffer.size=10
log.retention.ms=0
listeners=CLIENTS://127.0.0.1:9092,OTHERS://127.0.0.1:9093
listener.security.protocol.map=CLIENTS:PLAINTEXT,OTHERS:PLAINTEXT
advertised.listeners=CLIENTS://0.0.0.0:9092
inter.broker.listener.name=NONE
authorizer.class.name=none.such
odradek.http.listener=x
""",
    )
    with pytest.raises(SeveralConfigErrors) as caught:
        load_settings(path)
    assert [str(each).split(": ")[:2] for each in caught.value.errors] == [
        [f"{path}:1", "offsets.topic.replication.factor=0"],
        [f"{path}:3", "log.retention.ms=0"],
        [f"{path}:2", "log.cleaner.dedupe.buffer.size=10"],
        [f"{path}:6", "advertised.listeners=CLIENTS://0.0.0.0:9092"],
        [f"{path}:7", "inter.broker.listener.name=NONE"],
        [f"{path}:8", "authorizer.class.name=none.such"],
        [f"{path}:9", "odradek.http.listener=x"],
    ]


def test_what_hangs_on_a_bad_value_is_not_told_beside_it(tmp_path: Path) -> None:
    """A rule that would be broken by the default of a key that is misspelt is none that the file breaks."""
    path = write(tmp_path, "replica.fetch.wait.max.ms=40000\nreplica.socket.timeout.ms=x\nnode.id=y\n")
    with pytest.raises(SeveralConfigErrors) as caught:
        load_settings(path)
    assert [each.key for each in caught.value.errors] == ["replica.socket.timeout.ms", "node.id"]


def test_a_broker_without_controllers_is_told_all_that_it_needs(tmp_path: Path) -> None:
    """Addresses and the name of their listener at once."""
    with pytest.raises(SeveralConfigErrors) as caught:
        load_settings(write(tmp_path, "process.roles=broker\n"))
    assert [each.key for each in caught.value.errors] == [
        "controller.quorum.bootstrap.servers",
        "controller.listener.names",
    ]


def test_several_bad_values_that_stand_elsewhere_stay_there(tmp_path: Path) -> None:
    """What a provider put in their place is in no error."""
    secrets = tmp_path / "secrets"
    secrets.write_text("a=hush\nb=silence\n")
    provider = (
        "config.providers=f\nconfig.providers.f.class=org.apache.kafka.common.config.provider.FileConfigProvider\n"
    )
    path = write(tmp_path, f"{provider}num.partitions=${{f:{secrets}:a}}\nnum.network.threads=${{f:{secrets}:b}}\n")
    with pytest.raises(SeveralConfigErrors) as caught:
        load_settings(path)
    assert len(caught.value.errors) == 2
    assert "hush" not in str(caught.value)
    assert "silence" not in str(caught.value)


def test_a_secret_is_not_shown(tmp_path: Path) -> None:
    """Neither in a warning nor in an error."""
    settings = load_settings(write(tmp_path, "sasl.oauthbearer.assertion.private.key.passphrase=hush\n"))
    assert "hush" not in str(settings.warnings[0])


def test_the_last_of_repeated_keys_counts_and_is_warned_of(tmp_path: Path) -> None:
    """As in Java; the warning says which line lost."""
    path = write(tmp_path, "num.partitions=2\nnum.partitions=3\n")
    settings = load_settings(path)
    assert settings.num_partitions == 3
    assert settings.warnings == (ConfigWarning("num.partitions", f"replaces the value given in {path}:1", f"{path}:2"),)


@pytest.mark.parametrize(
    ("key", "message"),
    [
        ("num.partitons", "unknown key; did you mean num.partitions?"),
        ("my.own.thing", "unknown key"),
        ("ssl.provider", NOT_SERVED),
        ("zookeeper.connect", "Kafka 4 removed this key: there is no ZooKeeper any more"),
        ("log.message.format.version", "Kafka 4 removed this key: every batch has the current format"),
        ("retention.ms", "this is a key of topics, not of the broker; the broker's default for it is log.retention.ms"),
        ("remote.storage.enable", "this is a key of topics, not of the broker"),
        ("listener.name.nope.max.connections", "there is no listener NOPE; the name in such a key is in lower case"),
        (
            "listener.name.PLAINTEXT.max.connections",
            "there is no listener PLAINTEXT; the name in such a key is in lower case",
        ),
        (
            "listener.name.plaintext.ssl.provider",
            "Kafka knows this key, odradek does not serve it for a single listener",
        ),
        (
            "listener.name.plaintext.plain.sasl.login.class",
            "Kafka knows this key, odradek does not serve it for a single listener",
        ),
        (
            "listener.name.plaintext.max.conections",
            "unknown key; did you mean listener.name.plaintext.max.connections?",
        ),
        ("listener.name.plaintext", "unknown key"),
    ],
)
def test_keys_without_effect_are_warned_of(tmp_path: Path, key: str, message: str) -> None:
    """The broker starts, and the warning says what the matter is, with the line."""
    path = write(tmp_path, f"{key}=1\n")
    assert load_settings(path).warnings == (ConfigWarning(key, message, f"{path}:1"),)


def test_a_warning_reads_as_a_line() -> None:
    """Origin, key, message."""
    assert str(ConfigWarning("a", "unknown key", "f:1")) == "f:1: a: unknown key"


def test_keys_that_are_kept_for_later_or_for_kafka_are_not_warned_of() -> None:
    """Retention and cleaner keys, thread counts, the controller's keys."""
    overrides = [
        "log.retention.hours=1",
        "log.cleaner.threads=2",
        "num.io.threads=8",
        "controller.quorum.fetch.timeout.ms=5",
    ]
    settings = load_settings(None, overrides)
    assert settings.warnings == ()
    assert settings.topic_defaults.retention_ms == 3_600_000


def test_the_file_that_apache_kafka_ships_is_served(tmp_path: Path) -> None:
    """The keys of config/server.properties of Kafka 4: one warning per key of what comes later, no error."""
    path = write(
        tmp_path,
        """
process.roles=broker,controller
node.id=1
controller.quorum.bootstrap.servers=localhost:9093
listeners=PLAINTEXT://:9092,CONTROLLER://:9093
inter.broker.listener.name=PLAINTEXT
advertised.listeners=PLAINTEXT://localhost:9092,CONTROLLER://localhost:9093
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT,SASL_SSL:SASL_SSL
num.network.threads=3
num.io.threads=8
socket.send.buffer.bytes=102400
socket.receive.buffer.bytes=102400
socket.request.max.bytes=104857600
log.dirs=/tmp/kraft-combined-logs
num.partitions=1
num.recovery.threads.per.data.dir=1
offsets.topic.replication.factor=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
log.retention.hours=168
log.segment.bytes=1073741824
log.retention.check.interval.ms=300000
""",
    )
    settings = load_settings(path)
    assert [str(one) for one in settings.listeners] == ["PLAINTEXT://:9092"]
    assert all("does not serve" in one.message for one in settings.warnings)
    assert not any(one.key.startswith(("num.", "log.", "socket.", "controller.")) for one in settings.warnings)


@pytest.mark.parametrize("key", ["ssl.key.password", "listener.name.outside.ssl.keystore.password"])
def test_a_secret_on_the_command_line_is_warned_of_without_being_told(key: str) -> None:
    """Every user sees what a process was started with; where a provider finds it nothing is seen."""
    listeners = "listeners=OUTSIDE://127.0.0.1:9092", "listener.security.protocol.map=OUTSIDE:PLAINTEXT"
    others = *listeners, "inter.broker.listener.name=OUTSIDE"
    (warning,) = load_settings(None, [*others, f"{key}=hush"]).warnings
    assert (warning.key, warning.origin) == (key, "--override")
    assert "list of processes" in warning.message
    assert "hush" not in str(warning)
    provider = (
        "config.providers=env",
        "config.providers.env.class=org.apache.kafka.common.config.provider.EnvVarConfigProvider",
    )
    assert load_settings(None, [*others, *provider, f"{key}=${{env:PATH}}"]).warnings == ()


def test_a_secret_in_a_file_is_not_said_to_be_in_the_list_of_processes(tmp_path: Path) -> None:
    """There it belongs."""
    path = tmp_path / "server.properties"
    path.write_text("ssl.key.password=hush\n")
    assert load_settings(str(path)).warnings == ()
