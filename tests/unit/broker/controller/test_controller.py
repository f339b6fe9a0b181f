"""The controller: several wishes of one request in one change, each with its own result."""

import gc

import pytest

from odradek.broker.controller.configs import Alteration
from odradek.broker.controller.controller import MANY_PARTITIONS, Controller
from odradek.broker.controller.topics import NewPartitions, NewTopic, PlannedTopic
from odradek.broker.metadata.broker_configs import BrokerConfigs
from odradek.broker.metadata.image import ConfigResource, ResourceType
from odradek.broker.metadata.producer_ids import BLOCK_SIZE, ProducerIds, RecordedBlocks
from odradek.broker.runtime.deferred import Deferred
from odradek.config.alter import ConfigChange, alter
from odradek.protocol.errors import ErrorCode, KafkaError
from tests.support.deferred import now
from tests.support.manual_loop import HandThreads, ManualLoop
from tests.unit.broker.metadata.support import NODE, ONE_BROKER, RULES, MemorySource, create


def new_controller(source: MemorySource, **static: str) -> Controller:
    """Return a controller on a source."""
    return Controller(source, RULES, BrokerConfigs(source, NODE, static), ONE_BROKER)


def changing(key: str, value: str | None, operation: int = 0) -> Alteration:
    """Return the alteration of one key."""
    return lambda target, current: alter(target, current, [ConfigChange(key, operation, value)])


def test_topics_of_one_request_are_one_change() -> None:
    """A hundred topics of ten partitions are proposed once; bad ones among them only lose themselves."""
    source = MemorySource()
    wishes = [NewTopic(f"t{i}", 10, 1) for i in range(100)]
    results = now(new_controller(source).create_topics([*wishes, NewTopic("a b"), NewTopic("z", 1, 5)]))
    assert len(source.batches) == 1
    assert len(source.image.topics_by_name) == 100
    assert all(isinstance(result, PlannedTopic) for result in results[:100])
    assert [r.code for r in results[100:] if isinstance(r, KafkaError)] == [
        ErrorCode.INVALID_TOPIC_EXCEPTION,
        ErrorCode.INVALID_REPLICATION_FACTOR,
    ]


def test_validate_only_plans_and_changes_nothing() -> None:
    """For topics, partitions and configs alike."""
    source = MemorySource()
    controller = new_controller(source)
    create(controller, "t")
    image = source.image
    (planned,) = now(controller.create_topics([NewTopic("u")], validate_only=True))
    assert isinstance(planned, PlannedTopic)
    assert now(controller.create_partitions([NewPartitions("t", 5)], validate_only=True)) == [None]
    wish = (ConfigResource(ResourceType.TOPIC, "t"), changing("retention.ms", "5"))
    assert now(controller.alter_configs([wish], validate_only=True)) == [None]
    assert source.image is image


def test_request_in_which_nothing_can_be_done_proposes_nothing() -> None:
    """No empty batch reaches the log."""
    source = MemorySource()
    now(new_controller(source).create_topics([NewTopic("a b")]))
    assert source.batches == []


def test_request_that_cannot_be_stored_fails_as_a_whole() -> None:
    """All wishes have the disk's error."""
    source = MemorySource()
    source.fail_with = KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, "disk full")
    refused = now(new_controller(source).create_topics([NewTopic("t"), NewTopic("a b")]))
    assert refused == [source.fail_with, source.fail_with]


def test_deleted_topics_go_in_one_change() -> None:
    """With their configs."""
    source = MemorySource()
    controller = new_controller(source)
    create(controller, "a", retention_ms="5")
    create(controller, "b")
    now(controller.delete_topics(list(source.image.topics_by_name.values())))
    assert (len(source.batches), dict(source.image.topics_by_name), dict(source.image.configs)) == (3, {}, {})


def test_configs_of_several_resources_are_changed_at_once() -> None:
    """Topic, this broker, all brokers, a group; records only for what differs."""
    source = MemorySource()
    controller = new_controller(source)
    create(controller, "t", retention_ms="5")
    wishes = [
        (ConfigResource(2, "t"), changing("retention.ms", "5")),
        (ConfigResource(4, "1"), changing("log.cleaner.threads", "2")),
        (ConfigResource(4, ""), changing("log.retention.ms", "99")),
        (ConfigResource(32, "g"), changing("consumer.session.timeout.ms", "50000")),
        (ConfigResource(16, "m"), changing("interval.ms", "5000")),
    ]
    assert now(controller.alter_configs(wishes)) == [None] * 5
    assert len(source.batches[-1]) == 4
    assert source.image.config(4, "1") == {"log.cleaner.threads": "2"}
    assert source.deltas[-1].changed_configs == {resource for resource, _ in wishes[1:]}


