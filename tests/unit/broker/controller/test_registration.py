"""Who may register, with which epoch, and what an earlier incarnation leaves behind."""

from uuid import UUID

import pytest

from odradek.broker.controller.registration import PlannedRegistration, plan_registration
from odradek.broker.metadata.image import MetadataImage
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.broker_registration import (
    BrokerRegistrationRequest,
    RegistrationFeature,
    RegistrationListener,
)
from odradek.protocol.messages.metadata_records import (
    BrokerEndpoint,
    FeatureLevelRecord,
    PartitionChangeRecord,
    RegisterBrokerRecord,
)
from tests.unit.broker.controller.cluster import (
    ELR,
    EVERY_LEVEL,
    NO_LEADER,
    change,
    cluster,
    directory_of,
    incarnation_of,
    messages_of,
    partition,
    view_of,
)

INVALID = ErrorCode.INVALID_REGISTRATION
NEW_PROCESS = UUID(int=0xBEEF)


def asked(broker_id: int = 4, **changed: object) -> BrokerRegistrationRequest:
    """Return the registration of a broker that fits the cluster."""
    request = BrokerRegistrationRequest(
        broker_id=broker_id,
        cluster_id="cluster",
        incarnation_id=NEW_PROCESS,
        listeners=[RegistrationListener(name="PLAINTEXT", host="h", port=9092)],
        features=[
            RegistrationFeature(name=name, min_supported_version=least, max_supported_version=most)
            for name, (least, most) in EVERY_LEVEL.items()
        ],
        rack=None,
        log_dirs=[directory_of(broker_id)],
    )
    for name, value in changed.items():
        setattr(request, name, value)
    return request


def planned(
    request: BrokerRegistrationRequest, image: MetadataImage | None = None, *, is_alive: bool = False
) -> PlannedRegistration:
    """Plan the registration where the next record is number 1,000."""
    return plan_registration(view_of(image or cluster()), "cluster", request, is_alive=is_alive, next_offset=1000)


def test_new_broker_is_registered_fenced_with_the_next_offset_as_epoch() -> None:
    """What it says of itself is recorded as it is."""
    epoch, records = planned(asked(rack="r"))
    (record,) = messages_of(records)
    assert epoch == 1000
    assert isinstance(record, RegisterBrokerRecord)
    assert (record.broker_id, record.broker_epoch, record.fenced, record.rack) == (4, 1000, True, "r")
    assert record.end_points == [BrokerEndpoint(name="PLAINTEXT", host="h", port=9092)]
    assert record.log_dirs == [directory_of(4)]


@pytest.mark.parametrize(("level", "version"), [(7, 1), (8, 2), (16, 2), (17, 3), (29, 3), (30, 4)])
def test_record_is_of_the_version_that_the_cluster_reads(level: int, version: int) -> None:
    """Every broker of the cluster understands its metadata.version, and no more may be written."""
    image = cluster(FeatureLevelRecord(name="metadata.version", feature_level=level))
    assert planned(asked(), image).records[-1].value[:3] == bytes((1, 0, version))


def without(name: str) -> list[RegistrationFeature]:
    """Return the features without one of them."""
    return [one for one in asked().features if one.name != name]


@pytest.mark.parametrize(
    ("request_", "code"),
    [
        (asked(cluster_id="other"), ErrorCode.INCONSISTENT_CLUSTER_ID),
        (asked(log_dirs=[]), ErrorCode.INVALID_REGISTRATION),
        (asked(log_dirs=[UUID(int=1)]), ErrorCode.INVALID_REGISTRATION),
        (asked(log_dirs=[directory_of(4), directory_of(4)]), ErrorCode.INVALID_REGISTRATION),
        (asked(log_dirs=[directory_of(2)]), ErrorCode.INVALID_REGISTRATION),
        (asked(features=without("metadata.version")), ErrorCode.INVALID_REGISTRATION),
        (asked(features=without("group.version")), ErrorCode.UNSUPPORTED_VERSION),
        (asked(listeners=[RegistrationListener(name="X", host="h", port=1, security_protocol=9)]), INVALID),
        (
            asked(
                features=[
                    *asked().features,
                    RegistrationFeature(name="no.such", min_supported_version=3, max_supported_version=0),
                ]
            ),
            ErrorCode.UNSUPPORTED_VERSION,
        ),
        (asked(is_migrating_zk_broker=True), ErrorCode.BROKER_ID_NOT_REGISTERED),
        (
            asked(
                features=[
                    *without("kraft.version"),
                    RegistrationFeature(name="kraft.version", min_supported_version=1, max_supported_version=2),
                ]
            ),
            ErrorCode.UNSUPPORTED_VERSION,
        ),
        (
            asked(
                features=[
                    *without("metadata.version"),
                    RegistrationFeature(name="metadata.version", min_supported_version=7, max_supported_version=24),
                ]
            ),
            ErrorCode.UNSUPPORTED_VERSION,
        ),
    ],
)
def test_registration_is_refused_with_kafkas_code(request_: BrokerRegistrationRequest, code: ErrorCode) -> None:
    """Another cluster, directories that are nobody's or another's, levels that it cannot run."""
    with pytest.raises(KafkaError) as caught:
        planned(request_)
    assert caught.value.code is code


