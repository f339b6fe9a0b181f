"""The handlers of configs: which resources can be described and changed, and the shape of the answers."""

import pytest

from odradek.broker.controller.configs import MAX_CONFIGS, MAX_VALUE_BYTES
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages import incremental_alter_configs as incremental
from odradek.protocol.messages.alter_configs import AlterableConfig, AlterConfigsRequest, AlterConfigsResource
from odradek.protocol.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResult,
)
from odradek.protocol.messages.list_config_resources import ListConfigResourcesRequest
from tests.support.deferred import now
from tests.unit.broker.handlers.metadata_support import BROKER, GROUP, LOGGER, METRICS, TOPIC, Admin, at, new_admin
from tests.unit.broker.metadata.support import create


def describe(
    admin: Admin, kind: int, name: str, *keys: str, synonyms: bool = False, documented: bool = False
) -> DescribeConfigsResult:
    """Describe one resource."""
    resource = DescribeConfigsResource(
        resource_type=kind, resource_name=name, configuration_keys=list(keys) if keys else None
    )
    request = DescribeConfigsRequest(resources=[resource], include_synonyms=synonyms, include_documentation=documented)
    (result,) = admin.configs.describe_configs(at(4), request).results
    return result


def only(result: DescribeConfigsResult) -> DescribeConfigsResourceResult:
    """Return the only config of a result."""
    (config,) = result.configs
    return config


def increment(admin: Admin, kind: int, name: str, key: str, value: str | None, operation: int = 0) -> ErrorCode:
    """Change one key."""
    config = incremental.AlterableConfig(name=key, config_operation=operation, value=value)
    resource = incremental.AlterConfigsResource(resource_type=kind, resource_name=name, configs=[config])
    request = incremental.IncrementalAlterConfigsRequest(resources=[resource])
    (response,) = now(admin.configs.incremental_alter_configs(at(1), request)).responses
    assert (response.resource_type, response.resource_name) == (kind, name)
    return ErrorCode(response.error_code)


def replacing(kind: int, name: str, **values: str) -> AlterConfigsResource:
    """Return a resource with all its new values."""
    configs = [AlterableConfig(name=key.replace("_", "."), value=value) for key, value in values.items()]
    return AlterConfigsResource(resource_type=kind, resource_name=name, configs=configs)


def test_topic_config_is_described_with_source_synonyms_and_documentation() -> None:
    """Synonyms and documentation only where asked."""
    admin = new_admin()
    create(admin.controller, "t", retention_ms="5000")
    config = only(describe(admin, TOPIC, "t", "retention.ms", synonyms=True, documented=True))
    assert (config.value, config.config_source, config.config_type, config.read_only) == ("5000", 1, 5, False)
    assert (config.synonyms[0].name, config.synonyms[0].source) == ("retention.ms", 1)
    assert config.documentation
    plain = only(describe(admin, TOPIC, "t", "retention.ms"))
    assert (plain.synonyms, plain.documentation) == ([], None)


@pytest.mark.parametrize(("key", "is_default"), [("retention.ms", False), ("cleanup.policy", True)])
def test_first_version_says_what_is_a_default(key: str, is_default: bool) -> None:
    """Which is all that it says of where a value comes from."""
    admin = new_admin()
    create(admin.controller, "t", retention_ms="5000")
    assert only(describe(admin, TOPIC, "t", key)).is_default is is_default


def test_all_configs_are_described_without_keys() -> None:
    """An empty list is as none."""
    admin = new_admin()
    create(admin.controller, "t")
    request = DescribeConfigsRequest(
        resources=[DescribeConfigsResource(resource_type=TOPIC, resource_name="t", configuration_keys=[])]
    )
    assert len(admin.configs.describe_configs(at(4), request).results[0].configs) > 30
    assert len(describe(admin, TOPIC, "t").configs) > 30


def test_broker_config_shows_the_dynamic_layers() -> None:
    """This broker's own before that of all brokers before the file."""
    admin = new_admin()
    assert only(describe(admin, BROKER, "1", "num.partitions")).config_source == 4
    increment(admin, BROKER, "", "log.cleaner.threads", "2")
    assert only(describe(admin, BROKER, "1", "log.cleaner.threads")).config_source == 3
    assert only(describe(admin, BROKER, "", "log.cleaner.threads")).value == "2"
    increment(admin, BROKER, "1", "log.cleaner.threads", "1")
    config = only(describe(admin, BROKER, "1", "log.cleaner.threads"))
    assert (config.value, config.config_source) == ("1", 2)


