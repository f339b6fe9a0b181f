"""Whatever brokers and users do, and in whatever order: what the controller decides keeps every partition sound."""

from uuid import UUID

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from odradek.broker.controller.broker_control import BrokerControl
from odradek.broker.controller.controller import Controller
from odradek.broker.controller.controller_view import registered_brokers
from odradek.broker.controller.replication_control import ReplicationControl
from odradek.broker.controller.topics import PlacementRules
from odradek.broker.metadata.broker_configs import BrokerConfigs
from odradek.broker.metadata.image import NO_LEADER, BrokerImage, MetadataImage, PartitionImage
from odradek.protocol.messages.alter_partition import (
    AlterPartitionRequest,
    AlterPartitionState,
    AlterPartitionTopic,
    IsrMember,
)
from odradek.protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from odradek.protocol.messages.broker_heartbeat import BrokerHeartbeatRequest
from odradek.protocol.messages.elect_leaders import ElectLeadersRequest, TopicPartitions
from odradek.protocol.messages.unregister_broker import UnregisterBrokerRequest
from tests.support.deferred import now
from tests.unit.broker.controller.cluster import ELR, TOPIC, TOPIC_ID, cluster, directory_of, partition
from tests.unit.broker.controller.test_registration import asked
from tests.unit.broker.metadata.support import MemorySource

BROKERS = range(1, 5)
PARTITIONS = 3
BROKER = st.sampled_from(BROKERS)
PARTITION = st.integers(0, PARTITIONS - 1)


def is_stopping(broker: BrokerImage | None) -> bool:
    """Whether a broker has said that it stops: then each of its heartbeats says so, until it registers anew."""
    return broker is not None and broker.in_controlled_shutdown