@pytest.mark.parametrize(
    ("resource", "alteration", "code"),
    [
        (ConfigResource(2, "t"), changing("nope", "1"), ErrorCode.INVALID_CONFIG),
        (ConfigResource(2, "t"), changing("retention.ms", "x"), ErrorCode.INVALID_CONFIG),
        (ConfigResource(2, "t"), changing("retention.ms", "1", 9), ErrorCode.UNKNOWN_SERVER_ERROR),
        (ConfigResource(2, "t"), changing("retention.ms", "1", 2), ErrorCode.INVALID_CONFIG),
        (ConfigResource(2, "none"), changing("retention.ms", "1"), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (ConfigResource(2, ""), changing("retention.ms", "1"), ErrorCode.INVALID_REQUEST),
        (ConfigResource(2, "a b"), changing("retention.ms", "1"), ErrorCode.INVALID_TOPIC_EXCEPTION),
        (ConfigResource(2, "a b"), changing("retention.ms", "1", 2), ErrorCode.INVALID_CONFIG),
        (ConfigResource(2, ""), changing("retention.ms", "1", 3), ErrorCode.INVALID_CONFIG),
        (ConfigResource(4, "1"), changing("log.dirs", "/x"), ErrorCode.INVALID_REQUEST),
        (ConfigResource(4, "33"), changing("log.cleaner.threads", "2"), ErrorCode.INVALID_REQUEST),
        (ConfigResource(4, "x"), changing("log.cleaner.threads", "2"), ErrorCode.INVALID_REQUEST),
        (ConfigResource(4, "1"), changing("min.insync.replicas", "2"), ErrorCode.INVALID_CONFIG),
        (ConfigResource(32, ""), changing("consumer.session.timeout.ms", "50000"), ErrorCode.INVALID_REQUEST),
        (ConfigResource(32, ""), changing("consumer.session.timeout.ms", "1", 2), ErrorCode.INVALID_CONFIG),
        (ConfigResource(32, "g"), changing("consumer.session.timeout.ms", "1"), ErrorCode.INVALID_CONFIG),
        (ConfigResource(16, ""), changing("interval.ms", "5000"), ErrorCode.INVALID_REQUEST),
        (ConfigResource(16, ""), changing("interval.ms", "5000", 2), ErrorCode.INVALID_CONFIG),
        (ConfigResource(16, "m"), changing("interval.ms", "5"), ErrorCode.INVALID_REQUEST),
        (ConfigResource(16, "m"), changing("interval.ms", "TRUE"), ErrorCode.INVALID_CONFIG),
        (ConfigResource(8, "1"), changing("root", "DEBUG"), ErrorCode.INVALID_REQUEST),
        (ConfigResource(99, "x"), changing("a", "b"), ErrorCode.INVALID_REQUEST),
    ],
)
def test_alteration_is_refused_with_kafkas_code(
    resource: ConfigResource, alteration: Alteration, code: ErrorCode
) -> None:
    """And nothing is stored."""
    source = MemorySource()
    controller = new_controller(source)
    create(controller, "t")
    (error,) = now(controller.alter_configs([(resource, alteration)]))
    assert error is not None
    assert error.code is code
    assert len(source.batches) == 1


@pytest.mark.parametrize("place", [0, 1, 4])
def test_unknown_operation_ends_the_whole_request(place: int) -> None:
    """Nothing is changed, whatever comes before and after; what the broker itself refuses has its own error."""
    source = MemorySource()
    controller = new_controller(source)
    create(controller, "t")
    wishes = [
        (ConfigResource(2, "t"), changing("retention.ms", "7000")),
        (ConfigResource(4, "1"), changing("log.cleaner.threads", "2")),
        (ConfigResource(4, "33"), changing("log.cleaner.threads", "2")),
        (ConfigResource(77, "x"), changing("retention.ms", "1")),
        (ConfigResource(2, "a b"), changing("retention.ms", "1")),
    ]
    wishes.insert(place, (ConfigResource(32, "g"), changing("consumer.session.timeout.ms", "50000", 9)))
    codes = [error and error.code for error in now(controller.alter_configs(wishes))]
    assert codes.count(ErrorCode.UNKNOWN_SERVER_ERROR) == 4
    of_the_broker = [code for code, (resource, _) in zip(codes, wishes, strict=True) if resource.name in ("33", "x")]
    assert of_the_broker == [ErrorCode.INVALID_REQUEST] * 2
    assert len(source.batches) == 1


def test_dynamic_broker_configs_are_layers_over_the_static_ones() -> None:
    """What the image says of all brokers and of this one, read anew each time."""
    source = MemorySource()
    configs = BrokerConfigs(source, NODE, {"log.retention.ms": "1", "log.flush.interval.messages": "7"})
    controller = Controller(source, RULES, configs, ONE_BROKER)
    now(controller.alter_configs([(ConfigResource(4, ""), changing("log.retention.ms", "2"))]))
    assert configs.layers.effective["log.retention.ms"] == "2"
    now(controller.alter_configs([(ConfigResource(4, "1"), changing("log.retention.ms", "3"))]))
    assert configs.layers.effective == {"log.retention.ms": "3", "log.flush.interval.messages": "7"}


class Planning:
    """A controller that plans large changes on threads that a test works."""

    def __init__(self) -> None:
        self.source = MemorySource()
        self.controller = new_controller(self.source)
        self.loop = ManualLoop()
        self.threads = HandThreads(self.loop)
        self.controller.use_threads(self.threads)

    def finish(self) -> None:
        """Let the threads plan, and the loop hear of it."""
        self.threads.run()
        self.loop.settle()


def test_many_partitions_are_planned_on_a_thread() -> None:
    """Nothing of it is done in the turn of the request, for new topics and for more partitions; few wait for nobody."""
    planning = Planning()
    created = planning.controller.create_topics([NewTopic("large", MANY_PARTITIONS + 1, 1)])
    assert isinstance(created, Deferred)
    assert planning.source.batches == []
    planning.finish()
    (topic,) = now(created.now_or_later())
    assert isinstance(topic, PlannedTopic)
    more = planning.controller.create_partitions([NewPartitions("large", 10_000)])
    assert isinstance(more, Deferred)
    planning.finish()
    assert now(more.now_or_later()) == [None]
    assert len(planning.source.image.topics_by_name["large"].partitions) == 10_000
    assert len(planning.source.batches) == 2
    create(planning.controller, "small", MANY_PARTITIONS)


def test_changes_wait_for_one_that_is_planned_on_a_thread() -> None:
    """They are planned on what it comes to, in the order in which they came, also those of producer ids."""
    planning = Planning()
    controller, source = planning.controller, planning.source
    ids = ProducerIds(RecordedBlocks(source, NODE, controller.in_turn).next_block)
    controller.create_topics([NewTopic("large", 1_000, 1)])
    same = controller.create_topics([NewTopic("large", 1, 1)])
    allocated = ids.allocate()
    more = controller.create_partitions([NewPartitions("large", 2_000)])
    deleted = controller.in_turn(lambda: controller.delete_topics([source.image.topics_by_name["large"]]))
    assert isinstance(same, Deferred)
    assert isinstance(allocated, Deferred)
    assert isinstance(more, Deferred)
    assert isinstance(deleted, Deferred)
    assert source.batches == []
    planning.finish()
    (refused,) = now(same.now_or_later())
    assert isinstance(refused, KafkaError)
    assert refused.code is ErrorCode.TOPIC_ALREADY_EXISTS
    assert now(allocated.now_or_later()) == 0
    assert source.image.next_producer_id == BLOCK_SIZE
    assert "large" in source.image.topics_by_name
    planning.finish()
    assert now(more.now_or_later()) == [None]
    assert now(deleted.now_or_later()) is None
    assert source.image.topics_by_name == {}


def test_change_whose_ground_is_lost_while_it_is_planned_is_refused() -> None:
    """The disk may refuse what it was planned on; those who wait for their turn get it all the same."""
    planning = Planning()
    lost = planning.controller.create_topics([NewTopic("large", 1_000, 1)])
    later = planning.controller.create_topics([NewTopic("small", 1, 1)])
    assert isinstance(lost, Deferred)
    assert isinstance(later, Deferred)
    planning.threads.run()
    planning.source.image = planning.source.image._replace(offset=99)
    planning.loop.settle()
    (refused,) = now(lost.now_or_later())
    assert isinstance(refused, KafkaError)
    assert refused.code is ErrorCode.KAFKA_STORAGE_ERROR
    assert isinstance(now(later.now_or_later())[0], PlannedTopic)


def test_more_partitions_than_kafka_adds_at_once_are_refused_in_all() -> None:
    """Ten thousand in one request, however many topics they are spread over."""
    source = MemorySource()
    controller = new_controller(source)
    for name in "abc":
        create(controller, name)
    results = now(controller.create_partitions([NewPartitions(name, 6_001) for name in "abc"]))
    assert results[0] is None
    assert [r.code for r in results[1:] if r] == [ErrorCode.POLICY_VIOLATION] * 2


def test_refusals_leave_no_garbage_that_has_to_be_looked_for() -> None:
    """A request may name forty thousand things: what each leaves behind would be looked for while nobody is served."""
    controller = new_controller(MemorySource())
    wishes = [
        (ConfigResource(ResourceType.TOPIC, f"t{number}"), changing("retention.ms", "never")) for number in range(100)
    ]
    gc.collect()
    gc.disable()
    try:
        refusals = now(controller.alter_configs(wishes))
        assert all(isinstance(refusal, KafkaError) for refusal in refusals)
        del refusals
        assert gc.collect() < 50
    finally:
        gc.enable()