@pytest.mark.parametrize(
    ("kind", "name", "code", "part"),
    [
        (TOPIC, "none", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ""),
        (TOPIC, "", ErrorCode.INVALID_TOPIC_EXCEPTION, "empty"),
        (BROKER, "9", ErrorCode.INVALID_REQUEST, "expected 1 or empty string, but received 9"),
        (BROKER, "x", ErrorCode.INVALID_REQUEST, "must be an integer"),
        (LOGGER, "", ErrorCode.INVALID_REQUEST, "must not be empty"),
        (LOGGER, "9", ErrorCode.INVALID_REQUEST, "expected 1 but received 9"),
        (METRICS, "", ErrorCode.INVALID_REQUEST, "must not be empty"),
        (GROUP, "", ErrorCode.INVALID_REQUEST, "must not be empty"),
        (99, "x", ErrorCode.INVALID_REQUEST, "99"),
    ],
)
def test_resource_that_cannot_be_described_has_kafkas_error(kind: int, name: str, code: ErrorCode, part: str) -> None:
    """Per resource; others are answered."""
    result = describe(new_admin(), kind, name)
    assert (result.error_code, result.configs) == (code, [])
    assert part in (result.error_message or "")


def test_resource_of_no_kind_refuses_all_that_are_asked() -> None:
    """INVALID_REQUEST for every one of them, as in Kafka."""
    admin = new_admin()
    create(admin.controller, "t")
    resources = [DescribeConfigsResource(resource_type=kind, resource_name="t") for kind in (TOPIC, 77, TOPIC)]
    results = admin.configs.describe_configs(at(4), DescribeConfigsRequest(resources=resources)).results
    assert [(each.resource_type, each.error_code, each.configs) for each in results] == [
        (kind, ErrorCode.INVALID_REQUEST, []) for kind in (TOPIC, 77, TOPIC)
    ]


@pytest.mark.parametrize("configs", [[("a", None)], [("a", "1"), ("a", "1")]])
def test_form_of_changes_is_judged_before_the_resource(configs: list[tuple[str, str | None]]) -> None:
    """INVALID_REQUEST even for a topic whose name cannot be, by either way of changing."""
    admin = new_admin()
    whole = AlterConfigsRequest(
        resources=[
            AlterConfigsResource(
                resource_type=TOPIC,
                resource_name="a b",
                configs=[AlterableConfig(name=name, value=value) for name, value in configs],
            )
        ]
    )
    single = incremental.IncrementalAlterConfigsRequest(
        resources=[
            incremental.AlterConfigsResource(
                resource_type=TOPIC,
                resource_name="a b",
                configs=[incremental.AlterableConfig(name=name, value=value) for name, value in configs],
            )
        ]
    )
    (first,) = now(admin.configs.alter_configs(at(2), whole)).responses
    (second,) = now(admin.configs.incremental_alter_configs(at(1), single)).responses
    assert (first.error_code, second.error_code) == (ErrorCode.INVALID_REQUEST, ErrorCode.INVALID_REQUEST)


def test_loggers_are_changed_by_single_keys_only() -> None:
    """IncrementalAlterConfigs sets a level beside other changes; AlterConfigs knows no loggers."""
    admin = new_admin()
    assert increment(admin, LOGGER, "1", "root", "INFO") is ErrorCode.NONE
    assert increment(admin, LOGGER, "1", "kafka.server", "INFO") is ErrorCode.INVALID_CONFIG
    (answer,) = now(
        admin.configs.alter_configs(at(2), AlterConfigsRequest(resources=[replacing(LOGGER, "1", root="INFO")]))
    ).responses
    assert answer.error_code == ErrorCode.INVALID_REQUEST
    assert admin.source.batches == []