class Decisions(RuleBasedStateMachine):
    """A controller, four brokers and a topic of three partitions."""

    def __init__(self) -> None:
        super().__init__()
        self.now_ms = 0
        self.process = 0

    @initialize(elr=st.booleans(), least=st.sampled_from(["1", "2"]))
    def begin(self, elr: bool, least: str) -> None:
        """Everything is in sync."""
        replicas = ([1, 2, 3], [2, 3, 4], [4, 1])
        records = [partition(one, number) for number, one in enumerate(replicas)]
        self.source = MemorySource(cluster(*records, brokers=BROKERS, elr=elr))
        configs = BrokerConfigs(self.source, 9, {"min.insync.replicas": least})
        controller = Controller(self.source, PlacementRules(), configs, registered_brokers)
        self.brokers = BrokerControl(controller, "cluster", 9000)
        self.replication = ReplicationControl(controller, 9)
        self.brokers.begin(0)
        self.before = self.source.image
        self.is_unclean = False
        self.wanted: set[int] = set()
        """Who is in sync, as the leader says."""

    @rule(broker=BROKER, fence=st.booleans(), stop=st.booleans(), behind=st.booleans())
    def heartbeat(self, broker: int, fence: bool, stop: bool, behind: bool) -> None:
        """A broker says that it lives, and what it wants: one that is about to stop does not change its mind."""
        known = self.source.image.brokers.get(broker)
        request = BrokerHeartbeatRequest(
            broker_id=broker,
            broker_epoch=known.epoch if known else 0,
            current_metadata_offset=0 if behind else self.source.image.offset,
            want_fence=fence,
            want_shut_down=stop or is_stopping(known),
        )
        now(self.brokers.heartbeat(request, self.now_ms))

    @rule(broker=BROKER, broken=st.booleans())
    def lose_directory(self, broker: int, broken: bool) -> None:
        """A broker tells of its directory."""
        known = self.source.image.brokers.get(broker)
        if known is not None:
            offline = [directory_of(broker)] if broken else []
            request = BrokerHeartbeatRequest(
                broker_id=broker,
                broker_epoch=known.epoch,
                current_metadata_offset=10**9,
                want_shut_down=is_stopping(known),
                offline_log_dirs=offline,
            )
            now(self.brokers.heartbeat(request, self.now_ms))

    @rule(broker=BROKER, is_clean=st.booleans(), is_new=st.booleans())
    def register(self, broker: int, is_clean: bool, is_new: bool) -> None:
        """A broker starts, after a clean stop or not, or repeats its registration."""
        known = self.source.image.brokers.get(broker)
        self.process += is_new
        request = asked(broker, incarnation_id=UUID(int=0xF000 + self.process))
        request.features += [type(request.features[0])(name=ELR, min_supported_version=0, max_supported_version=1)]
        request.previous_broker_epoch = known.epoch if known and is_clean else -1
        now(self.brokers.register(request, self.now_ms))

    @rule(broker=BROKER)
    def unregister(self, broker: int) -> None:
        """Somebody says that a broker is gone for good."""
        now(self.replication.unregister_broker(UnregisterBrokerRequest(broker_id=broker)))

    @rule(ms=st.sampled_from([100, 1000, 5000, 10_000]))
    def wait(self, ms: int) -> None:
        """Time passes."""
        self.now_ms += ms
        self.brokers.tick(self.now_ms)

    @rule(number=PARTITION, others=st.sets(BROKER), recovering=st.booleans())
    def alter_isr(self, number: int, others: set[int], recovering: bool) -> None:
        """A leader wants another ISR, as a rule one that there may be."""
        state = self.partition(number)
        isr = [one for one in state.replicas if one in others or one == state.leader] or [*others]
        leader = self.source.image.brokers.get(state.leader)
        if leader is None:
            return
        wanted = AlterPartitionState(
            partition_index=number,
            leader_epoch=state.leader_epoch,
            partition_epoch=state.partition_epoch,
            new_isr_with_epochs=[IsrMember(broker_id=one) for one in isr],
            leader_recovery_state=int(recovering and state.leader_recovery_state),
        )
        request = AlterPartitionRequest(
            broker_id=leader.broker_id,
            broker_epoch=leader.epoch,
            topics=[AlterPartitionTopic(topic_id=TOPIC_ID, partitions=[wanted])],
        )
        self.wanted = set(isr)
        now(self.replication.alter_partition(request, 3))

    @rule(number=PARTITION, replicas=st.none() | st.lists(BROKER, min_size=1, max_size=4))
    def reassign(self, number: int, replicas: list[int] | None) -> None:
        """A user moves a partition, or calls that off."""
        wish = ReassignablePartition(partition_index=number, replicas=replicas)
        topics = [ReassignableTopic(name=TOPIC, partitions=[wish])]
        now(self.replication.alter_reassignments(AlterPartitionReassignmentsRequest(topics=topics)))

    @rule(number=PARTITION, kind=st.sampled_from([0, 1]))
    def elect(self, number: int, kind: int) -> None:
        """A user wants another leader, at whatever price."""
        self.is_unclean = kind == 1
        topics = [TopicPartitions(topic=TOPIC, partitions=[number])]
        now(self.replication.elect_leaders(ElectLeadersRequest(election_type=kind, topic_partitions=topics)))

    @rule()
    def balance(self) -> None:
        """The controller brings leaders back."""
        self.replication.balance_leaders()

    @rule()
    def change_controllers(self) -> None:
        """What was volatile is lost."""
        self.brokers.begin(self.now_ms)

    @invariant()
    def partitions_are_sound(self) -> None:
        """Leaders are active and in sync; epochs rise with every change, and with every leader."""
        image = self.source.image
        for number in range(PARTITIONS):
            self.check(self.before, image, number)
        self.before, self.is_unclean, self.wanted = image, False, set()

    def check(self, old: MetadataImage, image: MetadataImage, number: int) -> None:
        """Check one partition against what it was before."""
        before, state = old.topics_by_name[TOPIC].partitions[number], image.topics_by_name[TOPIC].partitions[number]
        assert len(set(state.replicas)) == len(state.replicas) == len(state.directories) > 0
        assert len(set(state.isr)) == len(state.isr)
        assert not set(state.isr) & set(state.eligible_leader_replicas)
        assert set(state.adding_replicas) <= set(state.replicas) >= set(state.removing_replicas)
        assert state.isr or image.feature(ELR)
        assert state.partition_epoch >= before.partition_epoch
        assert (state == before) == (state.partition_epoch == before.partition_epoch)
        assert set(state.isr) <= set(state.replicas)
        for joined in set(state.isr) - set(before.isr):
            assert not image.brokers[joined].fenced
        if state.leader != before.leader or not set(before.replicas) <= set(state.replicas):
            assert state.leader_epoch > before.leader_epoch
        if state.leader != NO_LEADER:
            leader = image.brokers[state.leader]
            assert not leader.fenced
            assert not leader.in_controlled_shutdown
            assert state.leader in state.isr
        if state.leader not in (before.leader, NO_LEADER) and not self.is_unclean:
            had_everything = {*before.isr, *before.eligible_leader_replicas, *before.last_known_elr, *self.wanted}
            assert state.leader in had_everything

    def partition(self, number: int) -> PartitionImage:
        """Return a partition as it is."""
        return self.source.image.topics_by_name[TOPIC].partitions[number]


Decisions.TestCase.settings = settings(
    max_examples=60, stateful_step_count=40, deadline=None, suppress_health_check=list(HealthCheck)
)
TestDecisions = Decisions.TestCase
