"""DescribeConfigs, IncrementalAlterConfigs, AlterConfigs, ListConfigResources, DescribeLogDirs."""

from tests.interop.differential.play import Ask, Steps, Until
from tests.interop.differential.prepare import topic
from tests.interop.differential.scenarios.groups import ready
from tests.interop.differential.transactional import coordinated
from tests.support.wire import Message, served_versions

TOPIC, BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP = 2, 4, 8, 16, 32
SET, DELETE, APPEND, SUBTRACT = range(4)
RESOURCES = (
    (TOPIC, "cf"),
    (TOPIC, "cf-none"),
    (TOPIC, ""),
    (TOPIC, "a b"),
    (BROKER, "1"),
    (BROKER, ""),
    (BROKER, "9"),
    (BROKER, "x"),
    (BROKER_LOGGER, "1"),
    (CLIENT_METRICS, ""),
    (GROUP, "g"),
)
KEYS = (
    "cleanup.policy",
    "consumer.session.timeout.ms",
    "log.retention.ms",
    "min.insync.replicas",
    "no.such",
    "num.partitions",
    "retention.ms",
    "segment.bytes",
)


def configs() -> Steps:
    """Describe, change and describe again."""
    yield from topic("cf", retention_ms=5000, cleanup_policy="compact")
    yield from _describe()
    for version in served_versions("IncrementalAlterConfigs"):
        yield from _change_broker_and_group(version)
        yield from _change_topic(version)
        yield from _change_several(version)
        yield from _change_loggers(version)
        yield from _check_orders(version)
    yield from _replace()
    yield from _after()


def _describe() -> Steps:
    for version in served_versions("DescribeConfigs", 1):
        for kind, name in RESOURCES:
            resource = {"resource_type": kind, "resource_name": name, "configuration_keys": list(KEYS)}
            fields = {"include_synonyms": True, "resources": [resource]}
            yield Ask(f"type {kind} {name!r}", "DescribeConfigs", version, fields)
    everything = {"resource_type": TOPIC, "resource_name": "cf", "configuration_keys": None}
    for version in (1, 4):
        yield Ask("all of a topic", "DescribeConfigs", version, {"resources": [everything]})
        for stranger in (77, 0, -1):
            kinds = [{"resource_type": kind, "resource_name": "cf"} for kind in (TOPIC, stranger)]
            yield Ask(f"beside type {stranger}", "DescribeConfigs", version, {"resources": kinds})
    nothing = {"resource_type": TOPIC, "resource_name": "cf", "configuration_keys": []}
    yield Ask("none of a topic", "DescribeConfigs", 4, {"resources": [nothing]})


class _Change:
    """Makes requests that change one config of one resource."""

    def __init__(self, version: int, kind: int, name: str) -> None:
        self._version = version
        self._resource = {"resource_type": kind, "resource_name": name}

    def __call__(self, label: str, key: str, operation: int, value: str | None, validate_only: bool = False) -> Ask:
        config = {"name": key, "config_operation": operation, "value": value}
        fields = {"validate_only": validate_only, "resources": [{**self._resource, "configs": [config]}]}
        return Ask(label, "IncrementalAlterConfigs", self._version, fields)


def _change_topic(version: int) -> Steps:
    change = _Change(version, TOPIC, "cf")
    yield change("set", "retention.ms", SET, "7000")
    yield change("delete", "retention.ms", DELETE, None)
    yield change("append", "cleanup.policy", APPEND, "delete")
    yield change("subtract", "cleanup.policy", SUBTRACT, "compact")
    yield change("append to a number", "retention.ms", APPEND, "1")
    yield change("bad value", "retention.ms", SET, "x")
    yield change("unknown key", "nope", SET, "1")
    yield change("delete an unknown key", "nope", DELETE, None)
    yield change("bad operation", "retention.ms", 9, "1")
    yield change("null value", "retention.ms", SET, None)
    yield change("validate", "retention.ms", SET, "1", validate_only=True)
    yield change("validate a bad value", "retention.ms", SET, "x", validate_only=True)
    yield _Change(version, TOPIC, "cf-none")("unknown topic", "retention.ms", SET, "1")
    twice = [{"name": "retention.ms", "config_operation": SET, "value": value} for value in ("1", "2")]
    resource = {"resource_type": TOPIC, "resource_name": "cf", "configs": twice}
    yield Ask("one key twice", "IncrementalAlterConfigs", version, {"resources": [resource]})
    one = {"resource_type": TOPIC, "resource_name": "cf", "configs": twice[:1]}
    yield Ask("one resource twice", "IncrementalAlterConfigs", version, {"resources": [one, one]})


