"""DescribeConfigs, IncrementalAlterConfigs, AlterConfigs, ListConfigResources, DescribeLogDirs."""

from tests.interop.differential.play import Ask, Steps, Until
from tests.interop.differential.prepare import topic
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


def _after() -> Steps:
    keys = ["retention.ms", "retention.bytes", "cleanup.policy"]
    resource = {"resource_type": TOPIC, "resource_name": "cf", "configuration_keys": keys}
    fields = {"include_synonyms": True, "resources": [resource]}
    yield Until("DescribeConfigs", 4, fields, _is_replaced)
    yield Ask("after the changes", "DescribeConfigs", 4, fields)
    broker = {"resource_type": BROKER, "resource_name": "1", "configuration_keys": list(KEYS)}
    yield Ask("broker after the changes", "DescribeConfigs", 4, {"include_synonyms": True, "resources": [broker]})
    for version in served_versions("ListConfigResources"):
        yield Ask("all resources", "ListConfigResources", version)
    for version in served_versions("DescribeLogDirs", 1):
        for name in ("cf", "cf-none"):
            topics = [{"topic": name, "partitions": [0]}]
            yield Ask(f"directories of {name}", "DescribeLogDirs", version, {"topics": topics})


def _is_replaced(answer: Message) -> bool:
    return any(each["value"] == "12345" for each in answer["results"][0]["configs"])
