"""CreateTopics, DeleteTopics and CreatePartitions: results per topic, in every version's form."""

from uuid import UUID

import pytest

from odradek.broker.runtime.deferred import Deferred
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.create_partitions import (
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from odradek.protocol.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreatableTopicResult,
    CreateTopicsRequest,
)
from odradek.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from tests.support.clock import ManualClock
from tests.support.deferred import now
from tests.unit.broker.handlers.metadata_support import Admin, at, new_admin
from tests.unit.broker.metadata.support import SlowSource, create
from tests.unit.broker.metadata.test_client_quotas import quota
from tests.unit.broker.quotas.support import enforcing

ZERO = UUID(int=0)
Deleted = list[tuple[str | None, UUID, ErrorCode]]


def create_topics(admin: Admin, *topics: CreatableTopic, validate_only: bool = False) -> list[CreatableTopicResult]:
    """Create topics with the newest version."""
    return now(
        admin.topics.create_topics(at(7), CreateTopicsRequest(topics=list(topics), validate_only=validate_only))
    ).topics


def delete_states(admin: Admin, *states: DeleteTopicState) -> Deleted:
    """Delete with version 6."""
    response = now(admin.topics.delete_topics(at(6), DeleteTopicsRequest(topics=list(states))))
    return [(r.name, r.topic_id, ErrorCode(r.error_code)) for r in response.responses]


def grow(admin: Admin, *topics: CreatePartitionsTopic) -> list[tuple[str, ErrorCode, str | None]]:
    """Add partitions."""
    response = now(admin.topics.create_partitions(at(3), CreatePartitionsRequest(topics=list(topics))))
    return [(r.name, ErrorCode(r.error_code), r.error_message) for r in response.results]


def test_created_topic_is_answered_with_id_counts_and_configs() -> None:
    """Configs by name, with where each value comes from."""
    admin = new_admin()
    configs = [CreatableTopicConfig(name="cleanup.policy", value="compact")]
    (result,) = create_topics(admin, CreatableTopic(name="t", num_partitions=2, replication_factor=1, configs=configs))
    topic = admin.source.image.topics_by_name["t"]
    assert (result.error_code, result.error_message, result.topic_id) == (0, None, topic.topic_id)
    assert (result.num_partitions, result.replication_factor) == (2, 1)
    assert result.configs is not None
    names = [config.name for config in result.configs]
    assert names == sorted(names)
    sources = {config.name: (config.value, config.config_source) for config in result.configs}
    assert sources["cleanup.policy"] == ("compact", 1)
    assert sources["segment.bytes"] == ("1073741824", 5)


def test_topic_with_manual_assignment_is_created() -> None:
    """Counts must be -1 then."""
    admin = new_admin()
    assignments = [CreatableReplicaAssignment(partition_index=index, broker_ids=[1]) for index in (1, 0)]
    (result,) = create_topics(
        admin, CreatableTopic(name="t", num_partitions=-1, replication_factor=-1, assignments=assignments)
    )
    assert (result.error_code, result.num_partitions) == (0, 2)


def test_refused_topic_is_answered_without_id_and_counts() -> None:
    """And does not keep others from being created."""
    admin = new_admin()
    bad, good = create_topics(
        admin,
        CreatableTopic(name="a b", num_partitions=1, replication_factor=1),
        CreatableTopic(name="t", num_partitions=1, replication_factor=1),
    )
    assert (bad.error_code, bad.topic_id, bad.num_partitions) == (ErrorCode.INVALID_TOPIC_EXCEPTION, ZERO, -1)
    assert (bad.replication_factor, bad.configs) == (-1, [])
    assert "a b" in (bad.error_message or "")
    assert good.error_code == 0


def test_name_that_stands_twice_is_refused_once() -> None:
    """Nothing is created for it."""
    admin = new_admin()
    twice = CreatableTopic(name="t", num_partitions=1, replication_factor=1)
    (result,) = create_topics(admin, twice, twice)
    assert (result.error_code, result.error_message) == (ErrorCode.INVALID_REQUEST, "Duplicate topic name.")
    assert admin.source.batches == []


