"""Metadata: what each form of request is answered."""

from uuid import UUID

import pytest

from odradek.broker.controller.controller_view import single_broker
from odradek.broker.handlers.failed_replicas import InRegisteredDirectories
from odradek.broker.metadata.image import MetadataImage
from odradek.broker.runtime.deferred import Deferred
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from odradek.protocol.messages.metadata_records import PartitionRecord
from odradek.protocol.uuids import ZERO_UUID
from odradek.storage.names import TopicPartition
from tests.support.clock import ManualClock
from tests.support.deferred import now
from tests.unit.broker.handlers.metadata_support import Admin, at, new_admin
from tests.unit.broker.metadata.support import SlowSource, create, image_of, topic_records
from tests.unit.broker.metadata.test_client_quotas import quota
from tests.unit.broker.quotas.support import enforcing

NOT_ASKED = -(1 << 31)


def ask(admin: Admin, version: int, *topics: str | UUID, create_missing: bool = False) -> MetadataResponse:
    """Ask for topics by name or id."""
    wanted = [
        MetadataRequestTopic(name=topic) if isinstance(topic, str) else MetadataRequestTopic(name=None, topic_id=topic)
        for topic in topics
    ]
    return now(
        admin.metadata.metadata(at(version), MetadataRequest(topics=wanted, allow_auto_topic_creation=create_missing))
    )


def errors(response: MetadataResponse) -> list[tuple[str | None, ErrorCode]]:
    """Return name and error of each topic."""
    return [(topic.name, ErrorCode(topic.error_code)) for topic in response.topics]


def test_answer_names_this_node_as_broker_and_controller() -> None:
    """At the address that the client can reach it by."""
    response = ask(new_admin(), 12)
    (broker,) = response.brokers
    assert (broker.node_id, broker.host, broker.port, broker.rack) == (1, "192.0.2.1", 9092, "rack")
    assert (response.cluster_id, response.controller_id, response.error_code) == ("cluster", 1, 0)


def test_topic_is_described_with_its_partitions() -> None:
    """Leader, epoch, replicas and the id."""
    admin = new_admin()
    planned = create(admin.controller, "t", 2)
    (topic,) = ask(admin, 12, "t").topics
    assert (topic.error_code, topic.topic_id, topic.is_internal) == (0, planned.topic_id, False)
    assert [p.partition_index for p in topic.partitions] == [0, 1]
    first = topic.partitions[0]
    assert (first.leader_id, first.leader_epoch, first.replica_nodes, first.isr_nodes) == (1, 0, [1], [1])
    assert (first.error_code, first.offline_replicas) == (0, [])


def test_all_topics_are_asked_for_with_null_or_in_version_0_with_nothing() -> None:
    """From version 1 on an empty list asks for none."""
    admin = new_admin()
    create(admin.controller, "a")
    create(admin.controller, "b")
    for version, request in ((0, MetadataRequest(topics=[])), (1, MetadataRequest(topics=None))):
        assert len(now(admin.metadata.metadata(at(version), request)).topics) == 2
    assert ask(admin, 1).topics == []