def test_who_knows_nothing_of_changing_quorums_may_register() -> None:
    """The quorum is static; only a broker that says that it cannot be in such a cluster is refused."""
    assert planned(asked(features=without("kraft.version"))).epoch == 1000


def test_last_listener_of_a_name_counts() -> None:
    """Brokers that follow keep one address for each name."""
    twice = [RegistrationListener(name="PLAINTEXT", host=host, port=9092) for host in ("first", "last")]
    record = messages_of(planned(asked(listeners=twice)).records)[-1]
    assert isinstance(record, RegisterBrokerRecord)
    assert [one.host for one in record.end_points] == ["last"]


def test_unknown_broker_is_no_eligible_leader() -> None:
    """It was unregistered meanwhile, and nobody knows what became of its disk."""
    image = cluster(partition([4, 1], isr=[], leader=NO_LEADER, eligible_leader_replicas=[4]), elr=True)
    elr = RegistrationFeature(name=ELR, min_supported_version=0, max_supported_version=1)
    _, records = planned(asked(4, previous_broker_epoch=400, features=[*asked().features, elr]), image)
    assert messages_of(records)[0] == change(eligible_leader_replicas=[])


def test_id_of_a_broker_that_lives_is_taken() -> None:
    """Only its own process may register again; once it has been silent for a session, another one may."""
    with pytest.raises(KafkaError) as caught:
        planned(asked(2), is_alive=True)
    assert caught.value.code is ErrorCode.DUPLICATE_BROKER_REGISTRATION
    assert planned(asked(2)).epoch == 1000


def test_same_process_keeps_its_epoch_and_its_place() -> None:
    """It lost nothing: it stays in every ISR, unfenced."""
    image = cluster(partition([2, 1]))
    epoch, records = planned(asked(2, incarnation_id=incarnation_of(2)), image, is_alive=True)
    (record,) = messages_of(records)
    assert epoch == 200
    assert isinstance(record, RegisterBrokerRecord)
    assert (record.broker_epoch, record.fenced) == (200, False)


def test_new_process_is_in_no_isr() -> None:
    """It has to catch up first; others lead meanwhile."""
    _, records = planned(asked(2), cluster(partition([2, 1])))
    assert messages_of(records)[0] == change(leader=1, isr=[1])


@pytest.mark.parametrize(("epoch", "elr"), [(200, [2]), (-1, []), (199, [])])
def test_who_did_not_stop_cleanly_is_no_eligible_leader(epoch: int, elr: list[int]) -> None:
    """It names the epoch that it stopped in; without that it may have lost what was not synced (KIP-966)."""
    _, records = planned(
        asked(2, previous_broker_epoch=epoch, features=[*asked().features, _elr()]),
        cluster(partition([2]), elr=True),
    )
    gone = messages_of(records)[0]
    assert isinstance(gone, PartitionChangeRecord)
    assert (gone.leader, gone.isr, gone.eligible_leader_replicas or []) == (NO_LEADER, [], elr)


def _elr() -> RegistrationFeature:
    name = "eligible.leader.replicas.version"
    return RegistrationFeature(name=name, min_supported_version=0, max_supported_version=1)


def test_registration_of_more_than_any_broker_has_is_refused() -> None:
    """All of it would be in the metadata of every node for good."""
    for changed in (
        {"listeners": [RegistrationListener(name=f"l{number}", host="h", port=1) for number in range(1_001)]},
        {"log_dirs": [UUID(int=0xD0000 + number) for number in range(1_001)]},
        {"features": [RegistrationFeature(name=f"f{number}") for number in range(1_001)] + asked().features},
    ):
        with pytest.raises(KafkaError) as refused:
            planned(asked(**changed))
        assert refused.value.code is ErrorCode.INVALID_REGISTRATION