def test_validate_only_answers_as_if_it_were_done() -> None:
    """Nothing is stored."""
    admin = new_admin()
    (result,) = create_topics(
        admin, CreatableTopic(name="t", num_partitions=3, replication_factor=1), validate_only=True
    )
    assert (result.error_code, result.num_partitions) == (0, 3)
    assert admin.source.batches == []


@pytest.mark.parametrize("code", [ErrorCode.KAFKA_STORAGE_ERROR, ErrorCode.POLICY_VIOLATION])
def test_request_that_fails_as_a_whole_is_an_error_of_every_topic(code: ErrorCode) -> None:
    """CreateTopics has no error of its own."""
    admin = new_admin()
    admin.source.fail_with = KafkaError(code)
    count = 20_000 if code is ErrorCode.POLICY_VIOLATION else 1
    topics = [CreatableTopic(name=name, num_partitions=count, replication_factor=1) for name in ("a", "b")]
    assert [result.error_code for result in create_topics(admin, *topics)] == [code, code]


@pytest.mark.parametrize("version", [1, 3, 5])
def test_topics_are_deleted_by_name(version: int) -> None:
    """Unknown ones have an error of their own."""
    admin = new_admin()
    create(admin.controller, "t")
    response = now(admin.topics.delete_topics(at(version), DeleteTopicsRequest(topic_names=["t", "none"])))
    assert sorted((r.name or "", ErrorCode(r.error_code)) for r in response.responses) == [
        ("none", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ("t", ErrorCode.NONE),
    ]
    assert not admin.source.image.topics_by_name


def test_topics_are_deleted_by_name_and_by_id_in_one_change() -> None:
    """Both are answered with both."""
    admin = new_admin()
    a, b = (create(admin.controller, name).topic_id for name in ("a", "b"))
    batches = len(admin.source.batches)
    assert delete_states(admin, DeleteTopicState(name="a"), DeleteTopicState(topic_id=b)) == [
        ("b", b, ErrorCode.NONE),
        ("a", a, ErrorCode.NONE),
    ]
    assert len(admin.source.batches) == batches + 1


def test_entries_that_name_no_topic_clearly_are_refused() -> None:
    """Both of name and id, neither, one twice, an unknown one, or one topic in both ways."""
    admin = new_admin()
    t, u = (create(admin.controller, name).topic_id for name in ("t", "u"))
    other = UUID(int=3)
    answers = delete_states(
        admin,
        DeleteTopicState(name="x", topic_id=other),
        DeleteTopicState(),
        DeleteTopicState(name="t"),
        DeleteTopicState(name="t"),
        DeleteTopicState(topic_id=other),
        DeleteTopicState(name="u"),
        DeleteTopicState(topic_id=u),
        DeleteTopicState(topic_id=UUID(int=9)),
        DeleteTopicState(topic_id=UUID(int=9)),
        DeleteTopicState(name="none"),
    )
    assert answers == [
        ("x", other, ErrorCode.INVALID_REQUEST),
        (None, ZERO, ErrorCode.INVALID_REQUEST),
        (None, other, ErrorCode.UNKNOWN_TOPIC_ID),
        (None, UUID(int=9), ErrorCode.INVALID_REQUEST),
        ("t", ZERO, ErrorCode.INVALID_REQUEST),
        ("u", u, ErrorCode.INVALID_REQUEST),
        ("none", ZERO, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    ]
    assert {topic.topic_id for topic in admin.source.image.topics_by_name.values()} == {t, u}


@pytest.mark.parametrize(("version", "code"), [(2, ErrorCode.INVALID_REQUEST), (3, ErrorCode.TOPIC_DELETION_DISABLED)])
def test_deletion_can_be_disabled(version: int, code: ErrorCode) -> None:
    """delete.topic.enable=false; the code for it came with version 3."""
    admin = new_admin(deletion=False)
    create(admin.controller, "t")
    (result,) = now(admin.topics.delete_topics(at(version), DeleteTopicsRequest(topic_names=["t"]))).responses
    assert result.error_code == code
    assert "t" in admin.source.image.topics_by_name


def test_deletion_that_cannot_be_stored_is_an_error_of_the_topic() -> None:
    """It is still there."""
    admin = new_admin()
    topic_id = create(admin.controller, "t").topic_id
    admin.source.fail_with = KafkaError(ErrorCode.KAFKA_STORAGE_ERROR)
    assert delete_states(admin, DeleteTopicState(name="t")) == [("t", topic_id, ErrorCode.KAFKA_STORAGE_ERROR)]


def test_partitions_are_added_where_they_can_be() -> None:
    """A topic that stands twice is refused once; no message without an error."""
    admin = new_admin()
    create(admin.controller, "t")
    create(admin.controller, "u")
    assignment = [CreatePartitionsAssignment(broker_ids=[1])]
    answers = grow(
        admin,
        CreatePartitionsTopic(name="t", count=3, assignments=None),
        CreatePartitionsTopic(name="u", count=2, assignments=assignment),
        CreatePartitionsTopic(name="none", count=2, assignments=None),
        CreatePartitionsTopic(name="w", count=2, assignments=None),
        CreatePartitionsTopic(name="w", count=3, assignments=None),
    )
    assert answers == [
        ("w", ErrorCode.INVALID_REQUEST, "Duplicate topic name."),
        ("t", ErrorCode.NONE, None),
        ("u", ErrorCode.NONE, None),
        ("none", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, None),
    ]
    assert {name: len(t.partitions) for name, t in admin.source.image.topics_by_name.items()} == {"t": 3, "u": 2}


def test_partitions_that_cannot_be_stored_are_an_error_of_every_topic() -> None:
    """With the disk's sentence."""
    admin = new_admin()
    create(admin.controller, "t")
    admin.source.fail_with = KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, "disk full")
    assert grow(admin, CreatePartitionsTopic(name="t", count=3, assignments=None)) == [
        ("t", ErrorCode.KAFKA_STORAGE_ERROR, "disk full")
    ]


@pytest.mark.parametrize("fails", [False, True])
def test_answers_wait_until_the_change_is_durable(fails: bool) -> None:
    """In order, each planned on those before it; what cannot be stored is refused, and so is what followed from it."""
    source = SlowSource()
    admin = new_admin(source)
    answers: list[tuple[str | None, ErrorCode]] = []
    wanted = CreateTopicsRequest(topics=[CreatableTopic(name="t", num_partitions=1, replication_factor=1)])
    created = [admin.topics.create_topics(at(7), wanted) for _ in range(2)]
    deleted = admin.topics.delete_topics(at(6), DeleteTopicsRequest(topics=[DeleteTopicState(name="t")]))
    for creation in created:
        assert isinstance(creation, Deferred)
        creation.on_done(lambda answer: answers.extend((r.name, ErrorCode(r.error_code)) for r in answer.topics))
    assert isinstance(deleted, Deferred)
    deleted.on_done(lambda answer: answers.extend((r.name, ErrorCode(r.error_code)) for r in answer.responses))
    assert answers == []
    source.fail_with = KafkaError(ErrorCode.KAFKA_STORAGE_ERROR) if fails else None
    source.finish()
    storage, exists = ErrorCode.KAFKA_STORAGE_ERROR, ErrorCode.TOPIC_ALREADY_EXISTS
    codes = [storage] * 3 if fails else [ErrorCode.NONE, exists, ErrorCode.NONE]
    assert answers == [("t", code) for code in codes]
    assert not source.image.topics_by_name


def test_a_deletion_is_answered_once_the_name_can_be_used_again() -> None:
    """Who makes the topic anew after the answer finds its partitions there."""
    free: Deferred[None] = Deferred()
    admin = new_admin(deletions_settled=lambda: free)
    create(admin.controller, "t")
    answers: list[object] = []
    deleted = admin.topics.delete_topics(at(6), DeleteTopicsRequest(topics=[DeleteTopicState(name="t")]))
    assert isinstance(deleted, Deferred)
    deleted.on_done(lambda response: answers.extend(response.responses))
    assert admin.controller.image.topic("t") is None
    assert not answers
    free.resolve(None)
    assert len(answers) == 1


def limited_admin(clock: ManualClock) -> Admin:
    """Return handlers with which a client may change two partitions a second, 22 at once."""
    return new_admin(quotas=enforcing(clock, quota("controller_mutation_rate", 2.0, user="ANONYMOUS")))


def test_changes_of_partitions_beyond_the_quota_are_refused_one_by_one() -> None:
    """The topic that overdraws is made; what comes then is told how long to wait (KIP-599)."""
    clock = ManualClock()
    admin = limited_admin(clock)
    topics = [CreatableTopic(name=name, num_partitions=count, replication_factor=1) for name, count in SIZES.items()]
    created = now(admin.topics.create_topics(at(6), CreateTopicsRequest(topics=topics)))
    codes = {one.name: one.error_code for one in created.topics}
    assert codes == {"a": 0, "b": 0, "c": ErrorCode.THROTTLING_QUOTA_EXCEEDED}
    assert created.throttle_time_ms == 4_000
    grown = now(
        admin.topics.create_partitions(
            at(3), CreatePartitionsRequest(topics=[CreatePartitionsTopic(name="a", count=30, assignments=None)])
        )
    )
    assert (grown.results[0].error_code, grown.throttle_time_ms) == (ErrorCode.THROTTLING_QUOTA_EXCEEDED, 4_000)
    states = [DeleteTopicState(name="a"), DeleteTopicState(name="none")]
    deleted = now(admin.topics.delete_topics(at(6), DeleteTopicsRequest(topics=states)))
    codes = {str(one.name): one.error_code for one in deleted.responses}
    assert codes == {"a": ErrorCode.THROTTLING_QUOTA_EXCEEDED, "none": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
    assert deleted.throttle_time_ms == 4_000
    clock.advance(4)
    deleted = now(admin.topics.delete_topics(at(6), DeleteTopicsRequest(topics=states[:1])))
    assert (deleted.responses[0].error_code, deleted.throttle_time_ms) == (0, 0)
    assert "a" not in admin.source.image.topics_by_name


SIZES = {"a": 20, "b": 10, "c": 1}


def test_clients_that_do_not_know_the_error_have_everything_done() -> None:
    """And are told to wait."""
    admin = limited_admin(ManualClock())
    topics = [CreatableTopic(name=name, num_partitions=count, replication_factor=1) for name, count in SIZES.items()]
    created = now(admin.topics.create_topics(at(5), CreateTopicsRequest(topics=topics)))
    assert [one.error_code for one in created.topics] == [0, 0, 0]
    assert created.throttle_time_ms == 4_500
    deleted = now(admin.topics.delete_topics(at(4), DeleteTopicsRequest(topic_names=["a"])))
    assert (deleted.responses[0].error_code, deleted.throttle_time_ms) == (0, 14_500)


def test_what_cannot_be_done_takes_nothing_from_the_quota() -> None:
    """A topic that is there already."""
    admin = limited_admin(ManualClock())
    topic = CreatableTopic(name="a", num_partitions=22, replication_factor=1)
    for code in (0, ErrorCode.TOPIC_ALREADY_EXISTS, ErrorCode.TOPIC_ALREADY_EXISTS):
        created = now(admin.topics.create_topics(at(6), CreateTopicsRequest(topics=[topic])))
        assert (created.topics[0].error_code, created.throttle_time_ms) == (code, 0)