def _change_broker_and_group(version: int) -> Steps:
    broker, default = _Change(version, BROKER, "1"), _Change(version, BROKER, "")
    yield broker("dynamic broker config", "log.cleaner.threads", SET, "2")
    yield broker("static broker config", "log.dirs", SET, "/x")
    yield broker("bad broker value", "log.cleaner.threads", SET, "x")
    yield default("cluster default", "log.retention.ms", SET, "999999999")
    yield _Change(version, BROKER, "33")("unknown broker", "log.retention.ms", SET, "1")
    yield _Change(version, BROKER, "x")("broker that is no number", "log.retention.ms", SET, "1")
    group = _Change(version, GROUP, "g1")
    yield group("group", "consumer.session.timeout.ms", SET, "50000")
    yield group("bad group value", "consumer.session.timeout.ms", SET, "1")


def _several(label: str, version: int, *changes: tuple[int, str, str, int, str | None]) -> Ask:
    resources = [
        {
            "resource_type": kind,
            "resource_name": name,
            "configs": [{"name": key, "config_operation": operation, "value": value}],
        }
        for kind, name, key, operation, value in changes
    ]
    return Ask(label, "IncrementalAlterConfigs", version, {"resources": resources})


def _change_several(version: int) -> Steps:
    """An operation that there is not, beside changes that could be done and others that could not."""
    good = (TOPIC, "cf", "retention.ms", SET, f"777{version}")
    unknown = (GROUP, "g", "consumer.session.timeout.ms", 9, "50000")
    yield _several("unknown operation first", version, unknown, good)
    yield _several("unknown operation last", version, good, unknown)
    beside = {
        "bad value": (TOPIC, "cf", "retention.ms", SET, "x"),
        "bad name": (TOPIC, "a b", "retention.ms", SET, "1"),
        "unknown topic": (TOPIC, "cf-none", "retention.ms", SET, "1"),
        "null": (TOPIC, "cf", "retention.ms", SET, None),
        "another broker": (BROKER, "9", "log.retention.ms", SET, "1"),
        "this broker": (BROKER, "1", "log.cleaner.threads", SET, "1"),
        "a logger": (BROKER_LOGGER, "1", "root", SET, "WARN"),
        "a stranger": (77, "x", "y", SET, "z"),
    }
    for label, change in beside.items():
        yield _several(f"unknown operation beside {label}", version, unknown, change)
    yield _several("unknown operation of a broker", version, (BROKER, "1", "log.cleaner.threads", 9, "1"), good)
    yield _several("unknown operation of a logger", version, (BROKER_LOGGER, "1", "root", 9, "INFO"), good)
    fields = {"resource_type": TOPIC, "resource_name": "cf", "configuration_keys": ["retention.ms"]}
    yield Ask(f"after unknown operations {version}", "DescribeConfigs", 4, {"resources": [fields]})


def _change_loggers(version: int) -> Steps:
    for node in ("1", "", "9", "x"):
        resources = [{"resource_type": BROKER_LOGGER, "resource_name": node, "configs": list[object]()}]
        yield Ask(f"no change of loggers of {node!r}", "IncrementalAlterConfigs", version, {"resources": resources})
        for name, operation, value in (
            ("root", SET, "WARN"),
            ("root", SET, "LOUD"),
            ("root", SET, "warn"),
            ("root", SET, None),
            ("root", DELETE, None),
            ("root", APPEND, "INFO"),
            ("root", SUBTRACT, "INFO"),
            ("no.such.logger", SET, "INFO"),
            ("no.such.logger", DELETE, None),
        ):
            change = (BROKER_LOGGER, node, name, operation, value)
            yield _several(f"logger {name} of {node!r}: {operation} {value}", version, change)
    yield Ask(
        f"loggers after version {version}",
        "DescribeConfigs",
        4,
        {"resources": [{"resource_type": BROKER_LOGGER, "resource_name": "1", "configuration_keys": ["root"]}]},
    )