def test_groups_and_subscriptions_are_described_whether_they_exist_or_not() -> None:
    """With their defaults, as in Kafka; and the log level stands for the only logger."""
    admin = new_admin()
    assert only(describe(admin, GROUP, "g", "consumer.session.timeout.ms")).value == "45000"
    assert only(describe(admin, METRICS, "m", "interval.ms")).value == "300000"
    logger = only(describe(admin, LOGGER, "1"))
    assert (logger.name, logger.value, logger.config_source) == ("root", "INFO", 6)
    assert describe(admin, LOGGER, "1", "kafka.server").configs == []


def test_single_keys_are_changed_and_the_others_stay() -> None:
    """SET, DELETE, APPEND and SUBTRACT."""
    admin = new_admin()
    create(admin.controller, "t", retention_ms="1", cleanup_policy="compact")
    assert increment(admin, TOPIC, "t", "segment.ms", "7") is ErrorCode.NONE
    assert increment(admin, TOPIC, "t", "retention.ms", None, 1) is ErrorCode.NONE
    assert increment(admin, TOPIC, "t", "cleanup.policy", "delete", 2) is ErrorCode.NONE
    assert increment(admin, TOPIC, "t", "cleanup.policy", "compact", 3) is ErrorCode.NONE
    assert admin.source.image.topic_config("t") == {"cleanup.policy": "delete", "segment.ms": "7"}


def test_legacy_request_replaces_all_values() -> None:
    """What is not named goes."""
    admin = new_admin()
    create(admin.controller, "t", retention_ms="1")
    request = AlterConfigsRequest(resources=[replacing(TOPIC, "t", segment_ms="7")])
    (response,) = now(admin.configs.alter_configs(at(2), request)).responses
    assert (response.error_code, response.error_message) == (0, None)
    assert admin.source.image.topic_config("t") == {"segment.ms": "7"}


def test_resource_that_stands_twice_is_refused_twice_and_others_are_changed() -> None:
    """Answers are in the order of the request."""
    admin = new_admin()
    create(admin.controller, "t")
    create(admin.controller, "u")
    resources = [replacing(TOPIC, "t"), replacing(TOPIC, "u", retention_ms="5"), replacing(TOPIC, "t")]
    responses = now(admin.configs.alter_configs(at(2), AlterConfigsRequest(resources=resources))).responses
    assert [(r.resource_name, ErrorCode(r.error_code)) for r in responses] == [
        ("t", ErrorCode.INVALID_REQUEST),
        ("u", ErrorCode.NONE),
        ("t", ErrorCode.INVALID_REQUEST),
    ]
    assert admin.source.image.topic_config("u") == {"retention.ms": "5"}


def test_change_that_cannot_be_stored_is_an_error_of_every_resource() -> None:
    """And validate_only stores nothing."""
    admin = new_admin()
    create(admin.controller, "t")
    request = AlterConfigsRequest(resources=[replacing(TOPIC, "t", retention_ms="5")], validate_only=True)
    assert now(admin.configs.alter_configs(at(2), request)).responses[0].error_code == 0
    assert admin.source.image.topic_config("t") == {}
    admin.source.fail_with = KafkaError(ErrorCode.KAFKA_STORAGE_ERROR)
    assert increment(admin, TOPIC, "t", "retention.ms", "5") is ErrorCode.KAFKA_STORAGE_ERROR


def listed(admin: Admin, version: int, *types: int) -> list[tuple[int, str]]:
    """List resources."""
    response = admin.configs.list_config_resources(at(version), ListConfigResourcesRequest(resource_types=list(types)))
    assert response.error_code == 0
    return [(resource.resource_type, resource.resource_name) for resource in response.config_resources]


def test_resources_are_listed_by_type() -> None:
    """Topics and brokers whether they have configs or not, groups and subscriptions that have some."""
    admin = new_admin()
    create(admin.controller, "t")
    increment(admin, GROUP, "g", "consumer.session.timeout.ms", "50000")
    increment(admin, METRICS, "m", "interval.ms", "5000")
    everything = [(GROUP, "g"), (METRICS, "m"), (LOGGER, "1"), (BROKER, "1"), (TOPIC, "t")]
    assert listed(admin, 1) == everything
    assert listed(admin, 1, TOPIC, GROUP, GROUP) == [(GROUP, "g"), (TOPIC, "t")]
    assert listed(admin, 0) == [(METRICS, "m")]