def test_missing_and_invalid_names_have_their_own_errors() -> None:
    """Each name once, in the order of the request."""
    assert errors(ask(new_admin(), 9, "none", "a b", "", "none")) == [
        ("none", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ("a b", ErrorCode.INVALID_TOPIC_EXCEPTION),
        ("", ErrorCode.INVALID_TOPIC_EXCEPTION),
    ]


def test_topics_are_found_by_id_from_version_12() -> None:
    """The answer has the name; an unknown id has none."""
    admin = new_admin()
    planned = create(admin.controller, "t")
    known, unknown = ask(admin, 12, planned.topic_id, UUID(int=77)).topics
    assert (known.name, known.error_code) == ("t", 0)
    assert (unknown.name, unknown.topic_id, unknown.error_code) == (None, UUID(int=77), ErrorCode.UNKNOWN_TOPIC_ID)


@pytest.mark.parametrize("version", [10, 11])
def test_ids_before_version_12_refuse_the_whole_request(version: int) -> None:
    """Kafka's answer has no brokers and an error per topic."""
    response = ask(new_admin(), version, UUID(int=5), "t")
    assert (response.brokers, response.cluster_id, response.controller_id) == ([], None, -1)
    assert errors(response) == [("", ErrorCode.INVALID_REQUEST), ("t", ErrorCode.INVALID_REQUEST)]


def test_missing_topic_is_created_and_answered_at_once() -> None:
    """With the broker's default number of partitions."""
    admin = new_admin()
    (topic,) = ask(admin, 9, "new", create_missing=True).topics
    assert (topic.error_code, len(topic.partitions)) == (0, 1)
    assert admin.source.image.topic("new") is not None


@pytest.mark.parametrize("version", [0, 1, 2, 3])
def test_version_that_cannot_forbid_creation_gets_the_topic_at_once(version: int) -> None:
    """Clients of that age take an unknown topic for a mistake of their user."""
    admin = new_admin()
    assert errors(ask(admin, version, "new", create_missing=True)) == [("new", ErrorCode.NONE)]


@pytest.mark.parametrize(("auto_create", "allowed"), [(True, False), (False, True)])
def test_nothing_is_created_unless_broker_and_client_allow_it(auto_create: bool, allowed: bool) -> None:
    """auto.create.topics.enable and allow_auto_topic_creation."""
    admin = new_admin(auto_create=auto_create)
    assert errors(ask(admin, 9, "new", create_missing=allowed)) == [("new", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)]
    assert admin.source.batches == []


def test_what_a_client_has_made_by_asking_counts_for_its_quota() -> None:
    """The topic that overdraws is made; those that come then are not there yet, and are made once time has passed."""
    clock = ManualClock()
    admin = new_admin(quotas=enforcing(clock, quota("controller_mutation_rate", 0.1, user="ANONYMOUS")))
    asked = ask(admin, 9, "a", "b", "c", create_missing=True)
    assert errors(asked) == [
        ("a", ErrorCode.NONE),
        ("b", ErrorCode.NONE),
        ("c", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    ]
    assert errors(ask(admin, 9, "b", "c", create_missing=True))[1] == ("c", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    clock.advance(20)
    assert errors(ask(admin, 9, "c", create_missing=True)) == [("c", ErrorCode.NONE)]


def test_names_that_cannot_be_created_are_answered_with_the_reason() -> None:
    """A collision of names; internal topics are not made with a client's defaults; an invalid name."""
    admin = new_admin()
    create(admin.controller, "a.b")
    response = ask(admin, 9, "a_b", "__consumer_offsets", "x y", "fine", create_missing=True)
    assert errors(response) == [
        ("a_b", ErrorCode.INVALID_TOPIC_EXCEPTION),
        ("__consumer_offsets", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ("x y", ErrorCode.INVALID_TOPIC_EXCEPTION),
        ("fine", ErrorCode.NONE),
    ]


def test_creation_that_cannot_be_stored_is_an_error_of_the_topic() -> None:
    """The other topics of the request are answered."""
    admin = new_admin()
    create(admin.controller, "t")
    admin.source.fail_with = KafkaError(ErrorCode.KAFKA_STORAGE_ERROR)
    assert errors(ask(admin, 9, "t", "new", create_missing=True)) == [
        ("t", ErrorCode.NONE),
        ("new", ErrorCode.KAFKA_STORAGE_ERROR),
    ]


def test_authorized_operations_are_answered_where_asked() -> None:
    """Everybody may do everything, without an authorizer."""
    admin = new_admin()
    create(admin.controller, "t")
    request = MetadataRequest(
        topics=[MetadataRequestTopic(name="t")],
        include_topic_authorized_operations=True,
        include_cluster_authorized_operations=True,
    )
    response = now(admin.metadata.metadata(at(8), request))
    assert (response.topics[0].topic_authorized_operations, response.cluster_authorized_operations) == (3576, 8096)
    plain = ask(admin, 8, "t")
    assert (plain.topics[0].topic_authorized_operations, plain.cluster_authorized_operations) == (NOT_ASKED, NOT_ASKED)


def test_partition_without_a_leader_here_says_so() -> None:
    """Replicas on brokers that are not there are offline."""
    admin = new_admin()
    admin.source.image = image_of(topic_records("t", UUID(int=9), replicas=(2, 1)), admin.source.image)
    (partition,) = ask(admin, 12, "t").topics[0].partitions
    assert (partition.error_code, partition.leader_id) == (ErrorCode.LEADER_NOT_AVAILABLE, -1)
    assert (partition.replica_nodes, partition.offline_replicas) == ([2, 1], [2])


def test_answers_follow_changes_of_a_topic() -> None:
    """What was built for one image is not given for another one."""
    admin = new_admin()
    planned = create(admin.controller, "t")
    assert len(ask(admin, 12, "t").topics[0].partitions) == 1
    before = admin.source.image
    topic = before.topics_by_name["t"]._replace(partitions=before.topics_by_name["t"].partitions * 3)
    admin.source.image = before._replace(topics_by_name={"t": topic}, topics_by_id={planned.topic_id: topic})
    assert len(ask(admin, 12, "t").topics[0].partitions) == 3


def test_nothing_is_kept_of_deleted_topics_if_clients_ask_only_by_name() -> None:
    """Topics that come and go for ever must not fill the memory."""
    admin = new_admin()
    for name in ("a", "b", "c", "d"):
        create(admin.controller, name)
        assert errors(ask(admin, 12, name)) == [(name, ErrorCode.NONE)]
        if name != "d":
            admin.controller.delete_topics([admin.controller.image.topics_by_name[name]])
    ask(admin, 12, "d")
    assert list(admin.metadata._built) == list(admin.controller.image.topics_by_id)


def test_null_name_without_id_refuses_the_whole_request() -> None:
    """It asks for nothing that could be found; Kafka fails with it, and answers so of every topic."""
    admin = new_admin()
    create(admin.controller, "t")
    response = ask(admin, 13, "t", ZERO_UUID)
    assert errors(response) == [("t", ErrorCode.UNKNOWN_SERVER_ERROR), ("", ErrorCode.UNKNOWN_SERVER_ERROR)]
    assert (response.error_code, response.brokers) == (ErrorCode.UNKNOWN_SERVER_ERROR, [])


def test_topic_is_told_once_however_its_id_is_named() -> None:
    """A name that comes with an id is not looked at."""
    admin = new_admin()
    topic_id = create(admin.controller, "t").topic_id
    topics = [MetadataRequestTopic(name=name, topic_id=topic_id) for name in (None, "t", "other")]
    response = now(admin.metadata.metadata(at(12), MetadataRequest(topics=topics)))
    assert errors(response) == [("t", ErrorCode.NONE)]


def test_names_beside_ids_are_dropped() -> None:
    """As in Kafka: only what is asked for by id is answered, and nothing is created by name."""
    admin = new_admin()
    topic_id = create(admin.controller, "t").topic_id
    create(admin.controller, "u")
    response = ask(admin, 12, "u", "missing", topic_id, ZERO_UUID, create_missing=True)
    assert errors(response) == [("t", ErrorCode.NONE)]
    assert set(admin.controller.image.topics_by_name) == {"t", "u"}


def test_all_who_ask_for_a_topic_that_is_being_created_are_told_of_it() -> None:
    """One creation, and nobody is told of the topic before it is durable, nor that it exists already."""
    source = SlowSource()
    admin = new_admin(source)
    request = MetadataRequest(topics=[MetadataRequestTopic(name="t")], allow_auto_topic_creation=True)
    told: list[MetadataResponse] = []
    for _ in range(2):
        answer = admin.metadata.metadata(at(8), request)
        assert isinstance(answer, Deferred)
        answer.on_done(told.append)
    assert told == []
    source.finish()
    assert [(one.topics[0].name, one.topics[0].error_code, len(one.topics[0].partitions)) for one in told] == [
        ("t", ErrorCode.NONE, 1)
    ] * 2
    assert len([batch for batch in source.batches if batch]) == 1


def test_a_replica_in_a_failed_directory_is_offline() -> None:
    """And leads nothing, until the directory works again."""
    lost: list[TopicPartition] = []
    admin = new_admin(lost=lost)
    create(admin.controller, "t", 2)
    for failed in ([], [TopicPartition("t", 1)], []):
        lost[:] = failed
        told = [(p.leader_id, p.error_code, p.offline_replicas) for p in ask(admin, 12, "t").topics[0].partitions]
        second = (-1, ErrorCode.LEADER_NOT_AVAILABLE, [1]) if failed else (1, ErrorCode.NONE, [])
        assert told == [(1, ErrorCode.NONE, []), second]


def test_in_a_cluster_the_registrations_tell_which_directories_there_are() -> None:
    """A replica whose directory its broker does not have any more, or that is lost, is offline; one without is not."""
    directories = [UUID(int=number) for number in (50, 51, 0, 1, 2)]
    records = topic_records("t", UUID(int=7), len(directories))
    placed = [record for record in records if isinstance(record, PartitionRecord)]
    for record, directory in zip(placed, directories, strict=True):
        record.directories = [directory]
    broker = single_broker(1, None, [UUID(int=50)])(MetadataImage())
    image = image_of(records, MetadataImage())._replace(brokers=broker)
    failed = InRegisteredDirectories(lambda: image)
    partitions = image.topics_by_name["t"].partitions
    told = [failed.has_failed("t", index, one, 1) for index, one in enumerate(partitions)]
    assert told == [False, True, False, False, True]
    assert failed.state is image.brokers