def _check_orders(version: int) -> Steps:
    """Which of several faults is told: of the operation, of the name, of the value."""
    for kind, name in ((TOPIC, ""), (TOPIC, "a b"), (GROUP, ""), (GROUP, "g"), (CLIENT_METRICS, ""), (BROKER, "9")):
        for key in ("retention.ms", "cleanup.policy", "interval.ms", "log.cleanup.policy", "no.such"):
            for operation in (SET, DELETE, APPEND, SUBTRACT):
                label = f"{kind} {name!r} {key} by {operation}"
                yield _Change(version, kind, name)(label, key, operation, "TRUE", validate_only=True)
    for value in ("TRUE", "x", "", "1", "5000", "3600001"):
        yield _Change(version, CLIENT_METRICS, "m")(f"interval {value}", "interval.ms", SET, value, validate_only=True)
    twice = [{"name": "a", "config_operation": SET, "value": "1"}] * 2
    resource = {"resource_type": TOPIC, "resource_name": "a b", "configs": twice}
    yield Ask("twice and a bad name", "IncrementalAlterConfigs", version, {"resources": [resource]})


def _replace() -> Steps:
    def replace(label: str, version: int, key: str, value: str, name: str = "cf") -> Ask:
        config = {"name": key, "value": value}
        resource = {"resource_type": TOPIC, "resource_name": name, "configs": [config]}
        return Ask(label, "AlterConfigs", version, {"resources": [resource]})

    for version in served_versions("AlterConfigs"):
        yield replace("replace all", version, "retention.bytes", "12345")
        yield replace("bad value", version, "retention.bytes", "x")
        yield replace("unknown key", version, "nope", "1")
        yield replace("unknown topic", version, "retention.bytes", "1", "cf-none")
        twice = [{"name": "a", "value": "1"}] * 2
        resource = {"resource_type": TOPIC, "resource_name": "a b", "configs": twice}
        yield Ask("twice and a bad name", "AlterConfigs", version, {"resources": [resource]})
        interval = {"name": "interval.ms", "value": "TRUE"}
        resource = {"resource_type": CLIENT_METRICS, "resource_name": "m", "configs": [interval]}
        yield Ask("bad interval", "AlterConfigs", version, {"resources": [resource]})


def _after() -> Steps:
    keys = ["retention.ms", "retention.bytes", "cleanup.policy"]
    resource = {"resource_type": TOPIC, "resource_name": "cf", "configuration_keys": keys}
    fields = {"include_synonyms": True, "resources": [resource]}
    yield Until("DescribeConfigs", 4, fields, _is_replaced)
    yield Ask("after the changes", "DescribeConfigs", 4, fields)
    broker = {"resource_type": BROKER, "resource_name": "1", "configuration_keys": list(KEYS)}
    yield Ask("broker after the changes", "DescribeConfigs", 4, {"include_synonyms": True, "resources": [broker]})
    # both kinds of coordinators are asked for by others, which may have been before or come after
    yield from ready()
    yield from coordinated()
    for version in served_versions("ListConfigResources"):
        yield Ask("all resources", "ListConfigResources", version)
    for version in served_versions("DescribeLogDirs", 1):
        for name in ("cf", "cf-none"):
            topics = [{"topic": name, "partitions": [0]}]
            yield Ask(f"directories of {name}", "DescribeLogDirs", version, {"topics": topics})


def _is_replaced(answer: Message) -> bool:
    return any(each["value"] == "12345" for each in answer["results"][0]["configs"])