def test_topics_are_listed_in_kafkas_order() -> None:
    """By Java's hash of the name, so that two brokers with the same topics give the same list."""
    admin = new_admin()
    for name in ("zz", "a", "polygenelubricants", "B"):
        create(admin.controller, name)
    assert [name for _, name in listed(admin, 1, TOPIC)] == ["polygenelubricants", "B", "a", "zz"]


def test_unknown_type_of_resource_cannot_be_listed() -> None:
    """UNSUPPORTED_VERSION, as Kafka answers it."""
    request = ListConfigResourcesRequest(resource_types=[TOPIC, 99])
    response = new_admin().configs.list_config_resources(at(1), request)
    assert (response.error_code, response.config_resources) == (ErrorCode.UNSUPPORTED_VERSION, [])


@pytest.mark.parametrize("kind", [BROKER, LOGGER, GROUP])
def test_more_configs_than_a_resource_may_have_are_refused_unseen(kind: int) -> None:
    """A request may name half a million keys of one resource: not one of them is looked at, nor is any stored."""
    admin = new_admin()
    configs = [AlterableConfig(name=f"n{i}", value="v") for i in range(MAX_CONFIGS + 1)]
    resource = AlterConfigsResource(resource_type=kind, resource_name="1", configs=configs)
    (response,) = now(admin.configs.alter_configs(at(2), AlterConfigsRequest(resources=[resource]))).responses
    assert response.error_code == ErrorCode.POLICY_VIOLATION
    assert admin.controller.image.config(kind, "1") == {}


def test_unknown_configs_of_a_broker_do_not_add_up() -> None:
    """A broker keeps keys that it does not know, as in Kafka, but not without end; known ones can be taken back."""
    admin = new_admin()

    def add(first: int, count: int, operation: int = 0) -> ErrorCode:
        configs = [
            incremental.AlterableConfig(name=f"n{i}", config_operation=operation, value="v")
            for i in range(first, first + count)
        ]
        resource = incremental.AlterConfigsResource(resource_type=BROKER, resource_name="", configs=configs)
        request = incremental.IncrementalAlterConfigsRequest(resources=[resource])
        (response,) = now(admin.configs.incremental_alter_configs(at(1), request)).responses
        return ErrorCode(response.error_code)

    assert add(0, MAX_CONFIGS) is ErrorCode.NONE
    assert add(MAX_CONFIGS, 1) is ErrorCode.POLICY_VIOLATION
    assert add(0, MAX_CONFIGS) is ErrorCode.NONE
    assert add(0, 1, operation=1) is ErrorCode.NONE
    assert add(MAX_CONFIGS, 1) is ErrorCode.NONE


def throttled(first: int, count: int) -> str:
    """Return replicas of so many partitions, the first one given."""
    return ",".join(f"{partition}:1" for partition in range(first, first + count))


def test_a_list_is_no_longer_than_its_record() -> None:
    """More is refused before it is looked at, also where it grows to that bit by bit."""
    admin = new_admin()
    create(admin.controller, "t")
    key = "leader.replication.throttled.replicas"
    assert increment(admin, TOPIC, "t", key, "," * MAX_VALUE_BYTES) is ErrorCode.NONE
    assert increment(admin, TOPIC, "t", key, "," * (MAX_VALUE_BYTES + 1)) is ErrorCode.INVALID_CONFIG
    assert increment(admin, TOPIC, "t", key, throttled(10_000, 4000)) is ErrorCode.NONE
    assert increment(admin, TOPIC, "t", key, throttled(20_000, 4000), 2) is ErrorCode.INVALID_CONFIG
    assert increment(admin, TOPIC, "t", key, throttled(20_000, 10), 2) is ErrorCode.NONE


def test_lists_of_several_resources_are_bounded_together() -> None:
    """What one request changes in one turn has so many elements; the resources that come last are refused."""
    admin = new_admin()
    names = ["t", "u", "v"]
    for name in names:
        create(admin.controller, name)
    lists = [replacing(TOPIC, name, leader_replication_throttled_replicas="," * 20_000) for name in names]
    told = now(admin.configs.alter_configs(at(2), AlterConfigsRequest(resources=lists))).responses
    assert [each.error_code for each in told] == [ErrorCode.NONE, ErrorCode.NONE, ErrorCode.POLICY_VIOLATION]
